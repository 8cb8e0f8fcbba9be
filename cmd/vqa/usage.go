package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

// strict gives a command the names of its arguments. Wrong arguments end with the exit status for
// wrong usage. A name in brackets is optional, and a name that ends in "…]" can be repeated; both
// come last.
func strict(cmd *cobra.Command, names ...string) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if err := checkArguments(names, given); err != nil {
			return misused(cmd, err)
		}
		return nil
	}
	return cmd
}

// misused prints an error with the usage of a command, and returns the exit status for wrong usage.
func misused(cmd *cobra.Command, err error) error {
	fmt.Fprintf(terminal.Escape(cmd.ErrOrStderr()), "vqa: %v\nusage: %s\n(more: %s --help)\n", err, cmd.UseLine(), cmd.CommandPath())
	return exitUsage
}

// needSubcommand makes a command that only has subcommands print its help, and refuse an unknown
// subcommand. Cobra alone would print the help and exit with 0. It does the same for the subcommands.
func needSubcommand(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		needSubcommand(sub)
	}
	if !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}
	cmd.Use, cmd.DisableFlagsInUseLine = cmd.Name()+" COMMAND", true
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if len(given) == 0 {
			return nil
		}
		hint := ""
		if near := cmd.SuggestionsFor(given[0]); len(near) > 0 {
			hint = "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return misused(cmd, fmt.Errorf("unknown command %q%s", given[0], hint))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2 // letters that differ
}

// checkArguments returns an error that names the missing arguments, or the first surplus argument.
func checkArguments(names, given []string) error {
	var missing []string
	for _, name := range names[min(len(given), len(names)):] {
		if !strings.HasPrefix(name, "[") {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) == 1:
		return fmt.Errorf("%s is missing", missing[0])
	case len(missing) > 1:
		return fmt.Errorf("%s and %s are missing", strings.Join(missing[:len(missing)-1], ", "), missing[len(missing)-1])
	case len(given) <= len(names):
		return nil
	case len(names) == 0:
		return fmt.Errorf("%q is one argument too many: this command takes none", given[0])
	case strings.HasSuffix(names[len(names)-1], "…]"):
		return nil
	}
	return fmt.Errorf("%q is one argument too many after %s", given[len(names)], strings.Join(names, " "))
}

// ownAccount returns the given account, or else the account of the key that `vqa ask` stores in the
// data folder. It prints the account when it was not given.
func ownAccount(cmd *cobra.Command, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	c, err := locatedConfig("", io.Discard) // withApp says which folder is used
	if err != nil {
		return "", err
	}
	k, err := readKey(storedKeyPath(c))
	if err != nil {
		return "", err
	}
	if k == nil || k.AccountID == "" {
		return "", misuse(cmd, errors.New("ACCOUNT is missing, and the data folder "+c.DataDir+
			" has no key with an account (vqa ledger balance lists all accounts)"))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "account %s, from the key in the data folder\n", k.AccountID)
	return k.AccountID, nil
}

// misuse prints an error in the arguments and returns the exit status for wrong usage.
func misuse(cmd *cobra.Command, err error) error {
	fmt.Fprintln(cmd.ErrOrStderr(), "vqa:", err)
	return exitUsage
}
