package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
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
		Version:       currentVersion().Version,
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
	root.SetFlagErrorFunc(misused)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .HasAvailableSubCommands}}\n  {{.CommandPath}} [command]{{end}}", "", 1)) // needSubcommand writes COMMAND
	root.SetVersionTemplate(currentVersion().String() + "\n")
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Use the service", []*cobra.Command{askCommand(), streamCommand(), listenCommand(), triggerCommand()}},
		{"Run the service", []*cobra.Command{serveCommand(), signInCommand(), configCommand(), doctorCommand(), backupCommand(), restoreCommand(), migrateCommand(), nodesCommand(), incidentsCommand()}},
		{"Accounts and credits", []*cobra.Command{keysCommand(), creditsCommand(), sessionsCommand(), grantsCommand(), ledgerCommand()}},
		{"Look inside", []*cobra.Command{showCommand(), whyCommand(), eventsCommand(), projectionsCommand(), webhooksCommand(), modelsCommand(), evalCommand(), calibrateCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(versionCommand())
	needSubcommand(root)
	return root
}
