package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/handlers/jobs"
	"vqa/handlers/seal"
)

// newSealer returns a sealer that signs checkpoints with the key in the data folder.
func (a *app) newSealer() (*jobs.Sealer, error) {
	key, err := ledgerKey(a.config)
	if err != nil {
		return nil, err
	}
	return &jobs.Sealer{Commands: a.commands, Ledger: a.ledger, Key: key, Log: a.log}, nil
}

// sealLog makes a pass over the transparency log and returns its newest checkpoint. A pass of the service at
// the same moment serves as well.
func (a *app) sealLog(ctx context.Context) (seal.Head, error) {
	s, end, err := a.newLogSealer(ctx)
	if err != nil {
		return seal.Head{}, err
	}
	s.Log = slog.New(slog.DiscardHandler) // the command prints the checkpoint itself
	_, err = s.Pass(ctx)
	if errors.Is(err, seal.ErrRival) {
		err = nil
	}
	return s.Newest(), errors.Join(err, end())
}

func ledgerCheckpointCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Sign the log, and a checkpoint of every account with new entries",
		Long: "Signs the transparency log up to now, and a checkpoint of every account that has entries after its last checkpoint, with\n" +
			"the key in " + ledgerKeyFile + " of the data folder. A running service does this every minute.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withApp(cmd, func(ctx context.Context, a *app) error {
				sealer, err := a.newSealer()
				if err != nil {
					return err
				}
				n, err := sealer.Seal(ctx)
				if err != nil {
					return err
				}
				head, err := a.sealLog(ctx)
				if err != nil {
					return err
				}
				keyID := credit.LedgerKeyID(sealer.PublicKey())
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), map[string]any{
						"checkpoints": n, "key_id": keyID, "origin": head.Checkpoint.Origin, "size": head.Checkpoint.Size, "root": head.Checkpoint.Root.String(), "cosignatures": len(head.Cosigned),
					})
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%d checkpoints signed with %s\n", n, keyID)
				fmt.Fprintf(cmd.OutOrStdout(), "the log has %d leaves and the root %s\n", head.Checkpoint.Size, head.Checkpoint.Root)
				for _, c := range head.Cosigned {
					fmt.Fprintf(cmd.OutOrStdout(), "cosigned by %s at %s\n", c.Witness, c.At.Format(time.DateTime))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd)
}
