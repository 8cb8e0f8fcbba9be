package command

import (
	"context"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// LedgerLog returns the newest seal of the transparency log.
func (s *Service) LedgerLog(ctx context.Context) (credit.LogState, error) {
	state, _, err := s.ledgerLog(ctx)
	return state, err
}

func (s *Service) ledgerLog(ctx context.Context) (credit.LogState, eventstore.History, error) {
	stream := fold.LedgerLog.Stream(credit.LedgerLogID)
	histories, err := s.Store.Load(ctx, stream)
	if err != nil {
		return credit.LogState{}, eventstore.History{}, err
	}
	state, err := restored(ctx, s.Store, fold.LedgerLog, stream, histories[stream])
	return state, histories[stream], err
}

// SealLog records a pass of the sealer and returns the event. Errors: resource_conflict when the seal does
// not extend the last one, and *eventstore.ConflictError when another process sealed at the same time.
func (s *Service) SealLog(ctx context.Context, sealed credit.LogSealed) (eventstore.Recorded, error) {
	last, history, err := s.ledgerLog(ctx)
	if err != nil {
		return eventstore.Recorded{}, err
	}
	events, err := credit.DecideLogSeal(last, credit.SealLog{Sealed: sealed}, s.Now())
	if err != nil {
		return eventstore.Recorded{}, err
	}
	// The log belongs to the platform and not to an account.
	meta := s.systemMeta(Cause{}, credit.LedgerLogID, sealerActor)
	w := writeOf(fold.LedgerLog, fold.LedgerLog.Stream(credit.LedgerLogID), history, last, meta, events)
	if w.Snapshot, err = fold.LedgerLog.Snapshot(w.State); err != nil {
		return eventstore.Recorded{}, err
	}
	recorded, err := s.Store.Append(ctx, eventstore.Batch{Writes: []eventstore.Write{w}})
	if err != nil {
		return eventstore.Recorded{}, err
	}
	return recorded[0], nil
}
