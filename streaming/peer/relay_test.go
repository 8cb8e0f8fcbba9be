package peer_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

// service is a UDP service on this machine.
type service struct {
	net.PacketConn
	at netip.AddrPort
}

func newService(t *testing.T) service {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return service{conn, netip.MustParseAddrPort(conn.LocalAddr().String())}
}

// receive returns the next packet and its sender.
func receive(t *testing.T, c net.PacketConn) (string, net.Addr) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	buffer := make([]byte, 1500)
	n, from, err := c.ReadFrom(buffer)
	require.NoError(t, err)
	return string(buffer[:n]), from
}

// requireNothing fails when a packet has arrived before.
func requireNothing(t *testing.T, s service) {
	t.Helper()
	_, err := s.WriteTo([]byte("marker"), net.UDPAddrFromAddrPort(s.at))
	require.NoError(t, err)
	got, _ := receive(t, s)
	require.Equal(t, "marker", got)
}

// relayLab is a relay to a service that stands for the media port.
type relayLab struct {
	*peer.Relay
	media   service
	name    netip.AddrPort // of the media port for clients
	now     time.Time
	mu      sync.Mutex
	refused []string
}

func newRelayLab(t *testing.T, name string) *relayLab {
	t.Helper()
	lab := &relayLab{media: newService(t), now: time.Now()}
	lab.name = lab.media.at
	if name != "" {
		lab.name = netip.MustParseAddrPort(name)
	}
	var err error
	lab.Relay, err = peer.NewRelay(peer.RelayOptions{Address: loopback, Secret: []byte("secret"), Total: 6}, lab.name, lab.media.at,
		func() time.Time { return lab.now },
		func(id, reason string) {
			lab.mu.Lock()
			defer lab.mu.Unlock()
			lab.refused = append(lab.refused, id+": "+reason)
		})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lab.Close()) })
	return lab
}

// allocate returns an allocation with the given credentials.
func allocate(t *testing.T, s peer.ICEServer, transport string) (net.PacketConn, error) {
	t.Helper()
	address, _, _ := strings.Cut(strings.TrimPrefix(s.URLs[0], "turn:"), "?")
	var conn net.PacketConn
	if transport == "tcp" {
		dialed, err := net.Dial("tcp4", address)
		require.NoError(t, err)
		conn = turn.NewSTUNConn(dialed)
	} else {
		var err error
		conn, err = net.ListenPacket("udp4", "127.0.0.1:0")
		require.NoError(t, err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c, err := turn.NewClient(&turn.ClientConfig{
		TURNServerAddr: address, Conn: conn, Username: *s.Username, Password: *s.Credential, LoggerFactory: silent,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.Listen())
	return c.Allocate()
}

// TestTheRelayReachesNoOtherService sends packets through the relay to a service beside the media
// port, and from it.
func TestTheRelayReachesNoOtherService(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"udp", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			lab, other := newRelayLab(t, ""), newService(t)
			relayed, err := allocate(t, lab.Server("st_1", lab.now.Add(time.Hour)), transport)
			require.NoError(t, err)
			for range 10 {
				_, err = relayed.WriteTo([]byte("to another service"), net.UDPAddrFromAddrPort(other.at))
				require.NoError(t, err)
			}
			// The relay handles the packets of an allocation in order.
			_, err = relayed.WriteTo([]byte("to the media port"), net.UDPAddrFromAddrPort(lab.media.at))
			require.NoError(t, err)
			got, from := receive(t, lab.media)
			require.Equal(t, "to the media port", got)
			requireNothing(t, other)

			_, err = other.WriteTo([]byte("from another service"), from)
			require.NoError(t, err)
			_, err = lab.media.WriteTo([]byte("from the media port"), from)
			require.NoError(t, err)
			got, _ = receive(t, relayed)
			require.Equal(t, "from the media port", got)

			_, err = relayed.WriteTo([]byte("to another machine"), &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: int(lab.media.at.Port())})
			require.Error(t, err, "no permission for another address")
		})
	}
}

