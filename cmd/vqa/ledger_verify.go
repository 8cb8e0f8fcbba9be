package main

import (
	"context"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/finance"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger"
	"vqa/projections/ledger/audit"
)

const ledgerVerifyHelp = `Replays the ledger of each ACCOUNT, or of all, and names every place at which the log, its hash
chains, the read models or the signed checkpoints contradict each other. Runs beside a working
service. Exit status 1 when there is a mismatch.

Kinds of mismatches:
  altered     an event's hash does not follow from its content and the event before it
  missing     a version is absent, or the last events are cut off
  reordered   an event stands at another version than the one it was recorded at
  balance     a law of the ledger is broken, or a read model says something else
  hold        a hold ended twice or not as it began, or the read model has another one
  checkpoint  a checkpoint is not signed by a known key, does not follow from the one before it, or
              says something else than the log

What only follows from a damaged event is not listed: mend it and verify again.

--json prints one object:
  sound            true when nothing was found
  accounts, entries, checkpoints
                   how many ledgers, credit events and checkpoints were verified
  streams, events  how many streams and events, those of --all-streams included
  ledger_accounts  seconds by account of the double entry, customers taken together
  sum_seconds      the sum of those, 0 in a sound ledger
  counts           mismatches by kind
  mismatches       at most 10,000, each with account_id, kind, stream, version, position (of the
                   event; of the last one before it when it is missing) and detail
  left_out         how many more there are`

func ledgerVerifyCommand() *cobra.Command {
	var scope audit.Scope
	var asJSON bool
	cmd := strict(&cobra.Command{
		Use:   "verify [ACCOUNT…]",
		Short: "Replay the ledger and name every mismatch",
		Long:  ledgerVerifyHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			scope.Accounts = args
			defer debug.SetGCPercent(debug.SetGCPercent(audit.GCPercent))
			return withApp(cmd, func(ctx context.Context, a *app) error {
				bar := terminal.NewProgress(cmd.ErrOrStderr(), "verifying", "events")
				report, err := a.auditor().Verify(ctx, scope, bar.Set)
				bar.Finish()
				if err != nil {
					return err
				}
				return printAudit(cmd.OutOrStdout(), report, asJSON)
			})
		},
	}, "[ACCOUNT…]")
	cmd.Flags().BoolVar(&scope.AllStreams, "all-streams", false, "verify the hash chain of every stream of the log as well")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// auditor verifies the ledger of this installation.
func (a *app) auditor() *audit.Auditor {
	return &audit.Auditor{Pool: a.pool, Codec: a.codec, Models: ledger.Projections()}
}

// printAudit prints what an audit found; the exit status says whether it was nothing.
func printAudit(out io.Writer, r audit.Report, asJSON bool) error {
	if asJSON {
		err := terminal.PrintJSON(out, struct {
			Sound bool `json:"sound"`
			audit.Report
		}{r.Sound(), r})
		if err != nil {
			return err
		}
	} else {
		finance.PrintAudit(terminal.NewScreen(out), r)
	}
	if !r.Sound() {
		return exitError(1)
	}
	return nil
}
