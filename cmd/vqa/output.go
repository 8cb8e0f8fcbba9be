package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

// printing gives a command the flag --json and, as strict, the names of its arguments.
func printing(cmd *cobra.Command, names ...string) *cobra.Command {
	cmd.Flags().Bool("json", false, "print JSON")
	return strict(cmd, names...)
}

// asJSON reports whether the flag --json of a command is given.
func asJSON(cmd *cobra.Command) bool {
	given, _ := cmd.Flags().GetBool("json")
	return given
}

// show prints the result of a command: as JSON with --json, or else with print.
func show[T any](cmd *cobra.Command, result T, print func(terminal.Screen, T)) error {
	if asJSON(cmd) {
		return terminal.PrintJSON(cmd.OutOrStdout(), result)
	}
	print(terminal.NewScreen(cmd.OutOrStdout()), result)
	return nil
}

// showFrom opens the service's data, reads a result and shows it. When read returns an exitError, the result is
// shown before it.
func showFrom[T any](cmd *cobra.Command, read func(ctx context.Context, a *app) (T, error), print func(terminal.Screen, T)) error {
	return withApp(cmd, func(ctx context.Context, a *app) error {
		result, err := read(ctx, a)
		var exit exitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
		if err := show(cmd, result, print); err != nil {
			return err
		}
		return err
	})
}

// failing returns the exit status 1 when a result is bad.
func failing(bad bool) error {
	if bad {
		return exitError(1)
	}
	return nil
}

// group makes a command that only has subcommands.
func group(name, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short}
	cmd.AddCommand(subcommands...)
	return cmd
}

// acting makes a command with which an operator changes the thing that its last argument names. It prints the
// outcome with the id of the request, which the log stores.
func acting(use, short, outcome string, do func(ctx context.Context, a *app, args []string, request string) error) *cobra.Command {
	names, _, _ := strings.Cut(use, " --")
	return strict(&cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withApp(cmd, func(ctx context.Context, a *app) error {
				request := newRequestID()
				if err := do(ctx, a, args, request); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is %s (%s).\n", args[len(args)-1], outcome, request)
				return nil
			})
		},
	}, strings.Fields(names)[1:]...)
}
