package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/account"
	"vqa/handlers/command"
)

// storedKey is the live key in the data folder, which all tools of the folder use.
type storedKey struct {
	AccountID string `json:"account_id"`
	KeyID     string `json:"key_id"`
	APIKey    string `json:"api_key"`
}

func storedKeyPath(c config) string { return filepath.Join(c.DataDir, "cli-key.json") }

// useStoredKey uses the key in the data folder. It creates one when there is none, or when the
// server refuses it. remote is true when the user named the server, which may use other data.
func (s *session) useStoredKey(ctx context.Context, remote bool) error {
	path := storedKeyPath(s.config)
	stored, err := readKey(path)
	if err != nil {
		return err
	}
	if stored != nil {
		if _, err := s.try(ctx, *stored); !client.Unauthorized(err) {
			return err
		}
	}
	if !s.sharesData() {
		folder := " to the folder of the server"
		if dir := dataDirOf(s.Base); dir != "" {
			folder = "=" + dir
		}
		return fmt.Errorf("the server at %s does not use the data folder %s: give --key or VQA_API_KEY, or set VQA_DATA_DIR%s",
			s.Base, s.config.DataDir, folder)
	}
	made, err := s.makeKey(ctx)
	if err != nil {
		return fmt.Errorf("creating a key: %w", err)
	}
	available, err := s.try(ctx, made)
	if client.Unauthorized(err) {
		hint := "give --key or VQA_API_KEY, or set VQA_DATA_DIR to the folder of the server"
		if remote {
			hint = "give --key or VQA_API_KEY of that server"
		}
		return fmt.Errorf("the server at %s has no account of the data folder %s: %s", s.Base, s.config.DataDir, hint)
	} else if err != nil {
		return err
	}
	if err := writeKey(path, made); err != nil {
		return fmt.Errorf("storing the key: %w", err)
	}
	fmt.Fprintf(s.notices, "created a live key with %s credit-seconds, stored in %s\n", terminal.Thousands(available), path)
	return nil
}

// try checks whether the server accepts a key, and uses it from now on. It returns the available
// credit-seconds.
func (s *session) try(ctx context.Context, k storedKey) (int64, error) {
	s.Key = k.APIKey
	return s.CheckKey(ctx)
}

func (s *session) makeKey(ctx context.Context) (storedKey, error) {
	var made command.IssuedKey
	err := s.commands(ctx, func(service *command.Service) (err error) {
		made, err = service.IssueKey(ctx, command.NewKey{
			AccountID: command.OperatorAccount(), Mode: account.Live, Name: "command line", Operator: operator(),
		})
		return err
	})
	return storedKey{AccountID: made.AccountID, KeyID: made.KeyID, APIKey: made.Secret}, err
}

// readKey returns nil when the file has no usable key.
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
		return nil, nil //nolint:nilerr // a file that cannot be parsed is replaced
	}
	return &k, nil
}

// writeKey replaces the file. Only its owner can read it.
func writeKey(path string, k storedKey) error {
	return writeFile(path, func(out io.Writer) error { return json.NewEncoder(out).Encode(k) }) //nolint:gosec // the file exists to store the key
}
