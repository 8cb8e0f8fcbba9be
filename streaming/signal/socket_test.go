package signal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
	"vqa/streaming/signal"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	s := n.open()
	c := n.join()

	c.send(`{"type":"ice","candidate":{"candidate":"early","sdpMid":"0"}}`)
	c.send(`{"type":"offer","sdp":"o1"}`)
	require.Equal(t, message.Answer{SDP: "answer to o1"}, c.next())
	c.send(`{"type":"ice","candidate":null,"errors":[{"url":"turn:a","errorCode":701}]}`)
	s.send(message.Live{LiveStartedAt: time.Unix(1, 0).UTC()})
	require.Equal(t, message.Live{LiveStartedAt: time.Unix(1, 0).UTC()}, c.next())
	s.send(message.Result{Seq: 1, Detections: []stream.Detection{}})
	require.Equal(t, message.Result{Seq: 1, Detections: []stream.Detection{}}, c.next())
	c.send(`{"type":"update_prompt","prompt":"Is there a cat?"}`)
	require.Equal(t, "Is there a cat?", c.next().(message.PromptUpdated).Prompt)
	c.send(`{"type":"ping"}`)
	require.Equal(t, message.Pong{}, c.next())
	c.send(`{"type":"join"}`) // repeated
	require.Equal(t, ready(), c.next())
	c.send(`{"type":"end"}`)
	require.Equal(t, message.ServerEnd{Reason: stream.Completed}, c.next())
	c.closed(websocket.StatusNormalClosure, "completed")

	wait(t, "the session is left", func() bool { return read(s, func() int { return s.sockets }) == 0 })
	require.Equal(t, 1, s.joins)
	require.Equal(t, []string{"signaling o1"}, s.offers)
	require.Equal(t, []message.Candidate{{Candidate: "early", SDPMid: new("0")}, {}}, s.candidates)
	require.Equal(t, []message.ICEError{{URL: "turn:a", Code: 701}}, s.reports)
	require.Empty(t, s.queues)
}

func TestTheServiceEndsTheStream(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	s := n.open()
	c := n.join()
	s.finish(stream.Timeout)
	require.Equal(t, message.ServerEnd{Reason: stream.Timeout}, c.next())
	c.closed(websocket.StatusNormalClosure, "timeout")
}

func TestEndedBeforeTheSocket(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.streams.put(streamID, signal.Place{Ended: stream.ICEFailed})
	c := n.dial()
	c.send(`{"type":"join"}`)
	require.Equal(t, message.ServerEnd{Reason: stream.ICEFailed}, c.next())
	c.closed(websocket.StatusNormalClosure, "ice_failed")
}

// TestRefusedInTheQueue: a client that waits for a slot learns why its stream ends without one.
func TestRefusedInTheQueue(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 1}})
	c, next := n.dial(), n.events("")
	c.send(`{"type":"join"}`)
	require.Equal(t, message.Queued{Position: 1}, c.next())
	require.Contains(t, next(), "event: queued")
	n.streams.put(streamID, signal.Place{Ended: stream.Failed, Refused: fault.New(fault.AccountRestricted, "")})
	require.Equal(t, fault.AccountRestricted, c.next().(message.Error).Code)
	require.Equal(t, message.ServerEnd{Reason: stream.Failed}, c.next())
	c.closed(websocket.StatusNormalClosure, "error")
	require.Contains(t, next(), `"code":"account_restricted"`)
	require.Contains(t, next(), `"reason":"error"`)
}

func TestClosingTheSocketLeavesTheStream(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	s := n.open()
	for range 3 {
		c := n.join()
		require.NoError(t, c.conn.Close(websocket.StatusNormalClosure, ""))
		wait(t, "the session is left", func() bool { return read(s, func() int { return s.sockets }) == 0 })
	}
	require.False(t, s.over())
	require.Equal(t, 3, s.joins)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 2, EstimatedStartS: new(30)}})
	c := n.dial()
	c.send(`{"type":"ping"}`)
	require.Equal(t, message.Pong{}, c.next())
	c.send(`{"type":"join"}`)
	require.Equal(t, message.Queued{Position: 2, EstimatedStartS: new(30)}, c.next())
	c.send(`{"type":"offer","sdp":"o"}`)
	c.refused(fault.ResourceConflict, "Wait for the message ready")
	c.send(`{"type":"ping"}`)
	require.Equal(t, message.Pong{}, c.next())
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 1}})
	require.Equal(t, message.Queued{Position: 1}, c.next())
	n.streams.put(streamID, signal.Place{}) // it has an owner, which opens it
	n.open()
	require.Equal(t, ready(), c.next())
}

