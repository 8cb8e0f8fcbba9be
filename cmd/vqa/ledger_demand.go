package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore"
	"vqa/eventstore/postgres"
)

const demandHelp = `Records that each row of the log without a MAC is refused from now on (docs/ledger.md#macs). A new installation
decides this at its first start. After an upgrade from a release without MACs, run it once, when the last node of that
release has stopped: later rows of such a node are refused.

It reads the whole log and stops at the first broken chain or wrong MAC. Streams with events without a MAC, or with one of
an older key, get a base: the version and the hash up to which they count as history. So after a change of secret.key
(vqa nodes adopt --key) run it again, and secret.key.old is no longer needed for the log.

--lost-key accepts rows of a key that is lost. Then only the hash chains and the signed checkpoints protect the history
up to now. Each later verification shows that.`

func ledgerDemandCommand() *cobra.Command {
	var reason string
	var lostKey, asJSON bool
	cmd := &cobra.Command{
		Use:   "demand-macs --reason TEXT",
		Short: "Refuse rows of the log without a MAC from now on",
		Long:  demandHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reason == "" {
				return errors.New("--reason is required: the log of decisions keeps it")
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				d, err := a.demandMACs(ctx, reason, lostKey)
				if err != nil {
					return err
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), d)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Rows without a MAC are refused after position %d. Until then, %s may have rows without a MAC of this key.\n",
					d.Position, counted(d.Bases, "stream"))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why this is decided now")
	cmd.Flags().BoolVar(&lostKey, "lost-key", false, "accept rows of a key that is lost")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd)
}

// demandMACs decides that MACs are demanded, and keeps the decision in the data folder.
func (a *app) demandMACs(ctx context.Context, reason string, lostKey bool) (postgres.Decision, error) {
	older, err := a.olderNodes(ctx)
	if err != nil {
		return postgres.Decision{}, err
	}
	if older > 0 {
		return postgres.Decision{}, fmt.Errorf("%d nodes of a release without MACs still run: stop them first (vqa nodes list)", older)
	}
	if a.guard == nil && lostKey {
		if err := a.openLost(ctx); err != nil {
			return postgres.Decision{}, err
		}
	}
	if a.guard == nil {
		return postgres.Decision{}, a.guardError
	}
	d, err := a.guard.Decide(ctx, reason, operator(), lostKey, a.clock.Now())
	if err != nil {
		return d, err
	}
	return d, a.keepDecision(ctx)
}

// openLost opens the guard although the last decision has the MAC of a lost key.
func (a *app) openLost(ctx context.Context) error {
	key, err := keyFile(a.config.DataDir, secretKeyFile)
	if err != nil {
		return err
	}
	keys, err := macKeys(a.config, key)
	if err != nil {
		return err
	}
	a.guard, err = postgres.OpenGuard(ctx, a.pool, keys[0], keys[1:]...)
	var forged *eventstore.ForgedError
	if err != nil && !errors.As(err, &forged) {
		a.guard = nil
		return err
	}
	return nil
}
