package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

func ledgerStatementCommand() *cobra.Command {
	var month, page string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "statement ACCOUNT",
		Short: "Show the statement of an account for a month",
		Long: `Shows the opening balance, each transaction with the balance after it, the totals by kind, the
closing balance and the holds that were open at the end. Months are those of UTC.`,
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
			return withBook(cmd, func(ctx context.Context, _ *app, s *book.Snapshot) error {
				if err := s.Known(ctx, args...); err != nil {
					return err
				}
				statement, err := s.Statement(ctx, args[0], p)
				if err != nil {
					return err
				}
				if page != "" {
					if err := writeFile(page, func(out io.Writer) error { return export.StatementHTML(out, statement) }); err != nil {
						return err
					}
					fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s\n", page)
				}
				switch {
				case asJSON:
					return printJSON(cmd.OutOrStdout(), statement)
				case page == "":
					printStatement(newScreen(cmd.OutOrStdout()), statement)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&month, "month", "", "month such as 2026-11; the present one when empty")
	cmd.Flags().StringVar(&page, "html", "", "write a page to print to this file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, 1)
}

func printStatement(out screen, s book.Statement) {
	fmt.Fprintf(out, "  %s  %s  (credit-seconds, times in UTC)\n\n", out.paint(bold, s.AccountID), export.PeriodName(s))
	t := columns{{"WHEN", "KIND", "SECONDS", "BALANCE", "FOR"}}
	t = append(t, []string{"opening balance", "", "-", thousands(s.Opening.PostedSeconds), ""})
	for _, x := range s.Transactions {
		what := printable(x.SourceID)
		if x.Refunds != "" {
			what = "refunds " + x.Refunds
		}
		if x.Reason != "" {
			what = printable(x.Reason)
		}
		t = append(t, []string{x.At.UTC().Format(time.DateTime), string(x.Kind), signed(x.SecondsDelta), thousands(x.BalanceAfter), what})
	}
	t = append(t, []string{"closing balance", "", signed(s.Closing.PostedSeconds - s.Opening.PostedSeconds), thousands(s.Closing.PostedSeconds), ""})
	t.print(out)
	fmt.Fprintf(out, "\n  of which held %s, available %s\n", thousands(s.Closing.HeldSeconds), thousands(s.Closing.AvailableSeconds))
	if len(s.Totals) > 0 {
		fmt.Fprintln(out)
		totals := columns{{"TOTAL OF", "COUNT", "SECONDS"}}
		for _, k := range s.Totals {
			totals = append(totals, []string{string(k.Kind), thousands(k.Count), signed(k.Seconds)})
		}
		totals.print(out)
	}
	if len(s.Holds) > 0 {
		fmt.Fprintln(out)
		holds := columns{{"OPEN HOLD", "SECONDS", "SOURCE", "SINCE", "EXPIRES"}}
		for _, h := range s.Holds {
			holds = append(holds, []string{h.ID, thousands(h.Seconds), h.SourceID, h.CreatedAt.UTC().Format(time.DateTime), h.ExpiresAt.UTC().Format(time.DateTime)})
		}
		holds.print(out)
	}
}
