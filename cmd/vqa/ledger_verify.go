package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/finance"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/projections/ledger"
	"vqa/projections/ledger/audit"
	"vqa/projections/resources"
)

const ledgerVerifyHelp = `Replays the log and reports every contradiction between its events, their hash chains and the read models, and each
snapshot that the service did not write. It also lists gaps between positions and times that run backwards. With
ACCOUNT, it replays only the ledgers of these accounts, unless --all-streams adds the rest.

Then it always compares all rows of the database with the newest checkpoint outside it, and names the first row that is
missing, changed or moved, for example after somebody has put the database back to yesterday.

It only reads: it takes the role vqa_auditor, migrates nothing, and runs beside the service and on a replica, too. With
secret.key in the data folder it also checks that the service wrote each event (docs/ledger.md#macs).

Exit status:
  0  there is no mismatch
  1  there is a mismatch, or an error
  3  the database shows no mismatch, but verify could not compare it with the newest checkpoint: the checkpoints
     outside it cannot be read, or this replica lacks the newest events

Kinds of mismatches:
  altered     the hash of an event does not match its content and the hash before it, the head of a stream has another
              version or hash, or the event cannot be read
  missing     a version is absent, or the last events were cut off
  balance     an entry breaks a law of the ledger, or a read model of the ledger differs from it
  checkpoint  the database does not contain the newest checkpoint outside it, or a checkpoint or a key statement was
              removed, replaced or not signed by a known key
  forged      a row has no valid MAC, so the service did not write it
  position    positions do not ascend with the versions of a stream, or were never drawn
  read_model  a row of another read model differs from the log, is missing, or has no event

With --against PAST, it only proves that the rows of the database begin with the tree of an older
checkpoint, and names the first row that differs. The signature must be that of a key of the log. The exit
status is 1 when that past is missing, longer, or another one. A replica that has only the first leaves of that past,
without a difference, is shown as BEHIND, also with status 1. PAST is a file with a checkpoint or a .tlog-proof,
the folder of a bundle, which is verified, too, or the URL of a checkpoint: https, or http on this machine. A
proof_url needs an API key: save the proof with curl and give the name of the file.

Mismatches that only follow from a damaged event are not listed. Repair the event and verify again.

--json prints one object:
  sound            true when there is no mismatch and the database was compared with the newest checkpoint
  accounts, entries
                   how many ledgers and credit events were verified
  streams, events  how many streams and events were read
  ledger_accounts  seconds by ledger account, all customers together
  sum_seconds      the sum of these, 0 in a sound ledger
  counts           mismatches by kind
  mismatches       at most 10,000, each with account_id, kind, stream, version, position and detail; a
                   missing event has the position of the last event before it
  left_out         number of mismatches that are not listed
  transparency_log the origin and size of the log outside the database, whether the database was compared with it, the
                   problem, and each restart, lost key and revoked key
  log              without ACCOUNT or with --all-streams, facts about the whole log: MACs, gaps, times, snapshots`

func ledgerVerifyCommand() *cobra.Command {
	var scope audit.Scope
	var against string
	cmd := printing(&cobra.Command{
		Use:   "verify [ACCOUNT…]",
		Short: "Replay the log, compare it with the checkpoints outside the database, and report every mismatch",
		Long:  ledgerVerifyHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			scope.Accounts, scope.AllStreams = args, scope.AllStreams || len(args) == 0
			defer debug.SetGCPercent(debug.SetGCPercent(audit.GCPercent))
			return withReader(cmd, func(ctx context.Context, a *app) error {
				if err := postgres.CheckTables(ctx, a.pool); err != nil {
					return err
				}
				if against != "" {
					return a.verifyAgainst(ctx, cmd, against)
				}
				report, t, err := a.verify(ctx, cmd.ErrOrStderr(), scope)
				if err != nil {
					return err
				}
				shown := audited{report.Sound() && t.Compared, report, t}
				if err := show(cmd, shown, printAudit); err != nil {
					return err
				}
				return shown.verdict()
			})
		},
	}, "[ACCOUNT…]")
	cmd.Flags().BoolVar(&scope.AllStreams, "all-streams", false, "with ACCOUNT, also verify every other stream of the log, as without ACCOUNT")
	cmd.Flags().StringVar(&against, "against", "", "a file with a checkpoint or a .tlog-proof, the URL of a checkpoint, or the folder of a bundle: only prove that the database contains that past")
	cmd.MarkFlagsMutuallyExclusive("against", "all-streams")
	return cmd
}

