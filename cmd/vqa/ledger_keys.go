package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
)

// nextLedgerKeyFile is the key of a rotation until it is anchored.
const nextLedgerKeyFile = ledgerKeyFile + ".new"

func ledgerKeysCommand() *cobra.Command {
	cmd := group("keys", "List, rotate, replace and revoke the keys that seal the ledger",
		ledgerKeysListCommand(), ledgerKeysRotateCommand(), ledgerKeysReplaceCommand(), ledgerKeysRevokeCommand())
	cmd.Long = cmd.Short + ".\n\nEach act is a signed statement beside the checkpoints, outside the database. Verification shows all of them."
	return cmd
}

// shownStatement is a key statement as it is printed.
type shownStatement struct {
	Number    int64     `json:"number"`
	Action    string    `json:"action"`
	KeyID     string    `json:"key_id"`
	PublicKey string    `json:"public_key"`
	Log       int64     `json:"log"`
	Size      int64     `json:"size"`
	Reason    string    `json:"reason"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
}

func showStatement(s translog.Statement) shownStatement {
	return shownStatement{
		s.Number, string(s.Action), credit.LedgerKeyID(s.Key), base64.StdEncoding.EncodeToString(s.Key), s.Log, s.Size, s.Reason, s.Actor, s.At,
	}
}

// statementsOf returns the statements as they are printed.
func statementsOf(all ...translog.Statement) []shownStatement {
	shown := make([]shownStatement, len(all))
	for i, s := range all {
		shown[i] = showStatement(s)
	}
	return shown
}

var printStatements = terminal.List(func(s shownStatement) []string {
	return []string{
		fmt.Sprint(s.Number), s.Action, s.PublicKey, fmt.Sprint(s.Log), fmt.Sprint(s.Size), s.At.Format(time.DateTime), s.By, s.Reason,
	}
}, "NUMBER", "ACTION", "KEY", "LOG", "SIZE", "AT", "BY", "REASON")

// sealing returns a function that calls do with the sealer of this data folder.
func sealing[T any](do func(context.Context, *app, *seal.Sealer) (T, error)) func(context.Context, *app) (T, error) {
	return func(ctx context.Context, a *app) (result T, err error) {
		s, end, err := a.newLogSealer(ctx)
		if err != nil {
			return result, err
		}
		result, err = do(ctx, a, s)
		return result, errors.Join(err, end())
	}
}

func ledgerKeysListCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "list",
		Short: "List the statements about the keys, oldest first",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showFrom(cmd, sealing(func(ctx context.Context, _ *app, s *seal.Sealer) ([]shownStatement, error) {
				keys, err := s.Anchors.Keys(ctx)
				return statementsOf(keys.Statements...), err
			}), printStatements)
		},
	})
}

// forReason gives a command of an operator the flag --reason, which it requires.
func forReason(cmd *cobra.Command, by *seal.Operator) *cobra.Command {
	cmd.Flags().StringVar(&by.Reason, "reason", "", "why; it is recorded and shown always")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if by.Name = operator(); by.Reason == "" {
			return misuse(cmd, errors.New("--reason is required: verification shows it always"))
		}
		return nil
	}
	return printing(cmd)
}

// ledgerAct is a command that makes a key statement for a reason.
func ledgerAct(use, short, long string, do func(ctx context.Context, a *app, s *seal.Sealer, by seal.Operator) (translog.Statement, error)) *cobra.Command {
	var by seal.Operator
	return forReason(&cobra.Command{
		Use: use, Short: short, Long: long,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showFrom(cmd, sealing(func(ctx context.Context, a *app, s *seal.Sealer) ([]shownStatement, error) {
				made, err := do(ctx, a, s, by)
				return statementsOf(made), err
			}), printStatements)
		},
	}, &by)
}

func ledgerKeysRotateCommand() *cobra.Command {
	return ledgerAct("rotate", "Seal with a new key from now on",
		"Makes a new key, signs it with the old one, and puts it into "+ledgerKeyFile+" of the data folder. The old key stays\n"+
			"beside it with its id in the name. Restart the service afterwards. An interrupted rotation is completed by the next one.",
		rotateLedgerKey)
}

// rotateLedgerKey anchors a new key and then exchanges the files. When the first half was done before, it
// does the second one.
func rotateLedgerKey(ctx context.Context, a *app, s *seal.Sealer, by seal.Operator) (translog.Statement, error) {
	seed, err := keyFile(a.config.DataDir, nextLedgerKeyFile)
	if err != nil {
		return translog.Statement{}, fmt.Errorf("making the new key of the ledger: %w", err)
	}
	next := ed25519.NewKeyFromSeed(seed)
	keys, err := s.Anchors.Keys(ctx)
	if err != nil {
		return translog.Statement{}, err
	}
	var made translog.Statement
	if n := len(keys.Statements); n > 0 && next.Public().(ed25519.PublicKey).Equal(keys.Current) {
		made = keys.Statements[n-1]
	} else if made, err = s.Rotate(ctx, next, by); err != nil {
		return made, err
	}
	file := func(name string) string { return filepath.Join(a.config.DataDir, name) }
	old := file(ledgerKeyFile + "." + credit.LedgerKeyID(s.PublicKey()))
	if err := os.Rename(file(ledgerKeyFile), old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return made, err
	}
	return made, os.Rename(file(nextLedgerKeyFile), file(ledgerKeyFile))
}

func ledgerKeysReplaceCommand() *cobra.Command {
	return ledgerAct("replace", "Seal with the key of this data folder, because the old key was lost",
		"Approves the key in "+ledgerKeyFile+" of this data folder without the old key. Verification shows this always, and a pinned\n"+
			"key (VQA_LEDGER_KEYS) refuses it until the new key is pinned, too.",
		func(ctx context.Context, _ *app, s *seal.Sealer, by seal.Operator) (translog.Statement, error) {
			return s.Replace(ctx, by)
		})
}

func ledgerKeysRevokeCommand() *cobra.Command {
	var key string
	var beyond int64
	cmd := ledgerAct("revoke", "Trust an old key only up to a size of the log",
		"Ends the trust in checkpoints that an old key has signed beyond a size. Rotate a key before you revoke it.",
		func(ctx context.Context, _ *app, s *seal.Sealer, by seal.Operator) (translog.Statement, error) {
			raw, err := base64.StdEncoding.DecodeString(key)
			if err != nil || len(raw) != ed25519.PublicKeySize {
				return translog.Statement{}, errors.New("--key must be a public key in base64, as vqa ledger keys list prints it")
			}
			return s.Revoke(ctx, raw, beyond, by)
		})
	cmd.Flags().StringVar(&key, "key", "", "the public key in base64")
	cmd.Flags().Int64Var(&beyond, "beyond", 0, "the last size of the log at which its checkpoints count")
	return cmd
}

func ledgerRestartCommand() *cobra.Command {
	var by seal.Operator
	return forReason(&cobra.Command{
		Use:   "restart",
		Short: "Begin a new transparency log after events or checkpoints were lost",
		Long: "Begins a new log after a restore from a backup, a failover that lost events, or the loss of checkpoints. Its first leaf\n" +
			"names the last checkpoint of the old log and the first row that differs. Verification shows the gap always.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showFrom(cmd, sealing(func(ctx context.Context, _ *app, s *seal.Sealer) (restarted, error) {
				opening, err := s.Restart(ctx, by)
				if err != nil {
					return restarted{}, err
				}
				return restarted{opening.Number, opening.Origin, opening.Restart.Origin, opening.Restart.Size, opening.Restart.Lost}, nil
			}), func(s terminal.Screen, r restarted) {
				fmt.Fprintf(s, "log %d (%s) continues %s after leaf %d\nlost: %s\n", r.Log, r.Origin, r.AfterOrigin, r.AfterSize, r.Lost)
			})
		},
	}, &by)
}

// restarted is the output of vqa ledger restart.
type restarted struct {
	Log         int64  `json:"log"`
	Origin      string `json:"origin"`
	AfterOrigin string `json:"after_origin"`
	AfterSize   int64  `json:"after_size"`
	Lost        string `json:"lost"`
}
