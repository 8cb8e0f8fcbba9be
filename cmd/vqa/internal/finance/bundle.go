package finance

import (
	"fmt"
	"io"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/export"
)

// PrintBundle writes a summary of the bundle at path. later is the number of entries after the seal.
func PrintBundle(out io.Writer, path string, m export.Manifest, later int64, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, m)
	}
	fmt.Fprintf(out, "%s: %s entries, proven by the checkpoint of %s leaves", path, terminal.Thousands(m.Entries), terminal.Thousands(m.Size))
	if later > 0 {
		fmt.Fprintf(out, "; %s later entries are not sealed yet (vqa ledger checkpoint)", terminal.Thousands(later))
	}
	_, err := fmt.Fprintln(out)
	return err
}
