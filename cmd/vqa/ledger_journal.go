package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/finance"
	"vqa/projections/ledger/book"
)

func ledgerJournalCommand() *cobra.Command {
	var period periodFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "journal [ACCOUNT]",
		Short: "List the entries of the ledger with their postings, the oldest first",
		Long: `Lists the entries of the ledger with their postings, their source, their actor and their request. With
--json each entry is one line.

` + timeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := period.period()
			if err == nil && limit < 0 {
				err = errors.New("--limit must not be negative")
			}
			if err != nil {
				return misuse(cmd, err)
			}
			return withBook(cmd, args, func(ctx context.Context, s *book.Snapshot) error {
				return finance.PrintJournal(ctx, cmd.OutOrStdout(), s, optional(args), p, limit, asJSON(cmd))
			})
		},
	}
	period.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", 0, "largest number of entries; 0 means all")
	cmd.Flags().Bool("json", false, "print each entry as a line of JSON")
	return strict(cmd, "[ACCOUNT]")
}
