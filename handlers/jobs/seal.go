package jobs

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"vqa/eventstore"
	"vqa/handlers/command"
)

// sealEvery is the time between two passes of the sealer. It bounds how far a ledger is
// ahead of its newest checkpoint.
const sealEvery = time.Minute

// sealTimeout bounds one pass.
const sealTimeout = time.Minute

// sealPage is how many accounts one append seals.
const sealPage = 100

// UnsealedAccounts lists accounts with ledger events after their last checkpoint.
type UnsealedAccounts interface {
	// Unsealed returns up to limit of them in a fixed order, beginning after an account.
	Unsealed(ctx context.Context, after string, limit int) ([]string, error)
}

// Sealer signs checkpoints of the ledger. Every node may seal, each with its own key.
type Sealer struct {
	Commands *command.Service
	Ledger   UnsealedAccounts
	Key      ed25519.PrivateKey
	Log      *slog.Logger
}

// Run seals at once and then every minute until ctx ends.
func (s *Sealer) Run(ctx context.Context) {
	ticker := time.NewTicker(sealEvery)
	defer ticker.Stop()
	for {
		if n, err := s.Seal(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("sealing the ledger failed", "error", err)
		} else if n > 0 {
			s.Log.Debug("sealed the ledger", "accounts", n)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// PublicKey verifies the checkpoints of this sealer.
func (s *Sealer) PublicKey() ed25519.PublicKey { return s.Key.Public().(ed25519.PublicKey) }

// Seal makes one pass and returns the number of checkpoints it signed. Accounts that
// another node seals at the same moment are skipped.
func (s *Sealer) Seal(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	if err := s.Commands.AddLedgerKey(ctx, s.PublicKey()); err != nil {
		return 0, fmt.Errorf("publish the key: %w", err)
	}
	total, after := 0, ""
	var failed error
	for {
		page, err := s.Ledger.Unsealed(ctx, after, sealPage)
		if err != nil {
			return total, errors.Join(failed, fmt.Errorf("list the unsealed accounts: %w", err))
		}
		if len(page) == 0 {
			return total, failed
		}
		n, err := s.Commands.SealLedgers(ctx, s.Key, page...)
		var rival *eventstore.ConflictError
		if err != nil && !errors.As(err, &rival) {
			failed = errors.Join(failed, err)
		}
		total += n
		after = page[len(page)-1]
	}
}
