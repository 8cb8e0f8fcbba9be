package streams

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/stream"
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
