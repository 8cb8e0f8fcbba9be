package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

func ledgerStatementCommand() *cobra.Command {
	var month, page string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "statement [ACCOUNT]",
		Short: "Show the statement of an account for a month",
		Long: `Shows the opening balance, each transaction with the balance after it, the totals by kind, the
closing balance and the holds that were open at the end. Months are those of UTC. The account is by
default that of the command line's key.`,
		Example: `  vqa ledger statement acct_01JZ… --month 2026-11
  vqa ledger statement acct_01JZ… --month 2026-11 --html november.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if month == "" {
				month = clock().Format("2006-01")
			}
			p, err := book.Month(month)
			if err != nil {
				return misuse(cmd, fmt.Errorf("--month: %w", err))
			}
			accountID, err := ownAccount(cmd, optional(args))
			if err != nil {
				return err
			}
			return withBook(cmd, func(ctx context.Context, a *app, s *book.Snapshot) error {
				if err := s.Known(ctx, accountID); err != nil {
					return err
				}
				statement, err := s.Statement(ctx, accountID, p)
				if err != nil {
					return err
				}
				price := a.config.PricePerSecondCents
				if page != "" {
					if err := writeFile(page, func(out io.Writer) error { return export.StatementHTML(out, statement, &price) }); err != nil {
						return err
					}
					fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s\n", page)
				}
				switch {
				case asJSON:
					return terminal.PrintJSON(cmd.OutOrStdout(), pricedStatement{statement, price})
				case page == "":
					printStatement(terminal.NewScreen(cmd.OutOrStdout()), pricedStatement{statement, price})
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&month, "month", "", "month such as 2026-11; the present one when empty")
	cmd.Flags().StringVar(&page, "html", "", "write a page to print to this file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "[ACCOUNT]")
}

// pricedStatement is a statement with the price of today, which is a setting and not in the
// ledger.
type pricedStatement struct {
	book.Statement
	PricePerSecondCents decimal.Decimal `json:"price_per_second_cents"`
}

func (s pricedStatement) dollars(seconds int64) string {
	return export.Dollars(seconds, s.PricePerSecondCents)
}

func printStatement(out terminal.Screen, s pricedStatement) {
	fmt.Fprintf(out, "  %s  %s  (credit-seconds, dollars at %s US cents a second, times in UTC)\n\n",
		out.Paint(terminal.Bold, s.AccountID), export.PeriodName(s.Statement), s.PricePerSecondCents)
	t := terminal.Table{{"WHEN", "KIND", "SECONDS", "DOLLARS", "BALANCE", "FOR"}}
	t = append(t, []string{"opening balance", "", "-", "-", terminal.Thousands(s.Opening.PostedSeconds), ""})
	for _, x := range s.Transactions {
		what := terminal.Printable(x.SourceID)
		if x.Refunds != "" {
			what = "refunds " + x.Refunds
		}
		if x.Reason != "" {
			what = terminal.Printable(x.Reason)
		}
		t = append(t, []string{x.At.UTC().Format(time.DateTime), string(x.Kind), signed(x.SecondsDelta), s.dollars(x.SecondsDelta), terminal.Thousands(x.BalanceAfter), what})
	}
	change := s.Closing.PostedSeconds - s.Opening.PostedSeconds
	t = append(t, []string{"closing balance", "", signed(change), s.dollars(change), terminal.Thousands(s.Closing.PostedSeconds), ""})
	t.Print(out)
	fmt.Fprintf(out, "\n  worth %s, of which held %s s (%s), available %s s (%s)\n", s.dollars(s.Closing.PostedSeconds),
		terminal.Thousands(s.Closing.HeldSeconds), s.dollars(s.Closing.HeldSeconds), terminal.Thousands(s.Closing.AvailableSeconds), s.dollars(s.Closing.AvailableSeconds))
	if len(s.Totals) > 0 {
		fmt.Fprintln(out)
		totals := terminal.Table{{"TOTAL OF", "COUNT", "SECONDS", "DOLLARS"}}
		for _, k := range s.Totals {
			totals = append(totals, []string{string(k.Kind), terminal.Thousands(k.Count), signed(k.Seconds), s.dollars(k.Seconds)})
		}
		totals.Print(out)
	}
	if len(s.Holds) > 0 {
		fmt.Fprintln(out)
		holds := terminal.Table{{"OPEN HOLD", "SECONDS", "SOURCE", "SINCE", "EXPIRES"}}
		for _, h := range s.Holds {
			holds = append(holds, []string{h.ID, terminal.Thousands(h.Seconds), h.SourceID, h.CreatedAt.UTC().Format(time.DateTime), h.ExpiresAt.UTC().Format(time.DateTime)})
		}
		holds.Print(out)
	}
}
