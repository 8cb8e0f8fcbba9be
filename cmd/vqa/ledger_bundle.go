package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/finance"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

func ledgerBundleCommand() *cobra.Command {
	var path string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bundle [ACCOUNT] -o FOLDER|FILE.zip",
		Short: "Write a folder with which an auditor can verify an account's ledger offline",
		Long: `Writes the account's statement, its entries with the exact bytes that were hashed, the signed
checkpoints, the public keys, and a program that verifies them all:

  python3 FOLDER/verify.py

The program needs only Python 3.8. The same ledger always gives the same bytes. A checkpoint signs all
entries before it; ` + "`vqa ledger checkpoint`" + ` signs one now. Without ACCOUNT, the bundle is for the account
of the key in the data folder.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if path == "" {
				return misuse(cmd, errors.New("-o is required: a new folder, or a file that ends in .zip"))
			}
			accountID, err := ownAccount(cmd, optional(args))
			if err != nil {
				return err
			}
			return withBook(cmd, func(ctx context.Context, a *app, s *book.Snapshot) error {
				if err := s.Known(ctx, accountID); err != nil {
					return err
				}
				step, finish, err := entryProgress(ctx, cmd, s, "bundling", accountID)
				if err != nil {
					return err
				}
				defer finish()
				var manifest export.Manifest
				write := func(into export.Target) error {
					var err error
					manifest, err = export.WriteBundle(ctx, into, s, a.codec, accountID, step)
					return err
				}
				if strings.HasSuffix(path, ".zip") {
					err = finance.WriteZip(path, write)
				} else {
					err = finance.WriteFolder(path, write)
				}
				finish()
				if err != nil {
					return err
				}
				return finance.PrintBundle(cmd.OutOrStdout(), path, manifest, asJSON)
			})
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "new folder, or a file that ends in .zip")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the table of contents as JSON")
	return strict(cmd, "[ACCOUNT]")
}
