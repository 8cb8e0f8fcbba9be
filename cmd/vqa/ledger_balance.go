package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/finance"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/book"
)

// progressEvery is after how many entries a bar is told.
const progressEvery = 1000

// withBook runs do on one snapshot of the ledger, beside a running server or without
// one.
func withBook(cmd *cobra.Command, do func(ctx context.Context, a *app, s *book.Snapshot) error) error {
	return withApp(cmd, func(ctx context.Context, a *app) error {
		s, err := book.Open(ctx, a.pool, a.codec)
		if err != nil {
			return err
		}
		defer s.Close()
		return do(ctx, a, s)
	})
}

// optional is the argument that need not be given.
func optional(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// timeHelp says how times are given.
const timeHelp = `Times are RFC 3339 ("2026-11-20T12:00:00Z") or dates ("2026-11-20") in UTC; a date is its beginning
for --from, its end for --to and --at.`

// beginning reads a time; a date is its first moment.
func beginning(flag, text string) (time.Time, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--%s: %q is neither a date such as 2026-11-20 nor a time such as 2026-11-20T12:00:00Z", flag, text)
	}
	return at.UTC(), nil
}

// end reads a time; a date is the first moment of the next one.
func end(flag, text string) (time.Time, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at.AddDate(0, 0, 1), nil
	}
	return beginning(flag, text)
}

// periodFlags are --from and --to.
type periodFlags struct{ from, to string }

func (f *periodFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.from, "from", "", "entries at this time and later")
	cmd.Flags().StringVar(&f.to, "to", "", "entries before this time; a date is included")
}

func (f *periodFlags) period() (book.Period, error) {
	var p book.Period
	var err error
	if f.from != "" {
		p.From, err = beginning("from", f.from)
	}
	if f.to != "" {
		var wrong error
		p.To, wrong = end("to", f.to)
		err = errors.Join(err, wrong)
	}
	if err == nil && f.from != "" && f.to != "" && !p.From.Before(p.To) {
		err = errors.New("--from must be before --to")
	}
	return p, err
}

// entryProgress shows how many entries were read of those of an account, or of all when
// accountID is empty.
func entryProgress(ctx context.Context, cmd *cobra.Command, s *book.Snapshot, what, accountID string) (step, finish func(), err error) {
	total, err := s.Count(ctx, accountID)
	if err != nil {
		return nil, nil, err
	}
	bar, done := terminal.NewProgress(cmd.ErrOrStderr(), what, "entries"), int64(0)
	return func() {
		if done++; done%progressEvery == 0 {
			bar.Set(done, total)
		}
	}, bar.Finish, nil
}

func ledgerBalanceCommand() *cobra.Command {
	var at string
	var prove, asJSON bool
	cmd := &cobra.Command{
		Use:   "balance [ACCOUNT…]",
		Short: "Show the balance of every ledger account, now or at any time",
		Long: `Shows what each customer may use and has reserved, and the other side of it: the accounts of the
platform. The sum of all is 0, because every entry is in double entry. With accounts named, those of
the platform show what they exchanged with these alone.

Without --at the balances are those of the read model, and --prove folds the log and compares: exit
status 1 when they differ. With --at they are folded from the log up to that time.

` + timeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			var moment *time.Time
			if at != "" {
				t, err := end("at", at)
				if err == nil && prove {
					err = errors.New("--prove compares the balances of now; balances --at a time are folded from the log anyway")
				}
				if err != nil {
					return misuse(cmd, err)
				}
				if _, err := time.Parse(time.DateOnly, at); err == nil {
					t = t.Add(-time.Microsecond) // the last moment of the date
				}
				moment = &t
			}
			return withBook(cmd, func(ctx context.Context, _ *app, s *book.Snapshot) error {
				if err := s.Known(ctx, args...); err != nil {
					return err
				}
				shown, err := foldedBalances(ctx, cmd, s, moment, prove, args)
				if err != nil {
					return err
				}
				if err := finance.PrintBalances(terminal.NewScreen(cmd.OutOrStdout()), shown, asJSON); err != nil {
					return err
				}
				if shown.Proof != nil && !shown.Proof.Equal {
					return exitError(1)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "balances after every entry up to this time, folded from the log")
	cmd.Flags().BoolVar(&prove, "prove", false, "fold the log as well and compare")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "[ACCOUNT…]")
}

// foldedBalances reads the balances and, where that is asked for, folds them.
func foldedBalances(ctx context.Context, cmd *cobra.Command, s *book.Snapshot, at *time.Time, prove bool, accounts []string) (finance.Balances, error) {
	var shown finance.Balances
	var err error
	if at == nil {
		if shown.Balances, err = s.Balances(ctx, accounts...); err != nil || !prove {
			return shown, err
		}
	}
	only := ""
	if len(accounts) == 1 {
		only = accounts[0]
	}
	step, finish, err := entryProgress(ctx, cmd, s, "folding", only)
	if err != nil {
		return shown, err
	}
	defer finish()
	entries := int64(0)
	folded, err := s.Fold(ctx, at, func() { entries++; step() }, accounts...)
	if err != nil {
		return shown, err
	}
	if at != nil {
		shown.Balances = folded
		return shown, nil
	}
	differences := book.Differences(shown.Balances, folded)
	shown.Proof = &finance.Proof{Equal: len(differences) == 0, Entries: entries, Differences: differences}
	return shown, nil
}

func ledgerHoldsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "holds [ACCOUNT]",
		Short: "List the open holds, the oldest first",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBook(cmd, func(ctx context.Context, _ *app, s *book.Snapshot) error {
				if err := s.Known(ctx, args...); err != nil {
					return err
				}
				holds, err := s.Holds(ctx, optional(args))
				if err != nil {
					return err
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), holds)
				}
				finance.PrintHolds(terminal.NewScreen(cmd.OutOrStdout()), holds, clock())
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "[ACCOUNT]")
}
