package main

import "github.com/spf13/cobra"

// ledgerCommands returns the subcommands of `vqa ledger` in the order of its help.
var ledgerCommands = []func() *cobra.Command{
	ledgerBalanceCommand, ledgerJournalCommand, ledgerHoldsCommand, ledgerStatementCommand,
	ledgerExportCommand, ledgerBundleCommand, ledgerWhatIfCommand,
	ledgerCheckpointCommand, ledgerWitnessesCommand, ledgerVerifyCommand, ledgerKeysCommand, ledgerRestartCommand,
}

func ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "ledger", Short: "Show, export and verify the ledger of credit-seconds"}
	for _, subcommand := range ledgerCommands {
		cmd.AddCommand(subcommand())
	}
	return cmd
}
