package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
)

// legacyKeys is how long keys with the old prefix are good. Error: VQA_GA_ANNOUNCED_AT is
// no date.
func (c config) legacyKeys() (account.LegacyWindow, error) {
	if c.GAAnnouncedAt == "" {
		return account.LegacyWindow{}, nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(form, c.GAAnnouncedAt); err == nil {
			return account.LegacyWindow{AnnouncedAt: at.UTC()}, nil
		}
	}
	return account.LegacyWindow{}, wrongValue("VQA_GA_ANNOUNCED_AT", c.GAAnnouncedAt, "must be a date such as 2026-11-21")
}

// importedKey is what `vqa keys import` prints.
type importedKey struct {
	AccountID string `json:"account_id"`
	KeyID     string `json:"key_id"`
	// RequestID names the order in the log.
	RequestID string `json:"request_id"`
}

func keysImportCommand() *cobra.Command {
	var accountID, name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import --account ACCOUNT --name NAME",
		Short: "Accept a legacy key (pk_…), read from standard input",
		Long: "Accepts a live key of the old form, which begins with pk_. It is read from standard input, so that it is in\n" +
			"no history of a shell; only its hash is kept. Such keys end 12 months after VQA_GA_ANNOUNCED_AT.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if accountID == "" || name == "" {
				fmt.Fprintln(cmd.ErrOrStderr(), "vqa: --account and --name are required")
				return exitUsage
			}
			secret, err := readSecret(cmd.InOrStdin())
			if err != nil {
				return err
			}
			order := command.LegacyKey{AccountID: accountID, Name: name, Secret: secret, Operator: operator(), RequestID: newRequestID()}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				known, found, err := a.resources.Key(ctx, account.HashSecret(secret))
				if err != nil {
					return err
				}
				if found {
					return fault.Newf(fault.ResourceConflict, "The key is known already: %s of %s.", known.ID, known.AccountID)
				}
				keyID, err := a.commands.ImportKey(ctx, order)
				if err != nil {
					return err
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), importedKey{AccountID: accountID, KeyID: keyID, RequestID: order.RequestID})
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is accepted for %s (%s).\n", keyID, accountID, order.RequestID)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&accountID, "account", "", "account")
	cmd.Flags().StringVar(&name, "name", "", "name of the key")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd)
}

// maxSecret is the longest line that is taken for a secret, in bytes.
const maxSecret = 4 << 10

// readSecret reads one line, without its end.
func readSecret(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, maxSecret)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the key: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
