package signal_test

import (
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
	"vqa/streaming/signal"
)

var connects = flag.Int("signal.connects", 300, "connects and drops of TestConnectsAndDrops")

func TestTenMalformedMessages(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.open()
	c := n.join()
	bad := func(times int) {
		for range times {
			c.send(`{"type":"offer"}`)
			c.refused(fault.ValidationFailed, "sdp: is required")
		}
	}
	bad(9)
	c.send(`{"type":"ping"}`) // the count starts again
	require.Equal(t, message.Pong{}, c.next())
	bad(9)
	require.NoError(t, c.conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)))
	c.refused(fault.ValidationFailed, "text messages")
	c.closed(websocket.StatusPolicyViolation, "malformed")
}

func TestMalformedBeforeJoinAndInTheQueue(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.streams.put(streamID, signal.Place{Queued: &message.Queued{Position: 1}})
	for _, first := range []string{`{"type":"ping"}`, `{"type":"join"}`} {
		c := n.dial()
		c.send(first)
		c.next()
		for range 10 {
			c.send(`x`)
			c.refused(fault.ValidationFailed, "not valid JSON")
		}
		c.closed(websocket.StatusPolicyViolation, "malformed")
	}
}

func TestJoinComesFirstAndSoon(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	s := n.open()
	c := n.dial()
	for _, text := range []string{`{"type":"offer","sdp":"x"}`, `{"type":"end"}`, `{"type":"ice","candidate":null}`, `{"type":"update_prompt","prompt":"x"}`} {
		c.send(text)
		c.refused(fault.ValidationFailed, "join first")
	}
	require.Zero(t, read(s, func() int { return s.joins + len(s.offers) + len(s.candidates) }))
	require.False(t, s.over())

	n = newNode(t, func(o *signal.Options) { o.Join = 20 * time.Millisecond })
	n.open()
	c = n.dial()
	c.refused(fault.ValidationFailed, "join")
	c.closed(websocket.StatusPolicyViolation, "no join")
}

func TestLongMessages(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	n.open()
	c := n.join()
	c.send(`{"type":"offer","sdp":"` + strings.Repeat("x", 60<<10) + `"}`)
	require.Len(t, c.next().(message.Answer).SDP, 60<<10+len("answer to "))
	c.send(`{"type":"ping","x":"` + long + `"}`)
	c.refused(fault.ValidationFailed, "at most 4096 bytes")
	c.send(`{"type":"offer","sdp":"` + strings.Repeat("x", message.MaxOffer) + `"}`)
	c.closed(websocket.StatusMessageTooBig, "")
}

func TestTooManyMessages(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0) // the time does not pass, so nothing is refilled
	n := newNode(t, func(o *signal.Options) { o.Burst = 20; o.Now = func() time.Time { return now } })
	n.open()
	c := n.join()
	for range 19 {
		c.send(`{"type":"ping"}`)
		require.Equal(t, message.Pong{}, c.next())
	}
	c.send(`{"type":"ping"}`)
	c.refused(fault.RateLimitExceeded, "Too many messages")
	c.closed(websocket.StatusPolicyViolation, "too many messages")
}

// TestMessagesFasterThanTheirCalls sends messages while the session does not answer an offer.
func TestMessagesFasterThanTheirCalls(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(o *signal.Options) { o.Burst = 10; o.Rate = 1e6 })
	s := n.open()
	hold := make(chan struct{})
	s.answer = func(string) (string, error) { <-hold; return "", nil }
	c := n.join()
	for range 12 {
		c.send(`{"type":"offer","sdp":"x"}`)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(hold) })
	c.closed(websocket.StatusPolicyViolation, "too many messages")
}

// TestAClientThatDoesNotRead sends results until the connection is full.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(o *signal.Options) { o.Write = 50 * time.Millisecond })
	s := n.open()
	n.join()
	big := message.Result{Seq: 1, Detections: []stream.Detection{{Term: strings.Repeat("x", 1<<20)}}}
	wait(t, "the client is cut off", func() bool {
		if read(s, func() int { return s.sockets }) == 0 {
			return true
		}
		if read(s, func() int {
			most := 0
			for q := range s.queues {
				most = max(most, len(q.out))
			}
			return most
		}) < 10 {
			s.send(big)
		}
		return false
	})
	require.False(t, s.over())
}

