package streams

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/handlers/httpapi"
	"vqa/streaming/signal"
)

var _ httpapi.LiveStreams = (*Node)(nil)

// Socket implements httpapi.LiveStreams.
func (n *Node) Socket(w http.ResponseWriter, r *http.Request, streamID string) error {
	return n.signal.Socket(w, r, streamID)
}

// Forward implements httpapi.LiveStreams.
func (n *Node) Forward(w http.ResponseWriter, r *http.Request, node string) error {
	return n.signal.Forward(w, r, node)
}

// WHIP implements httpapi.LiveStreams.
func (n *Node) WHIP(w http.ResponseWriter, r *http.Request, streamID string) error {
	return n.signal.WHIP(w, r, streamID)
}

// Events implements httpapi.LiveStreams.
func (n *Node) Events(w http.ResponseWriter, r *http.Request, streamID string) error {
	return n.signal.Events(w, r, streamID)
}

// ICEServers implements httpapi.LiveStreams.
func (n *Node) ICEServers(_ context.Context, st stream.State) []httpapi.ICEServer {
	if st.Node == "" {
		return nil
	}
	servers := []httpapi.ICEServer{}
	for _, s := range n.iceServers(st) {
		servers = append(servers, httpapi.ICEServer(s))
	}
	return servers
}

// endTimeout bounds an end at the owner.
const endTimeout = 5 * time.Second

// End implements httpapi.LiveStreams.
func (n *Node) End(r *http.Request, st stream.State) (done bool, err error) {
	if st.Status != stream.Live && st.Status != stream.Ready {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), endTimeout)
	defer cancel()
	if t := n.current(); t != nil && t.lease.Incarnation() == st.Node {
		s, running := t.host.Session(st.ID)
		if !running {
			return false, nil
		}
		if err := s.End(ctx); err != nil {
			if fault.Of(err) == nil {
				err = fault.New(fault.DBUnavailable, "The end of the stream is not recorded yet. Try again in 1 second.").WithRetryAfter(1).WithCause(err)
			}
			return false, err
		}
		return true, nil
	}
	if r.Header.Get(signal.PassedOn) != "" {
		return false, moving()
	}
	err = n.endAtOwner(ctx, r, st)
	if err == nil {
		return true, nil
	}
	n.Log.WarnContext(ctx, "cannot end a stream at its node", "stream_id", st.ID, "node", st.Node, "error", err)
	return false, n.ownerless(r.Context(), st)
}

// ownerless returns nil when the owner of a stream is dead. A living one alone may end a stream that is live:
// otherwise a client could choose to pay for nothing after the last heartbeat. Error: capacity_exhausted.
func (n *Node) ownerless(ctx context.Context, st stream.State) error {
	if st.Status != stream.Live {
		return nil
	}
	alive, err := n.Presence.Alive(ctx)
	if err == nil && alive(st.Node) {
		err = moving()
	}
	return err
}

func moving() error {
	return fault.New(fault.CapacityExhausted, "The node of the stream does not answer. Try again in 1 second.").WithRetryAfter(1)
}

// endAtOwner sends the request of the client to the owner.
func (n *Node) endAtOwner(ctx context.Context, r *http.Request, st stream.State) error {
	address, err := n.ownerAddress(ctx, st.ID)
	if err != nil {
		return err
	}
	if address == "" {
		return fmt.Errorf("node %s has announced no address", st.Node)
	}
	target := address + r.URL.EscapedPath()
	passed, err := http.NewRequestWithContext(ctx, http.MethodPost, target, nil) //nolint:gosec // a node announced the address
	if err == nil {
		err = n.Sign(passed.Header, r, passed.Method, target)
	}
	if err != nil {
		return err
	}
	response, err := n.Client.Do(passed) //nolint:gosec // as before
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the node answered with status %d", response.StatusCode)
	}
	return nil
}
