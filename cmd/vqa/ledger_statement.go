package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/finance"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

func ledgerStatementCommand() *cobra.Command {
	var month, page string
	cmd := &cobra.Command{
		Use:   "statement [ACCOUNT]",
		Short: "Show the statement of an account for a month",
		Long: `Shows the opening balance, each transaction with the balance after it, the totals by kind, the closing
balance, and the holds that were open at the end. A month is in UTC. Without ACCOUNT, the statement is
for the account of the key in the data folder.`,
		Example: `  vqa ledger statement acct_01JZ… --month 2026-11
  vqa ledger statement acct_01JZ… --month 2026-11 --html november.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if month == "" {
				month = machineTime().UTC().Format("2006-01")
			}
			p, err := book.Month(month)
			if err != nil {
				return misuse(cmd, fmt.Errorf("--month: %w", err))
			}
			accountID, err := ownAccount(cmd, optional(args))
			if err != nil {
				return err
			}
			return showFrom(cmd, booked([]string{accountID}, func(ctx context.Context, a *app, s *book.Snapshot) (priced finance.PricedStatement, err error) {
				priced.PricePerSecondCents = a.config.PricePerSecondCents
				if priced.Statement, err = s.Statement(ctx, accountID, p); err != nil || page == "" {
					return priced, err
				}
				err = writeFile(page, func(out io.Writer) error {
					return export.StatementHTML(out, priced.Statement, &priced.PricePerSecondCents)
				})
				if err == nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s\n", page)
				}
				return priced, err
			}), func(s terminal.Screen, priced finance.PricedStatement) {
				if page == "" {
					finance.PrintStatement(s, priced)
				}
			})
		},
	}
	cmd.Flags().StringVar(&month, "month", "", "month, for example 2026-11; when empty, the current month")
	cmd.Flags().StringVar(&page, "html", "", "write a printable page to this file")
	return printing(cmd, "[ACCOUNT]")
}
