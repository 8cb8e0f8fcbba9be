package signal_test

import (
	"net/http"
	"net/http/httputil"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
	"vqa/streaming/signal"
)

func TestPassedOn(t *testing.T) {
	t.Parallel()
	owner, door := newNode(t, nil), newNode(t, nil)
	s := owner.open()
	door.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 1}})
	c := door.dial()
	c.send(`{"type":"join"}`)
	require.Equal(t, message.Queued{Position: 1}, c.next())
	door.streams.put(streamID, signal.Place{Node: owner.http.URL}) // the owner appears later
	require.Equal(t, ready(), c.next())
	owner.keptNo(t, "svcct_x")
	c.send(`{"type":"offer","sdp":"o"}`)
	require.Equal(t, message.Answer{SDP: "answer to o"}, c.next())
	s.send(message.Warning{RemainingS: 60})
	require.Equal(t, message.Warning{RemainingS: 60}, c.next())
	c.send(`{"type":"x"}`)
	c.refused(fault.ValidationFailed, "type: must be one of")
	c.send(`{"type":"end"}`)
	require.Equal(t, message.ServerEnd{Reason: stream.Completed}, c.next())
	c.closed(websocket.StatusNormalClosure, "completed")
	wait(t, "the owner is left", func() bool { return read(s, func() int { return s.sockets }) == 0 })
}

// keptNo requires that the latest request to a node has no credential.
func (n *node) keptNo(t *testing.T, credential string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	sent, err := httputil.DumpRequest(n.last, false)
	require.NoError(t, err)
	require.NotContains(t, string(sent), credential)
	require.NotEmpty(t, n.last.Header.Get(signal.PassedOn))
}

// TestNoCredentialIsPassedOn sends credentials in each place where a request can have one.
func TestNoCredentialIsPassedOn(t *testing.T) {
	t.Parallel()
	owner, door := newNode(t, nil), newNode(t, nil)
	owner.open()
	door.streams.put(streamID, signal.Place{Node: owner.http.URL})
	for operation, method := range map[string]string{"whip": http.MethodPost, "events?token=svcct_x": http.MethodGet} {
		header := http.Header{
			"Authorization": {"Bearer svcct_x"}, "Cookie": {"vqa_session=svcct_x"}, "Proxy-Authorization": {"svcct_x"}, "X-Api-Key": {"svcct_x"},
			"Content-Type": {"application/sdp"}, "Last-Event-Id": {"x"},
		}
		door.request(method, operation, "", header)
		owner.keptNo(t, "svcct_x")
	}
}

// TestTheOwnerGoesAway closes the owner of a stream. Another node gets it.
func TestTheOwnerGoesAway(t *testing.T) {
	t.Parallel()
	first, second, door := newNode(t, nil), newNode(t, nil), newNode(t, nil)
	first.open()
	door.streams.put(streamID, signal.Place{Node: first.http.URL})
	c := door.dial()
	c.send(`{"type":"join"}`)
	require.Equal(t, ready(), c.next())
	s := second.open()
	door.streams.put(streamID, signal.Place{Node: second.http.URL})
	require.NoError(t, first.server.Close(t.Context()))
	require.Equal(t, ready(), c.next())
	c.send(`{"type":"offer","sdp":"o"}`)
	require.Equal(t, message.Answer{SDP: "answer to o"}, c.next())
	require.NoError(t, c.conn.CloseNow())
	wait(t, "the owner is left", func() bool { return read(s, func() int { return s.sockets }) == 0 })
}

// TestNodesThatDisagree each take the other one for the owner.
func TestNodesThatDisagree(t *testing.T) {
	t.Parallel()
	a := newNode(t, func(o *signal.Options) { o.Lost = 100 * time.Millisecond })
	b := newNode(t, nil)
	a.streams.put(streamID, signal.Place{Node: b.http.URL})
	b.streams.put(streamID, signal.Place{Node: a.http.URL})
	c := a.dial()
	c.send(`{"type":"join"}`)
	c.refused(fault.DBUnavailable, "cannot be reached")
	c.closed(websocket.StatusTryAgainLater, "")

	for _, operation := range []string{"whip", "events"} {
		method := map[string]string{"whip": http.MethodPost, "events": http.MethodGet}[operation]
		status, body, _ := a.request(method, operation, "v=0", http.Header{"Content-Type": {"application/sdp"}})
		require.Equal(t, http.StatusServiceUnavailable, status, body)
		require.Contains(t, body, "moving to another node")
	}
}

func TestAnOwnerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	door := newNode(t, func(o *signal.Options) { o.Lost = 50 * time.Millisecond })
	door.streams.put(streamID, signal.Place{Node: "http://127.0.0.1:1"})
	c := door.dial()
	c.send(`{"type":"join"}`)
	c.refused(fault.DBUnavailable, "cannot be reached")
	c.closed(websocket.StatusTryAgainLater, "")
	status, body, _ := door.request(http.MethodPost, "whip", "v=0", http.Header{"Content-Type": {"application/sdp"}})
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "db_unavailable")
}

// TestTheOwnerClosesForAReason passes the reason on.
func TestTheOwnerClosesForAReason(t *testing.T) {
	t.Parallel()
	owner, door := newNode(t, func(o *signal.Options) { o.PerStream = 1 }), newNode(t, nil)
	owner.open()
	door.streams.put(streamID, signal.Place{Node: owner.http.URL})
	c := door.dial()
	c.send(`{"type":"join"}`)
	require.Equal(t, ready(), c.next())
	owner.join()
	c.refused(fault.ResourceConflict, "replaced")
	c.closed(4001, "newer")
}
