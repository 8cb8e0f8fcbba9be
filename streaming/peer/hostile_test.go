package peer_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

// tangle passes packets between a client and the media port, and harms them.
type tangle struct {
	front   net.PacketConn
	service net.Addr

	mu      sync.Mutex
	random  *rand.Rand
	back    net.PacketConn // the address of the client as the service sees it
	client  net.Addr
	harm    harm
	closed  bool
	sending sync.WaitGroup
}

// harm has the percentages of the packets that are lost, sent twice, cut off or changed, and the longest delay. Packets
// overtake each other by it.
type harm struct {
	lost, twice, cut, changed int
	delay                     time.Duration
	dtls                      bool // packets of DTLS are lost
}

func newTangle(t testing.TB, s *peer.Server) *tangle {
	t.Helper()
	l := &tangle{service: net.UDPAddrFromAddrPort(s.Media()), random: rand.New(rand.NewPCG(8, 9))}
	var err error
	l.front, err = net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	l.rebind(t)
	l.sending.Go(func() {
		l.read(l.front, func(b []byte, from net.Addr) {
			l.mu.Lock()
			l.client = from
			back := l.back
			l.mu.Unlock()
			_, _ = back.WriteTo(b, l.service)
		})
	})
	t.Cleanup(func() {
		l.mu.Lock()
		l.closed = true
		back := l.back
		l.mu.Unlock()
		_, _ = l.front.Close(), back.Close()
		l.sending.Wait()
	})
	return l
}

// rebind gives the client another address, as a NAT does that forgot it.
func (l *tangle) rebind(t testing.TB) {
	t.Helper()
	back, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	l.mu.Lock()
	before := l.back
	l.back = back
	l.mu.Unlock()
	if before != nil {
		_ = before.Close()
	}
	l.sending.Go(func() {
		l.read(back, func(b []byte, _ net.Addr) {
			l.mu.Lock()
			client := l.client
			l.mu.Unlock()
			if client != nil {
				_, _ = l.front.WriteTo(b, client)
			}
		})
	})
}

func (l *tangle) set(h harm) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.harm = h
}

// read passes packets on as harm says.
func (l *tangle) read(from net.PacketConn, on func([]byte, net.Addr)) {
	for {
		buffer := make([]byte, 2048)
		n, source, err := from.ReadFrom(buffer)
		if err != nil {
			return
		}
		packet := buffer[:n]
		l.mu.Lock()
		h, chance := l.harm, func(percent int) bool { return l.random.IntN(100) < percent }
		lost, copies := chance(h.lost) || h.dtls && packet[0] >= 20 && packet[0] < 64, 1
		if chance(h.twice) {
			copies = 2
		}
		if chance(h.changed) {
			packet[l.random.IntN(n)] ^= byte(1 + l.random.IntN(255))
		}
		if chance(h.cut) {
			packet = packet[:l.random.IntN(n)]
		}
		var delays []time.Duration
		for range copies {
			delay := time.Duration(0)
			if h.delay > 0 {
				delay = time.Duration(l.random.Int64N(int64(h.delay)))
			}
			delays = append(delays, delay)
		}
		closed := l.closed
		l.mu.Unlock()
		if lost || closed {
			continue
		}
		for _, delay := range delays {
			if delay == 0 {
				on(packet, source)
				continue
			}
			l.sending.Go(func() {
				time.Sleep(delay)
				on(packet, source)
			})
		}
	}
}

// join connects a client to a peer. All UDP packets pass the tangle. tcp leaves the TCP candidates of the service.
func (l *tangle) join(t testing.TB, c *client, p *peer.Peer, tcp bool) {
	t.Helper()
	offer := regexp.MustCompile(`a=candidate:.*\r\n`).ReplaceAllString(c.offer(t, nil), "")
	answer, err := p.Answer(t.Context(), offer)
	require.NoError(t, err)
	if !tcp {
		answer = regexp.MustCompile(`a=candidate:.* tcp .*\r\n`).ReplaceAllString(answer, "")
	}
	media, front := netip.MustParseAddrPort(l.service.String()), netip.MustParseAddrPort(l.front.LocalAddr().String())
	var lines []string
	for _, line := range strings.Split(answer, "\r\n") {
		if strings.HasPrefix(line, "a=candidate:") && strings.Contains(line, " udp ") {
			line = strings.Replace(line, fmt.Sprintf(" %d typ", media.Port()), fmt.Sprintf(" %d typ", front.Port()), 1)
		}
		lines = append(lines, line)
	}
	c.accept(t, strings.Join(lines, "\r\n"))
}

