package peer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/transport/v5"
	"github.com/pion/transport/v5/vnet"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

const (
	serviceIP = "203.0.113.10"
	natIP     = "203.0.113.20"
	otherIP   = "203.0.113.30"
)

// internet is a virtual network with the service and a client, which may be behind a NAT.
type internet struct {
	service, client *vnet.Net
	wan             *vnet.Router

	loss   atomic.Int64 // in percent
	mu     sync.Mutex
	random *rand.Rand
	block  func(vnet.Chunk) bool
}

// building is held while a network is built: vnet counts hardware addresses without a lock.
var building sync.Mutex

// newInternet returns a running network. Without a NAT the client has the addresses natIP and
// otherIP.
func newInternet(t testing.TB, nat *vnet.NATType) *internet {
	t.Helper()
	n := &internet{random: rand.New(rand.NewPCG(5, 6))}
	building.Lock()
	defer building.Unlock()
	var err error
	n.wan, err = vnet.NewRouter(&vnet.RouterConfig{CIDR: "203.0.113.0/24", LoggerFactory: silent, MinDelay: 10 * time.Millisecond, QueueSize: 4096})
	require.NoError(t, err)
	n.service, err = vnet.NewNet(&vnet.NetConfig{StaticIPs: []string{serviceIP}})
	require.NoError(t, err)
	require.NoError(t, n.wan.AddNet(n.service))
	if nat == nil {
		n.client, err = vnet.NewNet(&vnet.NetConfig{StaticIPs: []string{natIP, otherIP}})
		require.NoError(t, err)
		require.NoError(t, n.wan.AddNet(n.client))
	} else {
		lan, err := vnet.NewRouter(&vnet.RouterConfig{CIDR: "192.168.1.0/24", StaticIPs: []string{natIP}, NATType: nat, LoggerFactory: silent})
		require.NoError(t, err)
		n.client, err = vnet.NewNet(&vnet.NetConfig{StaticIPs: []string{"192.168.1.2"}})
		require.NoError(t, err)
		require.NoError(t, lan.AddNet(n.client))
		require.NoError(t, n.wan.AddRouter(lan))
	}
	n.wan.AddChunkFilter(n.passes)
	require.NoError(t, n.wan.Start())
	t.Cleanup(func() { _ = n.wan.Stop() })
	return n
}

// passes reports whether a packet arrives.
func (n *internet) passes(c vnet.Chunk) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.random.Int64N(100) >= n.loss.Load() && (n.block == nil || !n.block(c))
}

func (n *internet) blocking(f func(vnet.Chunk) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.block = f
}

// udpOnly is a virtual network whose TCP ports are on the loopback interface, where nothing connects
// to them: vnet has no TCP listeners.
type udpOnly struct{ *vnet.Net }

func (udpOnly) CreateListenConfig(*net.ListenConfig) transport.ListenConfig {
	return loopbackListener{}
}

type loopbackListener struct{ transport.ListenConfig }

func (loopbackListener) Listen(ctx context.Context, network, _ string) (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(ctx, network, "127.0.0.1:0")
}

func (n *internet) options() peer.Options {
	return peer.Options{
		Net: udpOnly{n.service}, Address: netip.MustParseAddrPort(serviceIP + ":5000"),
		Relay: &peer.RelayOptions{Address: netip.MustParseAddrPort(serviceIP + ":3478"), Secret: []byte("secret")},
	}
}

// webrtcServers converts the servers as a browser does.
func webrtcServers(servers []peer.ICEServer) []webrtc.ICEServer {
	var all []webrtc.ICEServer
	for _, s := range servers {
		all = append(all, webrtc.ICEServer{URLs: s.URLs[:1], Username: *s.Username, Credential: *s.Credential})
	}
	return all
}

// TestLoss sends pictures over a network that loses packets in both directions.
func TestLoss(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ percent, atLeast int64 }{{2, 40}, {10, 40}, {30, 20}} {
		for _, mime := range []string{webrtc.MimeTypeH264, webrtc.MimeTypeVP8} {
			t.Run(fmt.Sprintf("%d %%, %s", tt.percent, mime), func(t *testing.T) {
				t.Parallel()
				n := newInternet(t, nil)
				s, got := listen(t, n.options()), newSink()
				c := newClient(t, clientOptions{net: n.client, mime: mime})
				p := open(t, s, got.session("st_1"))
				c.join(t, p)
				got.waitState(t, peer.Connected)
				n.loss.Store(tt.percent)
				tick := time.NewTicker(time.Second / 30)
				defer tick.Stop()
				const pictures = 60
				for range pictures {
					c.send()
					<-tick.C
				}
				n.loss.Store(0)
				stop := c.streaming(t)
				got.wait(t, "picture after the loss", func() bool {
					c.mu.Lock()
					defer c.mu.Unlock()
					return len(got.frames) > 0 && string(got.frames[len(got.frames)-1].Data) == string(c.pictures[len(c.pictures)-1])
				})
				stop()
				c.check(t, got.frames)
				d := p.Diagnostics()
				t.Logf("%d of %d pictures, %+v", len(got.frames), len(c.pictures), d.Media)
				require.GreaterOrEqual(t, int64(len(got.frames)), tt.atLeast)
				require.Positive(t, d.Media.Requests)
			})
		}
	}
}