// TestTheRelayKnowsThePublicAddress sends to a public address that this machine cannot reach.
func TestTheRelayKnowsThePublicAddress(t *testing.T) {
	t.Parallel()
	lab := newRelayLab(t, "203.0.113.7:5000")
	relayed, err := allocate(t, lab.Server("st_1", lab.now.Add(time.Hour)), "udp")
	require.NoError(t, err)
	_, err = relayed.WriteTo([]byte("question"), net.UDPAddrFromAddrPort(lab.name))
	require.NoError(t, err)
	got, from := receive(t, lab.media)
	require.Equal(t, "question", got)
	_, err = lab.media.WriteTo([]byte("answer"), from)
	require.NoError(t, err)
	got, from = receive(t, relayed)
	require.Equal(t, "answer", got)
	require.Equal(t, lab.name.String(), from.String())
}

func TestCredentialsOfTheRelay(t *testing.T) {
	t.Parallel()
	lab := newRelayLab(t, "")
	good := lab.Server("st_1", lab.now.Add(time.Hour))
	wrong, other := "wrong", lab.Server("st_2", lab.now.Add(time.Hour))
	for name, s := range map[string]peer.ICEServer{
		"expired":             lab.Server("st_1", lab.now.Add(-time.Second)),
		"password of another": {URLs: good.URLs, Username: good.Username, Credential: other.Credential},
		"wrong password":      {URLs: good.URLs, Username: good.Username, Credential: &wrong},
		"no expiry":           {URLs: good.URLs, Username: &wrong, Credential: good.Credential},
	} {
		_, err := allocate(t, s, "udp")
		require.Error(t, err, name)
	}
	_, err := allocate(t, good, "udp")
	require.NoError(t, err)
	lab.mu.Lock()
	defer lab.mu.Unlock()
	require.Contains(t, lab.refused, "st_1: expired credentials")
}

// TestASharedSecret uses another TURN server with credentials of its shared secret.
func TestASharedSecret(t *testing.T) {
	t.Parallel()
	at := newService(t)
	server, err := turn.NewServer(turn.ServerConfig{
		Realm: "other", AuthHandler: turn.LongTermTURNRESTAuthHandler("shared", silent.NewLogger("turn")), LoggerFactory: silent,
		PacketConnConfigs: []turn.PacketConnConfig{{
			PacketConn: at, RelayAddressGenerator: &turn.RelayAddressGeneratorStatic{RelayAddress: net.IPv4(127, 0, 0, 1), Address: "127.0.0.1"},
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	external := peer.External{ICEServer: peer.ICEServer{URLs: []string{"turn:" + at.at.String()}}, Secret: []byte("shared")}
	s := listen(t, peer.Options{External: []peer.External{external}})
	_, err = allocate(t, s.ICEServers("st_1", time.Hour, false)[0], "udp")
	require.NoError(t, err)
	_, err = allocate(t, s.ICEServers("st_1", -time.Second, false)[0], "udp")
	require.Error(t, err, "expired")
}

// TestQuotaOfTheRelay makes allocations until the session, then the server, has its number.
func TestQuotaOfTheRelay(t *testing.T) {
	t.Parallel()
	lab := newRelayLab(t, "")
	one, two := lab.Server("st_1", lab.now.Add(time.Hour)), lab.Server("st_2", lab.now.Add(time.Hour))
	var open []net.PacketConn
	for range 4 {
		c, err := allocate(t, one, "udp")
		require.NoError(t, err)
		open = append(open, c)
	}
	_, err := allocate(t, one, "udp")
	require.ErrorContains(t, err, "486")
	for range 2 {
		_, err := allocate(t, two, "udp")
		require.NoError(t, err)
	}
	_, err = allocate(t, two, "udp")
	require.ErrorContains(t, err, "486", "the server has its number")
	lab.mu.Lock()
	require.Equal(t, []string{"st_1: too many allocations", "st_2: too many allocations"}, lab.refused)
	lab.mu.Unlock()

	require.NoError(t, open[0].Close())
	require.Eventually(t, func() bool { return lab.Allocations() == 5 }, patience, time.Millisecond)
	_, err = allocate(t, one, "udp")
	require.NoError(t, err, "an ended allocation frees its place")
}

func TestRelayNeedsASecret(t *testing.T) {
	t.Parallel()
	_, err := peer.Listen(peer.Options{Address: loopback, Relay: &peer.RelayOptions{Address: loopback}})
	require.ErrorContains(t, err, "secret")
	require.False(t, errors.Is(err, net.ErrClosed))
}
