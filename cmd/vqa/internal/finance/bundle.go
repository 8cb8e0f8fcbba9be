package finance

import (
	"fmt"
	"io"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/export"
)

// PrintBundle says what a bundle at path holds.
func PrintBundle(out io.Writer, path string, m export.Manifest, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, m)
	}
	fmt.Fprintf(out, "%s: %s entries, %s checkpoints", path, terminal.Thousands(m.Entries), terminal.Thousands(m.Checkpoints))
	if open := m.Entries - m.Sealed; open > 0 {
		fmt.Fprintf(out, "; the last %s entries are not sealed yet (vqa ledger checkpoint)", terminal.Thousands(open))
	}
	_, err := fmt.Fprintln(out)
	return err
}
