package finance

import (
	"fmt"
	"io"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/export"
)

// PrintBundle writes a summary of the bundle at path.
func PrintBundle(out io.Writer, path string, m export.Manifest, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, m)
	}
	fmt.Fprintf(out, "%s: %s entries, %s checkpoints", path, terminal.Thousands(m.Entries), terminal.Thousands(m.Checkpoints))
	if open := m.Entries - m.Sealed; open > 0 {
		fmt.Fprintf(out, "; no checkpoint signs the last %s entries yet (vqa ledger checkpoint)", terminal.Thousands(open))
	}
	_, err := fmt.Fprintln(out)
	return err
}
