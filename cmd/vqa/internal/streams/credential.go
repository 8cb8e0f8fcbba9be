package streams

import (
	"context"
	"errors"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/eventstore/fold"
	"vqa/streaming/live"
)

// revoke ends the streams of this node that refusals refuses. Otherwise a thief of a credential could go on for the
// longest session, at the cost of its owner.
func (n *Node) revoke(ctx context.Context, t *term) error {
	sessions := t.host.Sessions()
	if len(sessions) == 0 {
		return nil
	}
	states, creators := make([]stream.State, len(sessions)), make([]string, len(sessions))
	for i, s := range sessions {
		states[i], creators[i] = s.State(), t.creator(s.ID())
	}
	refused, err := n.refusals(ctx, states, creators)
	if err != nil {
		return err
	}
	for i, s := range sessions {
		if refused[i] != nil && states[i].Status != stream.EndedStatus {
			s.Revoke(refused[i])
		}
	}
	return nil
}

// revokeQueued ends the streams without a slot that would be ended with one, and returns the others. All nodes do
// this: the first one ends a stream.
func (n *Node) revokeQueued(ctx context.Context, active []stream.State) (left []stream.State, err error) {
	known, err := n.queuedCreators(ctx, active)
	if err != nil || len(known) == 0 {
		return active, err
	}
	var queued []stream.State
	var creators []string
	for _, st := range active {
		if creator, waits := known[st.ID]; waits {
			queued, creators = append(queued, st), append(creators, creator)
			continue
		}
		left = append(left, st)
	}
	refused, err := n.refusals(ctx, queued, creators)
	if err != nil {
		return active, err
	}
	var errs []error
	for i, st := range queued {
		if refused[i] == nil {
			left = append(left, st)
			continue
		}
		errs = append(errs, n.sweep(ctx, st, live.Refused(refused[i])))
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
	refused, err := n.refusals(ctx, []stream.State{st}, []string{creator})
	if err != nil {
		return nil, err
	}
	return refused[0], nil
}

// refusals returns for each stream with its creator why it may not go on, or nil: its account is restricted, or the
// credential behind it does not authenticate any more. That is the key or the session that created the stream, or the
// key that minted the client token which created it. The end of a session of another issuer is not known.
func (n *Node) refusals(ctx context.Context, all []stream.State, creators []string) ([]*fault.Fault, error) {
	accounts := make([]string, len(all))
	for i, st := range all {
		accounts[i] = st.AccountID
	}
	restricted, err := n.Read.RestrictedAccounts(ctx, accounts)
	if err != nil {
		return nil, err
	}
	credentials, err := n.Read.CredentialsOf(ctx, creators)
	if err != nil {
		return nil, err
	}
	refused := make([]*fault.Fault, len(all))
	for i := range all {
		switch c, known := credentials[creators[i]]; {
		case restricted[accounts[i]]:
			refused[i] = fault.New(fault.AccountRestricted, "")
		case !known || c.Session.Active(n.Now()):
		case c.Session.Exists():
			refused[i] = fault.New(fault.InvalidAPIKey, "The session that started the stream has ended. Sign in again.")
		default:
			refused[i] = fault.Of(n.CheckKey(c.Key))
		}
	}
	return refused, nil
}

// creator returns who created a stream that this term runs.
func (t *term) creator(streamID string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.creators[streamID]
}
