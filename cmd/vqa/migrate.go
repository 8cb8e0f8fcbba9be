package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema up to date (serve does it by itself)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig()
			if err != nil {
				return err
			}
			a, err := openApp(cmd.Context(), c, newLogger(cmd.ErrOrStderr(), c), adapters{})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The schema is up to date.")
			return a.Close()
		},
	}
}
