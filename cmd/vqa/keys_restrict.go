package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vqa/handlers/command"
)

// restriction shuts an account out, or lets it in again.
type restriction func(s *command.Service, ctx context.Context, accountID, reason, operator, requestID string) error

func keysRestrictCommand() *cobra.Command {
	return restrictionCommand("restrict", "Shut an account out: every key, token and session of it is refused", "restricted",
		(*command.Service).RestrictAccount)
}

func keysUnrestrictCommand() *cobra.Command {
	return restrictionCommand("unrestrict", "Let a restricted account in again", "admitted", (*command.Service).UnrestrictAccount)
}

func restrictionCommand(name, short, outcome string, order restriction) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   name + " ACCOUNT --reason TEXT",
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "vqa: --reason is required: the log keeps it")
				return exitUsage
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				request := newRequestID()
				if err := order(a.commands, ctx, args[0], reason, operator(), request); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is %s (%s).\n", args[0], outcome, request)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return strict(cmd, "ACCOUNT")
}
