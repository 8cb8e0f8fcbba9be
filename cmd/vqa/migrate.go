package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func migrateCommand() *cobra.Command {
	return strict(&cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema up to date (serve does it by itself)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Opening the data is what migrates it.
			if err := withApp(cmd, func(context.Context, *app) error { return nil }); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "The schema is up to date.")
			return err
		},
	})
}
