package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func migrateCommand() *cobra.Command {
	return strict(&cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database schema (serve does this at start)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			// withApp migrates the schema.
			if err := withApp(cmd, func(context.Context, *app) error { return nil }); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "The schema is up to date.")
			return err
		},
	})
}
