package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vqa/handlers/command"
)

// restriction restricts an account, or ends its restriction.
type restriction func(s *command.Service, ctx context.Context, accountID, reason, operator, requestID string) error

func keysRestrictCommand() *cobra.Command {
	return restrictionCommand("restrict", "Refuse all requests with keys, tokens and sessions of an account", "restricted",
		(*command.Service).RestrictAccount)
}

func keysUnrestrictCommand() *cobra.Command {
	return restrictionCommand("unrestrict", "Accept requests of a restricted account again", "no longer restricted", (*command.Service).UnrestrictAccount)
}

func restrictionCommand(name, short, outcome string, restrict restriction) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   name + " ACCOUNT --reason TEXT",
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "vqa: --reason is required: the log stores it")
				return exitUsage
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				request := newRequestID()
				if err := restrict(a.commands, ctx, args[0], reason, operator(), request); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is %s (%s).\n", args[0], outcome, request)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, stored in the log")
	return strict(cmd, "ACCOUNT")
}
