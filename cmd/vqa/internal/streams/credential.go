package streams

import (
	"context"
	"errors"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/eventstore/fold"
	"vqa/streaming/live"
)

// revoke ends the streams of this node whose account is restricted, or whose key does not authenticate any more: the
// key that created the stream, or that minted the client token which created it. Otherwise a thief of a key could go
// on for the longest session, at the cost of its owner.
func (n *Node) revoke(ctx context.Context, t *term) error {
	sessions := t.host.Sessions()
	if len(sessions) == 0 {
		return nil
	}
	states := make([]stream.State, len(sessions))
	accounts, creators := make([]string, len(sessions)), make([]string, len(sessions))
	for i, s := range sessions {
		states[i] = s.State()
		accounts[i], creators[i] = states[i].AccountID, t.creator(s.ID())
	}
	restricted, err := n.Read.RestrictedAccounts(ctx, accounts)
	if err != nil {
		return err
	}
	keys, err := n.Read.KeysOf(ctx, creators)
	if err != nil {
		return err
	}
	for i, s := range sessions {
		key, known := keys[creators[i]]
		switch f := n.refusal(restricted[accounts[i]], key, known); {
		case f == nil:
		case states[i].Status != stream.EndedStatus:
			s.Revoke(f)
		}
	}
	return nil
}

// revokeQueued ends the streams without a slot that would be ended with one, and returns the others. All nodes do
// this: the first one ends a stream.
func (n *Node) revokeQueued(ctx context.Context, active []stream.State) ([]stream.State, error) {
	queued, err := n.queuedCreators(ctx, active)
	if err != nil || len(queued) == 0 {
		return active, err
	}
	var accounts, creators []string
	for _, st := range active {
		if creator, waits := queued[st.ID]; waits {
			accounts, creators = append(accounts, st.AccountID), append(creators, creator)
		}
	}
	restricted, err := n.Read.RestrictedAccounts(ctx, accounts)
	if err != nil {
		return active, err
	}
	keys, err := n.Read.KeysOf(ctx, creators)
	if err != nil {
		return active, err
	}
	var left []stream.State
	var errs []error
	for _, st := range active {
		creator, waits := queued[st.ID]
		key, known := keys[creator]
		f := n.refusal(restricted[st.AccountID], key, known)
		if !waits || f == nil {
			left = append(left, st)
			continue
		}
		errs = append(errs, n.sweep(ctx, st, live.Refused(f)))
	}
	return left, errors.Join(errs...)
}

// queuedCreators returns who created the streams that wait for a slot, by the id of the stream. The creator of a stream
// never changes, so it is read once. The caller has the token of a look.
func (n *Node) queuedCreators(ctx context.Context, active []stream.State) (map[string]string, error) {
	creators := map[string]string{}
	for _, st := range active {
		if st.Status != stream.Queued {
			continue
		}
		creator, known := n.queued[st.ID]
		if !known {
			var err error
			if _, creator, err = n.Commands.OriginOf(ctx, fold.Stream.Stream(st.ID)); err != nil {
				return nil, err
			}
		}
		creators[st.ID] = creator
	}
	n.queued = creators
	return creators, nil
}

// refusedSince returns why a stream that ended before it was live was refused, or nil.
func (n *Node) refusedSince(ctx context.Context, st stream.State) (*fault.Fault, error) {
	if st.Reason != stream.Failed || st.LiveAt != nil {
		return nil, nil
	}
	_, creator, err := n.Commands.OriginOf(ctx, fold.Stream.Stream(st.ID))
	if err != nil {
		return nil, err
	}
	restricted, err := n.Read.RestrictedAccounts(ctx, []string{st.AccountID})
	if err != nil {
		return nil, err
	}
	keys, err := n.Read.KeysOf(ctx, []string{creator})
	if err != nil {
		return nil, err
	}
	key, known := keys[creator]
	return n.refusal(restricted[st.AccountID], key, known), nil
}

// refusal returns why a stream may not go on, or nil. known is false for a stream of a signed-in person.
func (n *Node) refusal(restricted bool, key account.Key, known bool) *fault.Fault {
	switch {
	case restricted:
		return fault.New(fault.AccountRestricted, "")
	case known:
		return fault.Of(n.CheckKey(key))
	}
	return nil
}

// creator returns who created a stream that this term runs.
func (t *term) creator(streamID string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.creators[streamID]
}
