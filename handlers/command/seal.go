package command

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// sealerActor is the actor of checkpoints and ledger keys.
const sealerActor = "sealer"

// LedgerKeys returns the public keys that verify checkpoints.
func (s *Service) LedgerKeys(ctx context.Context) (credit.LedgerKeys, error) {
	stream := fold.LedgerKeys.Stream(credit.LedgerKeysID)
	histories, err := s.Store.Load(ctx, stream)
	if err != nil {
		return credit.LedgerKeys{}, err
	}
	return fold.LedgerKeys.Restore(histories[stream])
}

// keyTries bounds how often AddLedgerKey tries again after a conflict with another process.
const keyTries = 5

// AddLedgerKey publishes a public key. It is idempotent.
func (s *Service) AddLedgerKey(ctx context.Context, key ed25519.PublicKey) (err error) {
	var conflict *eventstore.ConflictError
	for range keyTries {
		if err = s.addLedgerKey(ctx, key); !errors.As(err, &conflict) {
			return err
		}
	}
	return err
}

func (s *Service) addLedgerKey(ctx context.Context, key ed25519.PublicKey) error {
	stream := fold.LedgerKeys.Stream(credit.LedgerKeysID)
	histories, err := s.Store.Load(ctx, stream)
	if err != nil {
		return err
	}
	keys, err := fold.LedgerKeys.Restore(histories[stream])
	if err != nil {
		return err
	}
	added, err := credit.DecideLedgerKey(keys, credit.AddLedgerKey{Key: key}, s.Now())
	if err != nil || len(added) == 0 {
		return err
	}
	// The keys belong to the platform and not to an account.
	meta := s.systemMeta(Cause{}, credit.LedgerKeysID, sealerActor)
	_, err = s.Store.Append(ctx, eventstore.Batch{Writes: []eventstore.Write{
		writeOf(fold.LedgerKeys, stream, histories[stream], keys, meta, added),
	}})
	return err
}

// SealLedgers signs a checkpoint of each named account whose ledger has changed since its last
// one. It records them in one append and returns how many. It does not use the lanes: a
// checkpoint signs events that are already in the log, and no command depends on it.
//
// An error names each account that could not be sealed. The others are sealed. A *ConflictError
// means that another process sealed at the same time. Then nothing was sealed, and the next pass
// handles the rest.
func (s *Service) SealLedgers(ctx context.Context, key ed25519.PrivateKey, accountIDs ...string) (int, error) {
	streams := make([]eventstore.StreamID, 0, 2*len(accountIDs))
	for _, id := range accountIDs {
		streams = append(streams, fold.Credit.Stream(id), fold.Checkpoint.Stream(id))
	}
	histories, err := s.Store.Load(ctx, streams...)
	if errors.Is(err, eventstore.ErrUnknownEvent) && len(accountIDs) > 1 {
		return s.sealOneByOne(ctx, key, accountIDs)
	}
	if err != nil {
		return 0, err
	}
	var batch eventstore.Batch
	var refused error
	for _, id := range accountIDs {
		w, err := s.seal(ctx, key, id, histories)
		if err != nil {
			refused = errors.Join(refused, fmt.Errorf("sealing the ledger of %s: %w", id, err))
		}
		batch.Writes = append(batch.Writes, w...)
	}
	if len(batch.Writes) == 0 {
		return 0, refused
	}
	if _, err := s.Store.Append(ctx, batch); err != nil {
		return 0, errors.Join(refused, err)
	}
	return len(batch.Writes), refused
}

// sealOneByOne leaves out the accounts with events that this program does not know.
func (s *Service) sealOneByOne(ctx context.Context, key ed25519.PrivateKey, accountIDs []string) (sealed int, refused error) {
	for _, id := range accountIDs {
		n, err := s.SealLedgers(ctx, key, id)
		if err != nil {
			refused = errors.Join(refused, fmt.Errorf("sealing the ledger of %s: %w", id, err))
		}
		sealed += n
	}
	return sealed, refused
}

// restored folds a loaded history, from its first event when another release made its snapshot.
func restored[S any, E eventstore.Event](
	ctx context.Context, store eventstore.Store, of fold.Of[S, E], id eventstore.StreamID, h eventstore.History,
) (S, error) {
	state, err := of.Restore(h)
	if errors.Is(err, fold.ErrOtherShape) {
		if h, err = withoutSnapshot(ctx, store, id, h); err == nil {
			state, err = of.Restore(h)
		}
	}
	return state, err
}

// seal returns the write with the checkpoint of one account, or nothing when its ledger has not
// changed.
func (s *Service) seal(ctx context.Context, key ed25519.PrivateKey, accountID string, histories map[eventstore.StreamID]eventstore.History) ([]eventstore.Write, error) {
	entries, stream := histories[fold.Credit.Stream(accountID)], fold.Checkpoint.Stream(accountID)
	balance, err := restored(ctx, s.Store, fold.Credit, fold.Credit.Stream(accountID), entries)
	if err != nil {
		return nil, err
	}
	last, err := restored(ctx, s.Store, fold.Checkpoint, stream, histories[stream])
	if err != nil {
		return nil, err
	}
	sealed, err := credit.DecideSeal(last, credit.Seal{
		Balance: balance, Version: entries.Version, Chain: entries.Chain, Key: key,
	}, s.Now())
	if err != nil || len(sealed) == 0 {
		return nil, err
	}
	meta := s.systemMeta(Cause{}, accountID, sealerActor)
	w := writeOf(fold.Checkpoint, stream, histories[stream], last, meta, sealed)
	w.Snapshot, err = fold.Checkpoint.Snapshot(w.State)
	return []eventstore.Write{w}, err
}

// writeOf returns the write that appends events to a loaded stream.
func writeOf[S any, E eventstore.Event](
	category fold.Of[S, E], stream eventstore.StreamID, h eventstore.History, state S, meta eventstore.Meta, events []E,
) eventstore.Write {
	w := eventstore.Write{Stream: stream, Expected: h.Version, Chain: h.Chain}
	for _, e := range events {
		state = category.Evolve(state, e)
		w.Events = append(w.Events, eventstore.NewEvent{Event: e, Meta: meta})
	}
	w.State = state
	return w
}
