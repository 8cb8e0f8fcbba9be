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

// progressEvery is the number of entries between two updates of a progress.
const progressEvery = 1000

// booked returns a function that calls do with one snapshot of the ledger, which must know the accounts.
func booked[T any](accounts []string, do func(ctx context.Context, a *app, s *book.Snapshot) (T, error)) func(context.Context, *app) (T, error) {
	return func(ctx context.Context, a *app) (result T, err error) {
		s, err := book.Open(ctx, a.pool, a.codec)
		if err != nil {
			return result, err
		}
		defer s.Close()
		if err := s.Known(ctx, accounts...); err != nil {
			return result, err
		}
		return do(ctx, a, s)
	}
}

// withBook calls do as booked does, with or without a running server.
func withBook(cmd *cobra.Command, accounts []string, do func(ctx context.Context, s *book.Snapshot) error) error {
	return withApp(cmd, func(ctx context.Context, a *app) error {
		_, err := booked(accounts, func(ctx context.Context, _ *app, s *book.Snapshot) (any, error) { return nil, do(ctx, s) })(ctx, a)
		return err
	})
}

// optional returns the first argument, or "" when it was not given.
func optional(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// timeHelp describes the flags with times.
const timeHelp = `Times are RFC 3339 ("2026-11-20T12:00:00Z") or dates in UTC ("2026-11-20"). A date means its first moment
for --from, and its end for --to and --at.`

// beginning reads a time; a date means its first moment.
func beginning(flag, text string) (time.Time, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--%s must be a date such as 2026-11-20 or a time such as 2026-11-20T12:00:00Z, not %q", flag, text)
	}
	return at.UTC(), nil
}

// end reads a time; a date means the first moment of the next day.
func end(flag, text string) (time.Time, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at.AddDate(0, 0, 1), nil
	}
	return beginning(flag, text)
}

// periodFlags are --from and --to.
type periodFlags struct{ from, to string }

func (f *periodFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.from, "from", "", "first time of the entries")
	cmd.Flags().StringVar(&f.to, "to", "", "end of the entries: a time is excluded, a date is included")
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

// entryProgress shows how many entries of an account were read, or of all accounts when accountID is
// empty.
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
	var prove bool
	cmd := &cobra.Command{
		Use:   "balance [ACCOUNT…]",
		Short: "Show the balance of every ledger account, now or at any time",
		Long: `Shows the available and the held credit-seconds of each customer, and the accounts of the platform on
the other side. The sum of all balances is 0, because the ledger is kept in double entry. With ACCOUNT,
the platform accounts show only the postings of these customers.

Without --at, the balances come from the read model. --prove also folds the log and compares; the exit
status is 1 when they differ. With --at, the balances are folded from the log up to that time.

` + timeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			var moment *time.Time
			if at != "" {
				t, err := end("at", at)
				if err == nil && prove {
					err = errors.New("--prove cannot be combined with --at: balances at a past time are folded from the log anyway")
				}
				if err != nil {
					return misuse(cmd, err)
				}
				if _, err := time.Parse(time.DateOnly, at); err == nil {
					t = t.Add(-time.Microsecond) // the last moment of the date
				}
				moment = &t
			}
			return showFrom(cmd, booked(args, func(ctx context.Context, _ *app, s *book.Snapshot) (finance.Balances, error) {
				shown, err := foldedBalances(ctx, cmd, s, moment, prove, args)
				if err == nil && shown.Proof != nil {
					err = failing(!shown.Proof.Equal)
				}
				return shown, err
			}), finance.PrintBalances)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "balances at this time, folded from the log")
	cmd.Flags().BoolVar(&prove, "prove", false, "also fold the log and compare")
	return printing(cmd, "[ACCOUNT…]")
}

// foldedBalances reads the balances from the read model, or folds them from the log when at is set.
// With prove it does both and compares.
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
	return printing(&cobra.Command{
		Use:   "holds [ACCOUNT]",
		Short: "List the open holds, the oldest first",
		RunE: func(cmd *cobra.Command, args []string) error {
			var now time.Time
			return showFrom(cmd, booked(args, func(ctx context.Context, a *app, s *book.Snapshot) ([]book.HeldBy, error) {
				now = a.clock.Now()
				return s.Holds(ctx, optional(args))
			}), func(s terminal.Screen, holds []book.HeldBy) { finance.PrintHolds(s, holds, now) })
		},
	}, "[ACCOUNT]")
}
