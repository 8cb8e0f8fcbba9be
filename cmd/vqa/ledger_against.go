package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
	"vqa/handlers/prove"
	"vqa/handlers/seal"
)

// mostCheckpoint bounds the file of a checkpoint or a proof, in bytes.
const mostCheckpoint = 64 << 10

// readCheckpoint returns the signed checkpoint in a file: the file itself, or the end of a .tlog-proof.
func readCheckpoint(path string) (signed []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, mostCheckpoint+1))
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	if len(data) > mostCheckpoint {
		return nil, fmt.Errorf("--against: %s is too large for a checkpoint or a proof", path)
	}
	if !bytes.HasPrefix(data, []byte("c2sp.org/tlog-proof@")) {
		return data, nil
	}
	proof, err := translog.ParseProof(data)
	if err != nil {
		return nil, fmt.Errorf("--against: %s: %w", path, err)
	}
	return proof.Checkpoint, nil
}

// verifyAgainst proves that the database contains the past of a checkpoint. Its error is the exit status 1
// when it does not.
func (a *app) verifyAgainst(ctx context.Context, cmd *cobra.Command, path string, asJSON bool) error {
	signed, err := readCheckpoint(path)
	if err != nil {
		return err
	}
	pins, err := a.config.ledgerPins()
	if err != nil {
		return err
	}
	tiles, anchors, err := a.ledgerPlaces(ctx)
	if err != nil {
		return err
	}
	prover := &prove.Prover{Rows: postgres.New(a.pool, a.codec), Anchors: seal.Anchors{Files: anchors, Pins: pins}, Tiles: tiles}
	bar := terminal.NewProgress(cmd.ErrOrStderr(), "hashing", "events")
	c, err := prover.Contains(ctx, signed, bar.Set)
	bar.Finish()
	if anchors != tiles {
		err = errors.Join(err, anchors.Close())
	}
	err = errors.Join(err, tiles.Close())
	var found *seal.Finding
	if err != nil && !errors.As(err, &found) {
		return err
	}
	if asJSON {
		out := map[string]any{"sound": found == nil, "origin": c.Origin, "size": c.Size, "root": c.Root.String()}
		if found != nil {
			out["problem"], out["stream"], out["version"], out["position"] = found.Problem, found.Stream, found.Version, found.Position
		}
		err = terminal.PrintJSON(cmd.OutOrStdout(), out)
	} else {
		screen := terminal.NewScreen(cmd.OutOrStdout())
		if found == nil {
			fmt.Fprintf(screen, "  %s: the database contains all %s leaves of the checkpoint %s\n",
				screen.Paint(terminal.BoldGreen, "correct"), terminal.Thousands(c.Size), c.Root)
		} else {
			fmt.Fprintf(screen, "  %s: %s\n", screen.Paint(terminal.BoldRed, "WRONG"), terminal.Printable(found.Error()))
		}
		err = nil
	}
	if err == nil && found != nil {
		err = exitError(1)
	}
	return err
}
