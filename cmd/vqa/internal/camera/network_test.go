package camera_test

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/camera"
	"vqa/domain/stream"
	"vqa/streaming/message"
)

// link passes the packets of a client to the media port and back, until it is cut. Its other end is another address
// for the service.
type link struct {
	front, back net.PacketConn
	off         atomic.Bool
	client      atomic.Pointer[net.Addr]
}

func newLink(t testing.TB, service netip.AddrPort) *link {
	t.Helper()
	l := &link{}
	var err error
	l.front, err = net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	l.back, err = net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = l.front.Close(), l.back.Close() })
	go l.pass(l.front, func(b []byte, from net.Addr) {
		l.client.Store(&from)
		_, _ = l.back.WriteTo(b, net.UDPAddrFromAddrPort(service))
	})
	go l.pass(l.back, func(b []byte, _ net.Addr) {
		if client := l.client.Load(); client != nil {
			_, _ = l.front.WriteTo(b, *client)
		}
	})
	return l
}

func (l *link) pass(from net.PacketConn, on func([]byte, net.Addr)) {
	for buffer := make([]byte, 2048); ; {
		n, source, err := from.ReadFrom(buffer)
		if err != nil {
			return
		}
		if !l.off.Load() {
			on(buffer[:n], source)
		}
	}
}

func (l *link) port() int { return l.front.LocalAddr().(*net.UDPAddr).Port }

// TestTheNetworkChanges cuts the way of the video for good, twice. Each time ICE finds another one, and the
// stream goes on. The second time, the socket is cut too.
func TestTheNetworkChanges(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var current atomic.Pointer[link]
	s.through = func() *link {
		l := newLink(t, s.peers.Media())
		current.Store(l)
		return l
	}
	seqs, cuts, back := []int64{}, 0, 0
	out := run(t.Context(), t, s, func(o *camera.Options) {
		o.Source = clip(t, 15*25)
		inner := o.Received
		o.Received = func(r camera.Received) {
			inner(r)
			m, is := r.Message.(message.Result)
			if !is {
				return
			}
			seqs = append(seqs, m.Seq)
			if m.Seq < 3 || cuts == 2 || cuts > back {
				return
			}
			cuts++
			current.Load().off.Store(true)
			if cuts == 2 {
				s.mu.Lock()
				s.cutAfter = int(m.Seq)
				s.mu.Unlock()
			}
		}
		told := o.Notice
		o.Notice = func(text string) {
			told(text)
			if text == "the connection for the video is back" {
				back++
			}
		}
	})
	require.NoError(t, out.err)
	require.Equal(t, stream.Completed, out.reason)
	s.mu.Lock()
	defer s.mu.Unlock()
	offers := 0
	for _, m := range s.received {
		if m == "offer" {
			offers++
		}
	}
	require.GreaterOrEqual(t, offers, 3, "each cut needs another offer")
	require.Equal(t, 2, s.sockets)
	require.Equal(t, 2, back, "%v", out.told)
	require.Greater(t, len(seqs), 12)
	for i := range seqs[1:] {
		require.Greater(t, seqs[i+1], seqs[i])
	}
	require.Equal(t, 1, countKeys(s), "one connection: the times of the pictures go on")
}

// countKeys returns how often the times of the pictures begin again, plus one.
func countKeys(s *service) int {
	n := 1
	for i := range s.pictures[1:] {
		if s.pictures[i+1].Time <= s.pictures[i].Time {
			n++
		}
	}
	return n
}

// TestTheNetworkIsGone: a service that ends the stream of a client without a connection is not a success.
func TestTheNetworkIsGone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var current atomic.Pointer[link]
	s.through = func() *link {
		l := newLink(t, s.peers.Media())
		l.off.Store(current.Swap(l) != nil) // only the first one works
		return l
	}
	s.endReason = stream.Completed
	out := run(t.Context(), t, s, func(o *camera.Options) {
		o.Source, o.Loop = clip(t, 15), true
		inner := o.Received
		o.Received = func(r camera.Received) {
			inner(r)
			if m, is := r.Message.(message.Result); is && m.Seq == 2 {
				current.Load().off.Store(true)
			}
		}
		told := o.Notice
		o.Notice = func(text string) {
			told(text)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.endAfter = 1 // as after the grace window
		}
	})
	require.ErrorContains(t, out.err, "was lost and did not come back")
}
