package command

import (
	"context"
	"crypto/ed25519"
	"errors"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// sealerActor is the actor of seals and ledger keys.
const sealerActor = "sealer"

// LedgerKeys returns the public keys that verify checkpoints, oldest first.
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
