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

const ledgerVerifyHelp = `Replays the ledger of each ACCOUNT, or of all accounts, and reports every contradiction between the log,
its hash chains, the read models and the signed checkpoints. It can run beside the service. The exit
status is 1 when there is a mismatch.

Kinds of mismatches:
  altered     the hash of an event does not match its content and the hash before it
  missing     a version is absent, or the last events were cut off
  reordered   an event has another version than the one at which it was recorded
  balance     an entry breaks a law of the ledger, or a read model has another balance
  hold        a hold ended twice or with another amount, or the read model has another hold
  checkpoint  a checkpoint is not signed by a known key, does not follow from the checkpoint before it,
              or contradicts the log

Mismatches that only follow from a damaged event are not listed. Repair the event and verify again.

--json prints one object:
  sound            true when there is no mismatch
  accounts, entries, checkpoints
                   how many ledgers, credit events and checkpoints were verified
  streams, events  how many streams and events were read, with those of --all-streams
  ledger_accounts  seconds by ledger account, all customers together
  sum_seconds      the sum of these, 0 in a sound ledger
  counts           mismatches by kind
  mismatches       at most 10,000, each with account_id, kind, stream, version, position and detail; a
                   missing event has the position of the last event before it
  left_out         number of mismatches that are not listed`

func ledgerVerifyCommand() *cobra.Command {
	var scope audit.Scope
	var asJSON bool
	cmd := strict(&cobra.Command{
		Use:   "verify [ACCOUNT…]",
		Short: "Replay the ledger and report every mismatch",
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
	cmd.Flags().BoolVar(&scope.AllStreams, "all-streams", false, "also verify the hash chain of every stream of the log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// auditor verifies the ledger of this installation.
func (a *app) auditor() *audit.Auditor {
	return &audit.Auditor{Pool: a.pool, Codec: a.codec, Models: ledger.Projections()}
}

// printAudit prints the report of an audit. Its error is the exit status 1 when there is a mismatch.
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
