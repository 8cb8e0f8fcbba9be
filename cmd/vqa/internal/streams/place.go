package streams

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"vqa/domain/stream"
	"vqa/handlers/command"
	"vqa/projections/resources"
	"vqa/streaming/message"
	"vqa/streaming/peer"
	"vqa/streaming/signal"
)

// places says where streams are.
type places struct{ node *Node }

// Place implements signal.Streams.
func (p places) Place(ctx context.Context, streamID string) (signal.Place, error) {
	st, err := p.node.Read.StreamByID(ctx, streamID)
	if err != nil {
		return signal.Place{}, err
	}
	switch st.Status {
	case stream.EndedStatus:
		refused, err := p.node.refusedSince(ctx, st)
		return signal.Place{Ended: st.Reason, Refused: refused}, err
	case stream.Queued:
		return p.queued(ctx, st)
	case stream.Ready, stream.Live: // it has an owner
	}
	t := p.node.current()
	if t == nil || t.lease.Incarnation() != st.Node {
		address, err := p.node.ownerAddress(ctx, streamID)
		return signal.Place{Node: address}, err
	}
	s, running := t.host.Session(streamID)
	if !running {
		return signal.Place{}, nil // it is being opened, or it has just ended
	}
	ready := message.Ready{
		ICEServers: []message.ICEServer{},
		Limits:     message.Limits{MaxSessionS: st.MaxSessionSeconds, WarnAtRemainingS: st.WarnAtSeconds},
	}
	for _, server := range p.node.iceServers(st) {
		ready.ICEServers = append(ready.ICEServers, message.ICEServer(server))
	}
	return signal.Place{Session: signal.Live(s), Ready: ready}, nil
}

func (p places) queued(ctx context.Context, st stream.State) (signal.Place, error) {
	place, err := p.node.Read.Stream(ctx, resources.Tenant{AccountID: st.AccountID, Livemode: st.Livemode}, st.ID)
	if err != nil || place.QueuePosition == nil {
		return signal.Place{}, err // it got its slot in between
	}
	return signal.Place{Queued: &message.Queued{Position: *place.QueuePosition, EstimatedStartS: place.EstimatedStartS}}, nil
}

// ownerAddress returns the base URL of the node that owns a stream, or "". The owner is that of the log, whose events have
// MACs: a writer of the read model could name another node.
func (n *Node) ownerAddress(ctx context.Context, streamID string) (string, error) {
	st, _, err := n.Commands.StreamState(ctx, streamID)
	if err != nil {
		return "", err
	}
	return n.Presence.Address(ctx, st.Node)
}

// End implements signal.Streams.
func (p places) End(ctx context.Context, streamID string) error {
	st, err := p.node.Read.StreamByID(ctx, streamID)
	if err != nil {
		return err
	}
	if err := p.node.ownerless(ctx, st); err != nil {
		return err
	}
	run := command.StreamRun{AccountID: st.AccountID, StreamID: st.ID, Actor: "live"}
	_, _, err = p.node.Commands.ChangeStream(ctx, run, stream.End{})
	return err
}

// credentialMargin is how much longer than the longest session the credentials of the relay work.
const credentialMargin = time.Hour

// iceServers returns the servers for the client of a stream with an owner. The credentials of a relay work with its
// own node only.
func (n *Node) iceServers(st stream.State) []peer.ICEServer {
	servers := n.Media.ICEServers
	if t := n.current(); t == nil || t.lease.Incarnation() != st.Node {
		servers = n.Media.ExternalServers
	}
	return servers(n.relayOf(st), n.MaxSession+credentialMargin, st.Livemode)
}

// relayOf returns the id of the client of a stream at the TURN server. Streams of an account share it, because
// credentials outlive their stream.
func (n *Node) relayOf(st stream.State) string { return "stream-" + n.hidden(st.AccountID) }

// hidden returns a name for an account that does not show its id to clients.
func (n *Node) hidden(accountID string) string {
	m := hmac.New(sha256.New, n.PreflightKey)
	m.Write([]byte("relay\n" + accountID))
	return hex.EncodeToString(m.Sum(nil)[:8])
}
