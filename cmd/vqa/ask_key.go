package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/account"
	"vqa/handlers/command"
)

// ownGrantSeconds is the grant of the account that this program opens for itself.
const ownGrantSeconds = 6000

// storedKey is the live key that the tools of a data folder share.
type storedKey struct {
	AccountID string `json:"account_id"`
	KeyID     string `json:"key_id"`
	APIKey    string `json:"api_key"`
}

func storedKeyPath(c config) string { return filepath.Join(c.DataDir, "cli-key.json") }

// useStoredKey takes the key of the data folder, and makes one when there is none or
// when the server refuses it. A server that was named (remote) may be anybody's.
func (s *session) useStoredKey(ctx context.Context, remote bool) error {
	path := storedKeyPath(s.config)
	stored, err := readKey(path)
	if err != nil {
		return err
	}
	if stored != nil {
		if err := s.try(ctx, *stored); !client.Unauthorized(err) {
			return err
		}
	}
	if !s.sharesData() {
		return fmt.Errorf("the server at %s keeps its data elsewhere than %s: give --key or VQA_API_KEY, or set VQA_DATA_DIR to its folder",
			s.Base, s.config.DataDir)
	}
	made, err := s.makeKey(ctx)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	if err := s.try(ctx, made); client.Unauthorized(err) {
		hint := "set VQA_DATA_DIR to its folder"
		if remote {
			hint = "it is a server of its own"
		}
		return fmt.Errorf("the server at %s does not know the accounts of %s (%s): give --key or VQA_API_KEY", s.Base, s.config.DataDir, hint)
	} else if err != nil {
		return err
	}
	if err := writeKey(path, made); err != nil {
		return fmt.Errorf("keeping the key: %w", err)
	}
	fmt.Fprintf(s.notices, "made a live key with %s credit-seconds, kept in %s\n", terminal.Thousands(ownGrantSeconds), path)
	return nil
}

// try shows a key to the server.
func (s *session) try(ctx context.Context, k storedKey) error {
	s.Key, s.accountID = k.APIKey, k.AccountID
	return s.CheckKey(ctx)
}

func (s *session) makeKey(ctx context.Context) (storedKey, error) {
	var made command.IssuedKey
	err := s.commands(ctx, func(service *command.Service) (err error) {
		made, err = service.IssueKey(ctx, command.NewKey{
			Mode: account.Live, Tier: account.Paid, Name: "command line", GrantSeconds: ownGrantSeconds, Operator: operator(),
		})
		return err
	})
	return storedKey{AccountID: made.AccountID, KeyID: made.KeyID, APIKey: made.Secret}, err
}

// readKey returns nil when no usable key is kept.
func readKey(path string) (*storedKey, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var k storedKey
	if json.Unmarshal(raw, &k) != nil || k.APIKey == "" {
		return nil, nil //nolint:nilerr // an unreadable key is replaced like a refused one
	}
	return &k, nil
}

// writeKey replaces the key whole or not at all, readable by its owner only.
func writeKey(path string, k storedKey) error {
	raw, err := json.Marshal(k) //nolint:gosec // keeping the key is what the file is for
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "cli-key.*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it is gone once renamed
	_, err = temp.Write(append(raw, '\n'))
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
