package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
	"vqa/projections/ledger/export"
)

// verifyAgainst proves that the database contains a past that somebody kept. Its error is the exit status 1
// when it does not.
func (a *app) verifyAgainst(ctx context.Context, cmd *cobra.Command, from string) error {
	kept, err := a.readPast(ctx, "--against", from)
	if err != nil {
		return err
	}
	c, end, err := a.comparison(ctx)
	if err != nil {
		return err
	}
	shown := comparison{}
	shown.checkpoint, shown.entries, err = a.compare(ctx, cmd, c, kept)
	if err != nil && !errors.As(err, &shown.found) {
		return errors.Join(err, end())
	}
	shown.behind = errors.As(err, new(*seal.BehindError))
	h, err := c.Anchors.Head(ctx, seal.Head{})
	if shown.log = transparencyOf(h); err != nil {
		shown.log = shown.log.uncompared(err)
	}
	if err := end(); err != nil {
		return err
	}
	if err := show(cmd, shown.values(), func(s terminal.Screen, _ map[string]any) { shown.print(s) }); err != nil {
		return err
	}
	return failing(shown.found != nil)
}

// comparison is the result of a comparison with a past.
type comparison struct {
	checkpoint translog.Checkpoint
	// entries is the number of proven entries of a bundle.
	entries int
	found   *seal.Finding
	// behind is true when a replica lacks only the end of the past.
	behind bool
	log    transparency
}

// compare returns the kept checkpoint and the number of proven entries of a bundle. Error: *seal.Finding.
func (a *app) compare(ctx context.Context, cmd *cobra.Command, with seal.Comparison, kept past) (c translog.Checkpoint, entries int, err error) {
	var leaves []translog.Indexed
	if kept.folder != "" {
		checked, err := export.CheckBundle(os.DirFS(kept.folder), a.codec, with.Anchors.Pins...)
		var wrong *export.Contradiction
		if errors.As(err, &wrong) {
			return c, 0, &seal.Finding{Problem: "the bundle itself is wrong: " + wrong.File + ": " + wrong.Problem, Stream: wrong.Stream, Version: wrong.Version, Position: wrong.Position}
		}
		if err != nil {
			return c, 0, fmt.Errorf("--against: %w", err)
		}
		leaves = checked.Evidence.Entries
	}
	bar := terminal.NewProgress(cmd.ErrOrStderr(), "hashing", "events")
	c, err = with.Against(ctx, kept.signed, func(done, all int64, _ translog.Leaf) { bar.Set(done, all) })
	bar.Finish()
	var found *seal.Finding
	if errors.As(err, &found) && found.Position == 0 {
		// The records beside the tree do not name the row. The bundle may.
		named, rowErr := with.FirstDifferent(ctx, leaves)
		if rowErr != nil {
			return c, 0, rowErr
		}
		if named != nil {
			named.Problem += "; " + found.Problem
			err = named
		}
	}
	return c, len(leaves), err
}

// values returns the comparison for JSON.
func (r comparison) values() map[string]any {
	c, found := r.checkpoint, r.found
	values := map[string]any{
		"sound": found == nil, "behind": r.behind, "origin": c.Origin, "size": c.Size, "root": c.Root.String(), "entries": r.entries, "transparency_log": r.log,
	}
	if found != nil {
		values["problem"], values["stream"], values["version"], values["position"] = found.Problem, found.Stream, found.Version, found.Position
	}
	return values
}

// print prints whether the database contains the past.
func (r comparison) print(screen terminal.Screen) {
	c, found := r.checkpoint, r.found
	switch {
	case r.behind:
		fmt.Fprintf(screen, "  %s: %s\n  verify again when the replica has replayed more, or verify the primary: it may lack the other leaves, too\n",
			screen.Paint(terminal.BoldYellow, "BEHIND"), terminal.Printable(found.Error()))
	case found != nil:
		fmt.Fprintf(screen, "  %s: %s\n", screen.Paint(terminal.BoldRed, "WRONG"), terminal.Printable(found.Error()))
	default:
		fmt.Fprintf(screen, "  %s: the database contains all %s leaves of the checkpoint %s\n",
			screen.Paint(terminal.BoldGreen, "correct"), terminal.Thousands(c.Size), c.Root)
		if r.entries > 0 {
			fmt.Fprintf(screen, "  the %s entries of the bundle are among them\n", terminal.Thousands(int64(r.entries)))
		}
	}
	r.log.print(screen)
}