// TestALostClient is about a client that is gone without a word: it does not answer pings.
func TestALostClient(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(o *signal.Options) { o.Ping, o.Pong = 10*time.Millisecond, 50*time.Millisecond })
	s := n.open()
	n.join() // and does not read again, so that no pong is sent
	wait(t, "the client is cut off", func() bool { return read(s, func() int { return s.sockets }) == 0 })
}

func TestALateSubscriptionIsCutOff(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil)
	s := newSession()
	n.streams.put(streamID, signal.Place{Session: slowSession{s}, Ready: ready()})
	c := n.join()
	c.refused(fault.RateLimitExceeded, "too slowly")
	c.closed(websocket.StatusPolicyViolation, "too slow")
}

// slowSession says that its subscribers are too slow.
type slowSession struct{ *session }

func (s slowSession) Subscribe(int64) signal.Subscription { return slowQueue{} }

type slowQueue struct{}

func (slowQueue) Next(context.Context) (message.Server, error) {
	return nil, fault.New(fault.InternalError, "slow")
}
func (slowQueue) Close() {}

// TestConnectsAndDrops opens and drops sockets in every state, and checks that nothing is left behind.
func TestConnectsAndDrops(t *testing.T) {
	n := newNode(t, func(o *signal.Options) { o.PerStream = 8 })
	s := n.open()
	n.streams.put("st_queued", signal.Place{Queued: &message.Queued{Position: 1}})
	other := newNode(t, func(o *signal.Options) { o.PerStream = 8 })
	other.streams.put(streamID, signal.Place{Node: n.http.URL})
	drop := func(i int) {
		from, path := n, "/v1/streams/"+streamID+"/signal"
		switch i % 5 {
		case 3:
			path = "/v1/streams/st_queued/signal"
		case 4:
			from = other
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, _, err := websocket.Dial(ctx, from.http.URL+path, nil) //nolint:bodyclose // the library closes it
		require.NoError(t, err)
		if i%5 == 0 {
			_ = conn.CloseNow() // before join
			return
		}
		require.NoError(t, conn.Write(ctx, websocket.MessageText, []byte(`{"type":"join"}`)))
		_, _, err = conn.Read(ctx)
		require.NoError(t, err)
		if i%2 == 0 {
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return
		}
		_ = conn.CloseNow()
	}
	settled := func() (goroutines, files int) {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		runtime.GC()
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return runtime.NumGoroutine(), len(list)
	}
	for i := range 10 {
		drop(i)
	}
	wait(t, "the first sockets are left", func() bool { return read(s, func() int { return s.sockets }) == 0 })
	before, files := settled()
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := w; i < *connects; i += 4 {
				drop(i)
			}
		})
	}
	workers.Wait()
	wait(t, "all sockets are left", func() bool { return read(s, func() int { return s.sockets }) == 0 })
	wait(t, "nothing is left behind", func() bool { g, f := settled(); return g <= before+2 && f <= files+2 })
	require.Empty(t, read(s, func() map[*queue]bool { return s.queues }))
	require.False(t, s.over())
}

// TestRawConnections sends bytes that are not a WebSocket after the upgrade, and half of a frame.
func TestRawConnections(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(o *signal.Options) { o.Join = 100 * time.Millisecond })
	s := n.open()
	for name, tail := range map[string]string{
		"nothing": "", "text": "hello world", "half of a frame": "\x81\xfe\xff", "an unmasked frame": "\x81\x02hi",
		"reserved bits": "\xf1\x80\x00\x00\x00\x00", "a long control frame": "\x89\xfe\x01\x00\x00\x00\x00\x00",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", n.http.Listener.Addr().String())
		require.NoError(t, err)
		_, err = conn.Write([]byte("GET /v1/streams/" + streamID + "/signal HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n\r\n" + tail))
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		for buffer := make([]byte, 1024); ; {
			if _, err = conn.Read(buffer); err != nil {
				break
			}
		}
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, name)
		_ = conn.Close()
	}
	require.Zero(t, read(s, func() int { return s.joins }))
}
