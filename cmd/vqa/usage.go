package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

// strict gives a command the names of its arguments, and makes wrong arguments and flags
// end with the exit status for usage. A name in brackets may be left out, and one that
// ends in "…]" may be repeated; both stand at the end.
func strict(cmd *cobra.Command, names ...string) *cobra.Command {
	misused := func(cmd *cobra.Command, err error) error {
		fmt.Fprintf(terminal.Escape(cmd.ErrOrStderr()), "vqa: %v\nusage: %s\n(more: %s --help)\n", err, cmd.UseLine(), cmd.CommandPath())
		return exitUsage
	}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if err := checkArguments(names, given); err != nil {
			return misused(cmd, err)
		}
		return nil
	}
	cmd.SetFlagErrorFunc(misused)
	return cmd
}

// checkArguments names the arguments that are missing, or the first that is too much.
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
		return fmt.Errorf("%q is one argument too many: there are none", given[0])
	case strings.HasSuffix(names[len(names)-1], "…]"):
		return nil
	}
	return fmt.Errorf("%q is one argument too many after %s", given[len(names)], strings.Join(names, " "))
}

// ownAccount is the account that a command is about: the one that was given, else that of
// the key which `vqa ask` keeps in the data folder. It says so when it chose.
func ownAccount(cmd *cobra.Command, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	c, err := loadConfig()
	if err != nil {
		return "", err
	}
	k, err := readKey(storedKeyPath(c))
	if err != nil {
		return "", err
	}
	if k == nil || k.AccountID == "" {
		return "", misuse(cmd, errors.New("ACCOUNT is missing, and "+c.DataDir+
			" has no key of the command line yet, whose account would be taken (vqa ledger balance lists all accounts)"))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "account %s, that of the command line's key\n", k.AccountID)
	return k.AccountID, nil
}

// misuse says what is wrong with the arguments.
func misuse(cmd *cobra.Command, err error) error {
	fmt.Fprintln(cmd.ErrOrStderr(), "vqa:", err)
	return exitUsage
}
