package main

import "github.com/spf13/cobra"

func ledgerCommand() *cobra.Command {
	return group("ledger", "Show, export and verify the ledger of credit-seconds",
		ledgerBalanceCommand(), ledgerJournalCommand(), ledgerHoldsCommand(), ledgerStatementCommand(),
		ledgerExportCommand(), ledgerBundleCommand(), ledgerWhatIfCommand(),
		ledgerCheckpointCommand(), ledgerWitnessesCommand(), ledgerVerifyCommand(), ledgerKeysCommand(), ledgerRestartCommand())
}