// TestAHostileNetwork harms packets in both directions. Each picture that arrives is whole, and the flow
// recovers.
func TestAHostileNetwork(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]harm{
		"reordered":      {delay: 120 * time.Millisecond},
		"twice":          {twice: 60, delay: 20 * time.Millisecond},
		"cut off":        {cut: 15},
		"changed":        {changed: 15},
		"everything":     {lost: 5, twice: 10, cut: 5, changed: 5, delay: 60 * time.Millisecond},
		"nearly nothing": {lost: 60},
	} {
		for _, mime := range []string{webrtc.MimeTypeH264, webrtc.MimeTypeVP8, webrtc.MimeTypeVP9} {
			if mime != webrtc.MimeTypeH264 && name != "everything" {
				continue
			}
			t.Run(name+", "+mime, func(t *testing.T) {
				t.Parallel()
				s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{mime: mime})
				p, link := open(t, s, got.session("st_1")), newTangle(t, s)
				link.join(t, c, p, false)
				got.waitState(t, peer.Connected)
				stop := c.streaming(t)
				got.waitFrames(t, 10)
				link.set(h)
				time.Sleep(3 * time.Second)
				link.set(harm{})
				got.mu.Lock()
				before := len(got.frames)
				got.mu.Unlock()
				got.waitFrames(t, before+30)
				stop()
				time.Sleep(50 * time.Millisecond)
				got.mu.Lock()
				defer got.mu.Unlock()
				c.check(t, got.frames)
				t.Logf("%d pictures during the harm; %+v", before-10, p.Diagnostics().Media)
				if h.lost < 50 {
					require.Greater(t, before, 40)
				}
			})
		}
	}
}

// TestANATRebinds changes the address of the client while it sends. The client does not notice.
func TestANATRebinds(t *testing.T) {
	t.Parallel()
	s, got, c := listen(t, peer.Options{ConnectTimeout: 2 * time.Second}), newSink(), newClient(t, clientOptions{})
	p, link := open(t, s, got.session("st_1")), newTangle(t, s)
	link.join(t, c, p, false)
	got.waitState(t, peer.Connected)
	stop := c.streaming(t)
	defer stop()
	got.waitFrames(t, 10)
	for range 2 {
		link.rebind(t)
		got.mu.Lock()
		before := len(got.frames)
		got.mu.Unlock()
		got.waitFrames(t, before+60) // a lost connection is noticed after 3 s
		got.waitState(t, peer.Connected)
		time.Sleep(2 * time.Second)
		got.mu.Lock()
		states, frames := append([]peer.State(nil), got.states...), len(got.frames)
		got.mu.Unlock()
		require.Equal(t, peer.Connected, p.State(), "%v", states)
		p.RequestKeyframe()
		got.wait(t, "keyframe on request", func() bool {
			for _, f := range got.frames[frames:] {
				if f.Key {
					return true
				}
			}
			return false
		})
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	c.check(t, got.frames)
}

// TestBlackHoledUDP has a network that drops all UDP: the client connects over TCP.
func TestBlackHoledUDP(t *testing.T) {
	t.Parallel()
	s, got := listen(t, peer.Options{}), newSink()
	c := newClient(t, clientOptions{configure: func(s *webrtc.SettingEngine) {
		s.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeTCP4})
	}})
	p, link := open(t, s, got.session("st_1")), newTangle(t, s)
	link.set(harm{lost: 100})
	link.join(t, c, p, true)
	got.waitState(t, peer.Connected)
	stop := c.streaming(t)
	got.waitFrames(t, 20)
	stop()
	got.mu.Lock()
	defer got.mu.Unlock()
	c.check(t, got.frames)
}

// TestNoEncryption has a firewall that lets ICE through and drops DTLS.
func TestNoEncryption(t *testing.T) {
	t.Parallel()
	s, got, c := listen(t, peer.Options{ConnectTimeout: 3 * time.Second}), newSink(), newClient(t, clientOptions{})
	p, link := open(t, s, got.session("st_1")), newTangle(t, s)
	link.set(harm{dtls: true})
	link.join(t, c, p, false)
	got.waitState(t, peer.Failed)
	require.Contains(t, p.Diagnostics().Hint, "encryption did not start")
}

// TestManyRestarts restarts ICE again and again. Nothing of the earlier attempts is kept.
func TestManyRestarts(t *testing.T) { //nolint:paralleltest // it counts goroutines
	s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{})
	p := open(t, s, got.session("st_1"))
	c.join(t, p)
	got.waitState(t, peer.Connected)
	stop := c.streaming(t)
	restart := func() {
		answer, err := p.Answer(t.Context(), c.offer(t, &webrtc.OfferOptions{ICERestart: true}))
		require.NoError(t, err)
		c.accept(t, answer)
		got.mu.Lock()
		before := len(got.frames)
		got.mu.Unlock()
		got.waitFrames(t, before+3)
	}
	restart()
	before := runtime.NumGoroutine()
	for range 20 {
		restart()
	}
	stop()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+10 }, patience, 20*time.Millisecond)
	got.mu.Lock()
	defer got.mu.Unlock()
	c.check(t, got.frames)
}
