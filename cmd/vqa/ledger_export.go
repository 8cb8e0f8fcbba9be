package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

func ledgerExportCommand() *cobra.Command {
	var period periodFlags
	var format, accountID, path string
	cmd := &cobra.Command{
		Use:   "export --format hledger|csv|jsonl",
		Short: "Export the ledger for other programs",
		Long: `Exports the entries, account by account, to a file or to standard output. Amounts are whole
credit-seconds. A positive amount on a customer's account increases the customer's credits.

  hledger  a journal with an assertion of the customer's balance at each posting
  csv      one posting per row
  jsonl    one entry per line, with its postings, version, position and hash chain

For a period, the journal starts with the balances before it. The other formats contain only the
entries of the period.

` + timeHelp,
		Example: `  vqa ledger export --format hledger -o ledger.journal && hledger -f ledger.journal check --strict
  vqa ledger export --format csv --from 2026-11-01 --to 2026-11-30 -o november.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := export.ParseFormat(format)
			if err != nil {
				err = fmt.Errorf("--format: %w", err)
			}
			p, wrong := period.period()
			if err := errors.Join(err, wrong); err != nil {
				return misuse(cmd, err)
			}
			var accounts []string
			if accountID != "" {
				accounts = []string{accountID}
			}
			return withBook(cmd, accounts, func(ctx context.Context, s *book.Snapshot) error {
				return exportLedger(ctx, cmd, s, f, accountID, p, path)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "hledger, csv or jsonl")
	cmd.Flags().StringVar(&accountID, "account", "", "only the entries of this account")
	cmd.Flags().StringVarP(&path, "output", "o", "", "file; when empty, standard output")
	period.register(cmd)
	return strict(cmd)
}

func exportLedger(ctx context.Context, cmd *cobra.Command, s *book.Snapshot, f export.Format, accountID string, p book.Period, path string) error {
	step, finish, err := entryProgress(ctx, cmd, s, "exporting", accountID)
	if err != nil {
		return err
	}
	defer finish()
	var sum export.Summary
	write := func(out io.Writer) error {
		var err error
		sum, err = export.Write(out, f, s.Entries(ctx, accountID), p, step)
		return err
	}
	if path == "" {
		err = write(terminal.Raw(cmd.OutOrStdout()))
	} else {
		err = writeFile(path, write)
	}
	finish()
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "exported %s entries of %s accounts\n", terminal.Thousands(sum.Entries), terminal.Thousands(sum.Accounts))
	return nil
}
