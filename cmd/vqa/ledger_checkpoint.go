package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/handlers/jobs"
)

// newSealer returns a sealer that signs checkpoints with the key in the data folder.
func (a *app) newSealer() (*jobs.Sealer, error) {
	key, err := ledgerKey(a.config)
	if err != nil {
		return nil, err
	}
	return &jobs.Sealer{Commands: a.commands, Ledger: a.ledger, Key: key, Log: a.log}, nil
}

func ledgerCheckpointCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Sign a checkpoint of every account with new entries",
		Long: "Signs a checkpoint of every account that has entries after its last checkpoint, with the key in\n" +
			ledgerKeyFile + " of the data folder. A running service does this every minute.",
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
				keyID := credit.LedgerKeyID(sealer.PublicKey())
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), map[string]any{"checkpoints": n, "key_id": keyID})
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%d checkpoints signed with %s\n", n, keyID)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd)
}
