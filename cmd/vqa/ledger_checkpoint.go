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
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
)

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
	return printing(&cobra.Command{
		Use:   "checkpoint",
		Short: "Sign the transparency log up to now",
		Long: "Examines the events after the last checkpoint of the transparency log, and signs a checkpoint that covers them, with the\n" +
			"key in " + ledgerKeyFile + " of the data folder. A running service does this every minute. Without new events, the last\n" +
			"checkpoint stands.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withApp(cmd, func(ctx context.Context, a *app) error {
				head, err := a.sealLog(ctx)
				if err != nil {
					return err
				}
				keyID, err := signer(head)
				if err != nil {
					return err
				}
				c := head.Checkpoint
				return show(cmd, map[string]any{
					"key_id": keyID, "origin": c.Origin, "size": c.Size, "root": c.Root.String(), "cosignatures": len(head.Cosigned),
				}, func(s terminal.Screen, _ map[string]any) {
					fmt.Fprintf(s, "the log has %d leaves and the root %s, signed with %s\n", c.Size, c.Root, keyID)
					for _, c := range head.Cosigned {
						fmt.Fprintf(s, "cosigned by %s at %s\n", c.Witness, c.At.Format(time.DateTime))
					}
				})
			})
		},
	})
}

// signer returns the id of the key that signed the newest checkpoint. Right after a rotation, that is the old key.
func signer(h seal.Head) (string, error) {
	_, by, err := translog.OpenCheckpoint(h.Signed, h.Keys.All()...)
	if err != nil {
		return "", err
	}
	return credit.LedgerKeyID(by[0]), nil
}