func TestEndInTheQueue(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 1}})
	c := n.dial()
	c.send(`{"type":"join"}`)
	require.Equal(t, message.Queued{Position: 1}, c.next())
	c.send(`{"type":"end"}`)
	require.Equal(t, message.ServerEnd{Reason: stream.Canceled}, c.next())
	c.closed(websocket.StatusNormalClosure, "canceled")
}

// TestTheSessionMoves ends a session without an end of its stream, and opens another one.
func TestTheSessionMoves(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	s := n.open()
	c := n.join()
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 1}})
	s.finish("")
	require.Equal(t, message.Queued{Position: 1}, c.next())
	n.open()
	require.Equal(t, ready(), c.next())
	c.send(`{"type":"offer","sdp":"o2"}`)
	require.Equal(t, message.Answer{SDP: "answer to o2"}, c.next())
}

func TestAPlaceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.streams.put(streamID, signal.Place{})
	c := n.dial()
	n.streams.fail(errors.New("the database is away"))
	c.send(`{"type":"join"}`)
	n.streams.fail(nil)
	n.open()
	require.Equal(t, ready(), c.next())

	n = newNode(t, func(o *signal.Options) { o.Lost = 20 * time.Millisecond })
	n.streams.put(streamID, signal.Place{})
	c = n.dial()
	n.streams.fail(errors.New("the database is away"))
	c.send(`{"type":"join"}`)
	c.refused(fault.DBUnavailable, "cannot be reached")
	c.closed(websocket.StatusTryAgainLater, "cannot be reached")
}

func TestRefusedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(o *signal.Options) { o.Total = 1 })
	require.Equal(t, http.StatusNotFound, n.refusal())
	n.open()
	for name, header := range map[string]http.Header{
		"no upgrade":    {},
		"another":       {"Connection": {"Upgrade"}, "Upgrade": {"h2c"}},
		"no key":        {"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}},
		"a short key":   {"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"eA=="}},
		"an old client": {"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"8"}, "Sec-Websocket-Key": {"eHh4eHh4eHh4eHh4eHh4eA=="}},
	} {
		status, body, _ := n.request(http.MethodGet, "signal", "", header)
		require.Equal(t, http.StatusBadRequest, status, name)
		require.Contains(t, body, "validation_failed", name)
	}
	n.join()
	require.Equal(t, http.StatusServiceUnavailable, n.refusal())
}

// refusal returns the status of a socket that is refused.
func (n *node) refusal() int {
	n.t.Helper()
	_, response, err := websocket.Dial(n.t.Context(), n.url("signal"), nil) //nolint:bodyclose // the library closes it
	require.Error(n.t, err)
	return response.StatusCode
}

// request sends a request of a stream and returns its response.
func (n *node) request(method, operation, body string, header http.Header) (int, string, http.Header) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, n.url(operation), strings.NewReader(body))
	require.NoError(n.t, err)
	for name, values := range header {
		r.Header[name] = values
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(n.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(n.t, err)
	return response.StatusCode, string(text), response.Header
}

func TestANewerSocketReplacesTheOldest(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(o *signal.Options) { o.PerStream = 2 })
	s := n.open()
	first, second := n.join(), n.join()
	third := n.join()
	first.refused(fault.ResourceConflict, "replaced")
	first.closed(4001, "newer")
	for _, c := range []*client{second, third} {
		c.send(`{"type":"ping"}`)
		require.Equal(t, message.Pong{}, c.next())
	}
	wait(t, "the first is left", func() bool { return read(s, func() int { return s.sockets }) == 2 })
}

func TestErrorsOfTheSession(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	s := n.open()
	s.answer = func(string) (string, error) { return "", fault.New(fault.ValidationFailed, "no usable codec") }
	c := n.join()
	for i := range 12 { // an error of the session is not a malformed message
		c.send(fmt.Sprintf(`{"type":"offer","sdp":"%d"}`, i))
		c.refused(fault.ValidationFailed, "no usable codec")
	}
	c.send(`{"type":"update_prompt","prompt":"broken"}`)
	m := c.next().(message.Error)
	require.Equal(t, fault.InternalError, m.Code)
	require.NotContains(t, m.Message, "secret")
}

func TestCloseOfTheServer(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	s := n.open()
	c := n.join()
	closed := make(chan error, 1)
	go func() { closed <- n.server.Close(context.WithoutCancel(t.Context())) }()
	c.closed(websocket.StatusServiceRestart, "shutting down")
	require.NoError(t, <-closed)
	require.False(t, s.over())
	require.Equal(t, http.StatusServiceUnavailable, n.refusal())
}