// verify replays the log, and then compares the database with the log outside it.
func (a *app) verify(ctx context.Context, complaints io.Writer, scope audit.Scope) (report audit.Report, t transparency, err error) {
	bar := terminal.NewProgress(complaints, "verifying", "events")
	report, err = a.auditor().Verify(ctx, scope, bar.Set)
	bar.Finish()
	if err != nil {
		return report, t, err
	}
	bar = terminal.NewProgress(complaints, "comparing", "events")
	t, found, err := a.compareLog(ctx, bar.Set)
	bar.Finish()
	if found != nil {
		report.Add(audit.Checkpoint, found.Stream, found.Version, found.Position, found.Problem)
	}
	return report, t, err
}

// auditor verifies the ledger of this installation.
func (a *app) auditor() *audit.Auditor {
	auditor := &audit.Auditor{Pool: a.pool, Codec: a.codec, Models: append(ledger.Projections(), resources.Projections()...)}
	if a.guard != nil {
		auditor.MACs = a.guard
	}
	return auditor
}

// withReader runs do with a database that is only read and never migrated.
func withReader(cmd *cobra.Command, do func(ctx context.Context, a *app) error) error {
	c, err := locatedConfig("", cmd.ErrOrStderr())
	if err == nil {
		err = c.checkData(cmd.ErrOrStderr())
	}
	if err != nil {
		return err
	}
	a, err := openReader(cmd.Context(), c, newLogger(cmd.ErrOrStderr(), c))
	if err != nil {
		return otherSchema(err)
	}
	return errors.Join(otherSchema(do(cmd.Context(), a)), a.Close())
}

// otherSchema says what to do after an error that a database of another release causes.
func otherSchema(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (refused.Code == undefinedTable || refused.Code == undefinedColumn) {
		return fmt.Errorf("%w; the database has the schema of another release: use the program of that release, or run vqa migrate", err)
	}
	return err
}

// openReader opens the database for an auditor.
func openReader(ctx context.Context, c config, log *slog.Logger) (a *app, err error) {
	a = &app{config: c, log: log, clock: postgres.NewClock(time.Now, log), codec: codec.Events(), forged: &forged{log: log}}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.findDatabase(ctx); err != nil {
		return a, err
	}
	if a.pool, err = postgres.ConnectAuditor(ctx, a.ownerURL); err != nil {
		return a, err
	}
	return a, a.readGuard(ctx)
}

// readGuard opens the guard when the data folder has the secret key.
func (a *app) readGuard(ctx context.Context) error {
	key, err := os.ReadFile(filepath.Join(a.config.DataDir, secretKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the secret key of the installation: %w", err)
	}
	keys, err := macKeys(a.config, key)
	if err != nil {
		return err
	}
	guard, err := postgres.OpenGuard(ctx, a.pool, keys[0], keys[1:]...)
	var other *eventstore.ForgedError
	if err != nil && !errors.As(err, &other) { // the audit names each row of another key
		return err
	}
	a.guard = guard
	return nil
}

// audited is the output of vqa ledger verify.
type audited struct {
	Sound bool `json:"sound"`
	audit.Report
	Transparency transparency `json:"transparency_log"`
}

// verdict returns the exit status.
func (a audited) verdict() error {
	if a.Report.Sound() && !a.Transparency.Compared {
		return exitUncompared
	}
	return failing(!a.Sound)
}

func printAudit(s terminal.Screen, a audited) {
	finance.PrintAudit(s, a.Report)
	a.Transparency.print(s)
	finance.PrintMismatches(s, a.Report)
	switch {
	case !a.Transparency.Compared:
		fmt.Fprintf(s, "  %s the database with the checkpoints outside it: %s\n", s.Paint(terminal.BoldYellow, "DID NOT COMPARE"), terminal.Printable(a.Transparency.Problem))
		if a.Report.Sound() {
			fmt.Fprintln(s, "  the rows do not contradict each other, but those of an older state would not, either")
		}
	case a.Report.Sound():
		fmt.Fprintf(s, "  %s\n", s.Paint(terminal.BoldGreen, "no mismatch"))
	}
}