func TestNATs(t *testing.T) {
	t.Parallel()
	for name, nat := range map[string]vnet.NATType{
		"full cone":       {MappingBehavior: vnet.EndpointIndependent, FilteringBehavior: vnet.EndpointIndependent},
		"port-restricted": {MappingBehavior: vnet.EndpointIndependent, FilteringBehavior: vnet.EndpointAddrPortDependent},
		"symmetric":       {MappingBehavior: vnet.EndpointAddrPortDependent, FilteringBehavior: vnet.EndpointAddrPortDependent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newInternet(t, &nat)
			s, got := listen(t, n.options()), newSink()
			c := newClient(t, clientOptions{net: n.client})
			c.joinAndSend(t, open(t, s, got.session("st_1")), got)
		})
	}
}

// joinAndSend connects and waits for some pictures.
func (c *client) joinAndSend(t *testing.T, p *peer.Peer, got *sink) {
	t.Helper()
	c.join(t, p)
	got.waitState(t, peer.Connected)
	stop := c.streaming(t)
	got.waitFrames(t, 10)
	stop()
	c.check(t, got.frames)
}

// TestOnlyTheRelayWorks blocks the media port, as a firewall does. The relay is on the machine of the
// service.
func TestOnlyTheRelayWorks(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]webrtc.ICETransportPolicy{"blocked": webrtc.ICETransportPolicyAll, "by choice": webrtc.ICETransportPolicyRelay} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newInternet(t, &vnet.NATType{MappingBehavior: vnet.EndpointAddrPortDependent, FilteringBehavior: vnet.EndpointAddrPortDependent})
			s, got := listen(t, n.options()), newSink()
			n.blocking(func(c vnet.Chunk) bool {
				from, to := c.SourceAddr().String(), c.DestinationAddr().String()
				media := serviceIP + ":5000"
				return from == media && to[:len(natIP)] == natIP || to == media && from[:len(natIP)] == natIP
			})
			c := newClient(t, clientOptions{net: n.client, config: webrtc.Configuration{
				ICETransportPolicy: policy, ICEServers: webrtcServers(s.ICEServers("st_1", time.Hour, false)),
			}})
			c.joinAndSend(t, open(t, s, got.session("st_1")), got)
		})
	}
}

// TestAnotherAddress moves the client to another address while it sends, and restarts ICE.
func TestAnotherAddress(t *testing.T) {
	t.Parallel()
	for name, vanish := range map[string]bool{"at once": false, "after the loss was noticed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newInternet(t, nil)
			s, got := listen(t, n.options()), newSink()
			var address atomic.Value
			address.Store(natIP)
			c := newClient(t, clientOptions{net: n.client, configure: func(s *webrtc.SettingEngine) {
				s.SetIPFilter(func(ip net.IP) bool { return ip.String() == address.Load() })
			}})
			p := open(t, s, got.session("st_1"))
			c.join(t, p)
			got.waitState(t, peer.Connected)
			stop := c.streaming(t)
			defer stop()
			got.waitFrames(t, 10)

			n.blocking(func(c vnet.Chunk) bool {
				return c.SourceAddr().String()[:len(natIP)] == natIP || c.DestinationAddr().String()[:len(natIP)] == natIP
			})
			address.Store(otherIP)
			if vanish {
				got.waitState(t, peer.Disconnected)
			}
			answer, err := p.Answer(t.Context(), c.offer(t, &webrtc.OfferOptions{ICERestart: true}))
			require.NoError(t, err)
			c.accept(t, answer)
			got.mu.Lock()
			before := len(got.frames)
			got.mu.Unlock()
			got.waitFrames(t, before+10)
			got.waitState(t, peer.Connected)
			got.mu.Lock()
			defer got.mu.Unlock()
			c.check(t, got.frames)
			for i, f := range got.frames[1:] {
				require.Greater(t, f.Time, got.frames[i].Time, "the clock goes on")
			}
		})
	}
}

// TestAVanishedClientComesBack cuts the network for longer than the limit.
func TestAVanishedClientComesBack(t *testing.T) {
	t.Parallel()
	n := newInternet(t, nil)
	o := n.options()
	o.ConnectTimeout = 300 * time.Millisecond
	s, got := listen(t, o), newSink()
	c := newClient(t, clientOptions{net: n.client})
	p := open(t, s, got.session("st_1"))
	c.join(t, p)
	got.waitState(t, peer.Connected)
	n.blocking(func(vnet.Chunk) bool { return true })
	got.waitState(t, peer.Failed)
	require.NotEmpty(t, p.Diagnostics().Pairs, "the candidates are still known")
	n.blocking(nil)
	got.waitState(t, peer.Connected)
	// On a busy machine the first connection may take longer than the limit, too.
	first := slices.Index(got.states, peer.Connected)
	require.Equal(t, []peer.State{peer.Connected, peer.Disconnected, peer.Failed, peer.Connected}, got.states[first:])
}
