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

// legacyKeys returns the time until which keys with the prefix pk_ are accepted
// (docs/contract.md#legacy-keys). It fails when VQA_GA_ANNOUNCED_AT is not a date.
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

// importedKey is the output of `vqa keys import`.
type importedKey struct {
	AccountID string `json:"account_id"`
	KeyID     string `json:"key_id"`
	// RequestID identifies the change in the log.
	RequestID string `json:"request_id"`
}

func keysImportCommand() *cobra.Command {
	var accountID, name string
	cmd := &cobra.Command{
		Use:   "import --account ACCOUNT --name NAME",
		Short: "Accept a legacy key (pk_…), read from standard input",
		Long: "Accepts a live key of the old form, with the prefix pk_. The key is read from standard input, so that it\n" +
			"does not appear in the shell's history. Only its hash is stored. Such keys expire 12 months after\n" +
			"VQA_GA_ANNOUNCED_AT.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if accountID == "" || name == "" {
				return misuse(cmd, errors.New("--account and --name are required"))
			}
			secret, err := readSecret(cmd.InOrStdin())
			if err != nil {
				return err
			}
			key := command.LegacyKey{AccountID: accountID, Name: name, Secret: secret, Operator: operator(), RequestID: newRequestID()}
			return showFrom(cmd, func(ctx context.Context, a *app) (imported importedKey, err error) {
				known, found, err := a.resources.Key(ctx, account.HashSecret(secret))
				if err != nil {
					return imported, err
				}
				if found {
					return imported, fault.Newf(fault.ResourceConflict, "This key already exists: %s of account %s.", known.ID, known.AccountID)
				}
				keyID, err := a.commands.ImportKey(ctx, key)
				return importedKey{AccountID: accountID, KeyID: keyID, RequestID: key.RequestID}, err
			}, func(s terminal.Screen, k importedKey) {
				fmt.Fprintf(s, "Account %s now accepts the key %s (%s).\n", k.AccountID, k.KeyID, k.RequestID)
			})
		},
	}
	cmd.Flags().StringVar(&accountID, "account", "", "account of the key")
	cmd.Flags().StringVar(&name, "name", "", "name of the key")
	return printing(cmd)
}

// maxSecret bounds the line with a secret, in bytes.
const maxSecret = 4 << 10

// readSecret reads one line without its line feed.
func readSecret(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, maxSecret)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the key: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
