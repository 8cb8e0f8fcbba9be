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
	var asJSON bool
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
					if err := finance.WriteFile(page, func(out io.Writer) error { return export.StatementHTML(out, statement, &price) }); err != nil {
						return err
					}
					fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s\n", page)
				}
				switch {
				case asJSON:
					return terminal.PrintJSON(cmd.OutOrStdout(), finance.PricedStatement{Statement: statement, PricePerSecondCents: price})
				case page == "":
					finance.PrintStatement(terminal.NewScreen(cmd.OutOrStdout()), finance.PricedStatement{Statement: statement, PricePerSecondCents: price})
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&month, "month", "", "month, for example 2026-11; when empty, the current month")
	cmd.Flags().StringVar(&page, "html", "", "write a printable page to this file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "[ACCOUNT]")
}
