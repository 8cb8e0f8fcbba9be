package peer_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/stun/v4"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

// narrow is a slow network between a client and the TCP port.
type narrow struct {
	listener net.Listener
	service  string
	// piece is the size of each write to the service, and pause the time after it.
	piece int
	pause time.Duration

	deaf    atomic.Bool // the client reads nothing from now on
	mu      sync.Mutex
	conns   []*net.TCPConn // to the service
	passing sync.WaitGroup
}

func newNarrow(t testing.TB, s *peer.Server, piece int, pause time.Duration) *narrow {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	n := &narrow{listener: listener, service: s.Media().String(), piece: piece, pause: pause}
	n.passing.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			n.passing.Go(func() { n.pass(client) })
		}
	})
	t.Cleanup(n.close)
	return n
}

func (n *narrow) close() {
	_ = n.listener.Close()
	n.mu.Lock()
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.mu.Unlock()
	n.passing.Wait()
}

// pass copies both ways until one of the connections ends.
func (n *narrow) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	dialed, err := net.Dial("tcp4", n.service)
	if err != nil {
		return
	}
	service := dialed.(*net.TCPConn)
	defer func() { _ = service.Close() }()
	_ = service.SetNoDelay(true)
	n.mu.Lock()
	n.conns = append(n.conns, service)
	n.mu.Unlock()
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() {
		defer func() { _ = client.Close() }()
		buffer := make([]byte, 1<<10)
		for !n.deaf.Load() {
			got, err := service.Read(buffer)
			if err != nil {
				return
			}
			if _, err := client.Write(buffer[:got]); err != nil {
				return
			}
		}
		for n.deaf.Load() && !closed(service) {
			time.Sleep(10 * time.Millisecond)
		}
	})
	buffer := make([]byte, n.piece)
	for {
		got, err := client.Read(buffer)
		if err != nil {
			return
		}
		if _, err := service.Write(buffer[:got]); err != nil {
			return
		}
		time.Sleep(n.pause)
	}
}

// closed reports whether this end of a connection was closed.
func closed(c *net.TCPConn) bool { return c.SetReadDeadline(time.Time{}) != nil }

// join connects a client to a peer over the network alone.
func (n *narrow) join(t testing.TB, c *client, p *peer.Peer) (answer string) {
	t.Helper()
	answer, err := p.Answer(t.Context(), c.offer(t, nil))
	require.NoError(t, err)
	answer = regexp.MustCompile(`a=candidate:.* udp .*\r\n`).ReplaceAllString(answer, "")
	_, own, err := net.SplitHostPort(n.listener.Addr().String())
	require.NoError(t, err)
	_, media, err := net.SplitHostPort(n.service)
	require.NoError(t, err)
	c.accept(t, strings.ReplaceAll(answer, fmt.Sprintf(" %s typ host tcptype", media), fmt.Sprintf(" %s typ host tcptype", own)))
	return answer
}

// ask sends many checks to the service, each of which it answers. The client of the network has the credentials.
func (n *narrow) ask(t testing.TB, user, password string, count int) {
	t.Helper()
	m, err := stun.Build(stun.TransactionID, stun.BindingRequest, stun.NewUsername(user), stun.NewShortTermIntegrity(password), stun.Fingerprint)
	require.NoError(t, err)
	packet := append(binary.BigEndian.AppendUint16(nil, uint16(len(m.Raw))), m.Raw...)
	many := []byte(strings.Repeat(string(packet), 100))
	n.mu.Lock()
	defer n.mu.Unlock()
	require.NotEmpty(t, n.conns)
	to := n.conns[len(n.conns)-1]
	for range count / 100 {
		require.NoError(t, to.SetWriteDeadline(time.Now().Add(patience)))
		_, err := to.Write(many)
		require.NoError(t, err, "the service stopped reading")
	}
}

// overTCP is a client that uses TCP only.
func overTCP(t testing.TB) *client {
	return newClient(t, clientOptions{configure: func(s *webrtc.SettingEngine) {
		s.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeTCP4})
	}})
}

// longestGap counts the pictures of a client while a function runs, and returns the longest time between two.
func (s *sink) longestGap(run func()) (longest time.Duration) {
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		last, seen := time.Now(), 0
		for {
			s.mu.Lock()
			frames, news := len(s.frames), s.news
			s.mu.Unlock()
			if frames != seen {
				last, seen = time.Now(), frames
			}
			select {
			case <-news:
				longest = max(longest, time.Since(last))
			case <-stop:
				longest = max(longest, time.Since(last))
				return
			}
		}
	})
	run()
	close(stop)
	watching.Wait()
	return longest
}

// TestSlowTCPClients has clients that write their video in pieces of three bytes, write at 3 kB/s, or read nothing and make
// the service write. Another client of the same port does not notice, and the service keeps little.
func TestSlowTCPClients(t *testing.T) { //nolint:paralleltest // it measures memory, and counts goroutines
	s := listen(t, peer.Options{})
	fast, c := newSink(), newClient(t, clientOptions{})
	c.join(t, open(t, s, fast.session("st_fast")))
	fast.waitState(t, peer.Connected)
	stop := c.streaming(t)
	fast.waitFrames(t, 10)
	goroutines := runtime.NumGoroutine()

	for name, slow := range map[string]struct {
		piece int
		pause time.Duration
		deaf  bool
	}{
		"pieces":        {3, 0, false},
		"3 kB/s":        {300, 100 * time.Millisecond, false},
		"reads nothing": {64 << 10, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, hostile, link := newSink(), overTCP(t), newNarrow(t, s, slow.piece, slow.pause)
			p := open(t, s, got.session("st_slow"))
			answer := link.join(t, hostile, p)
			got.waitState(t, peer.Connected)
			before := memory()
			streaming := hostile.streaming(t)
			gap := fast.longestGap(func() {
				time.Sleep(4 * time.Second)
				streaming()
				if !slow.deaf {
					return
				}
				link.deaf.Store(true)
				value := func(name, in string) string {
					return regexp.MustCompile(`a=ice-` + name + `:(\S+)`).FindStringSubmatch(in)[1]
				}
				user := value("ufrag", answer) + ":" + value("ufrag", hostile.pc.LocalDescription().SDP)
				link.ask(t, user, value("pwd", answer), 200_000) // 20 MB of answers, more than the kernel keeps
			})
			after := memory()
			t.Logf("longest time between two pictures of the other client: %v; heap %+d KiB; %d pictures of the slow one", gap, (after-before)>>10, len(got.frames))
			require.Less(t, gap, 2*time.Second)
			require.Less(t, after, before+20<<20)
			got.mu.Lock()
			hostile.check(t, got.frames)
			pictures := len(got.frames)
			got.mu.Unlock()
			if name == "pieces" {
				require.Greater(t, pictures, 30, "a slow writer that is fast enough is served")
			}
			began := time.Now()
			p.Close()
			require.Less(t, time.Since(began), 6*time.Second)
			require.NoError(t, hostile.pc.Close())
			link.close()
		})
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+5 }, patience, 20*time.Millisecond)
	stop()
	fast.mu.Lock()
	defer fast.mu.Unlock()
	c.check(t, fast.frames)
}
