package command

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/grant"
	"vqa/domain/stream"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// AccountState returns an account as its events fold, and the version of its stream. It is the zero value when there
// are none. Error: *eventstore.ForgedError when the service did not write them.
func (s *Service) AccountState(ctx context.Context, id string) (account.State, int64, error) {
	return streamState(ctx, s.Store, fold.Account, id)
}

// ClientTokenState is AccountState for a client token.
func (s *Service) ClientTokenState(ctx context.Context, id string) (account.ClientToken, int64, error) {
	return streamState(ctx, s.Store, fold.ClientToken, id)
}

// SessionState is AccountState for the session of a person.
func (s *Service) SessionState(ctx context.Context, id string) (account.Session, int64, error) {
	return streamState(ctx, s.Store, fold.Session, id)
}

// DeviceCodeState is AccountState for a device code, by its hash.
func (s *Service) DeviceCodeState(ctx context.Context, hash string) (account.DeviceCode, int64, error) {
	return streamState(ctx, s.Store, fold.DeviceCode, hash)
}

// StreamState is AccountState for a live stream.
func (s *Service) StreamState(ctx context.Context, id string) (stream.State, int64, error) {
	return streamState(ctx, s.Store, fold.Stream, id)
}

// GrantState is AccountState for the permission of an agent.
func (s *Service) GrantState(ctx context.Context, id string) (grant.State, int64, error) {
	return streamState(ctx, s.Store, fold.Grant, id)
}

// Passkeys returns the passkeys of an account as their events fold.
func (s *Service) Passkeys(ctx context.Context, accountID string) (account.Passkeys, error) {
	p, _, err := streamState(ctx, s.Store, fold.Passkeys, accountID)
	return p, err
}

// streamState loads a stream and folds it. It returns the version, too.
func streamState[S any, E eventstore.Event](ctx context.Context, store eventstore.Store, of fold.Of[S, E], id string) (S, int64, error) {
	stream := of.Stream(id)
	histories, err := store.Load(ctx, stream)
	if err != nil {
		var none S
		return none, 0, err
	}
	state, err := restored(ctx, store, of, stream, histories[stream])
	return state, histories[stream].Version, err
}
