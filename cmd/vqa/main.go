package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

// exitError ends the program with this exit status. Its message has already been printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	var exit exitError
	switch {
	case errors.As(err, &exit):
		os.Exit(int(exit))
	case err != nil:
		fmt.Fprintln(terminal.Escape(os.Stderr), "vqa:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "vqa",
		Short:         "Answer questions about videos",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			cmd.SetOut(terminal.Escape(cmd.OutOrStdout()))
			cmd.SetErr(terminal.Escape(cmd.ErrOrStderr()))
			for _, unknown := range unknownVariables(os.Environ()) {
				fmt.Fprintln(cmd.ErrOrStderr(), "vqa: warning:", unknown)
			}
		},
	}
	root.AddCommand(serveCommand(), askCommand(), streamCommand(), keysCommand(), grantsCommand(), creditsCommand(), incidentsCommand(), ledgerCommand(), projectionsCommand(),
		eventsCommand(), webhooksCommand(), listenCommand(), triggerCommand(), signInCommand(), sessionsCommand(), showCommand(), whyCommand(), nodesCommand(),
		migrateCommand(), configCommand(), doctorCommand(), evalCommand(), versionCommand())
	return root
}
