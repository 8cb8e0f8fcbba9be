package peer

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pion/logging"
	"github.com/pion/transport/v5"
	"github.com/pion/turn/v5"
)

// realm of the TURN server. Its value does not matter.
const realm = "vqa"

// The defaults of RelayOptions.
const (
	defaultRelaysEach = 4
	defaultRelays     = 128
)

// RelayOptions describe the embedded TURN server. It relays to the media port of its own Server and
// to nothing else.
type RelayOptions struct {
	// Address has the IP and the port for clients, over UDP and TCP. Port 0 chooses a free port.
	Address netip.AddrPort
	// Host is the name or the address that clients get. The default is the first address of the
	// candidates.
	Host string
	// Secret signs the credentials.
	Secret []byte
	// Each is the number of allocations of one session; the default is 4. A client makes one for
	// each transport, and new ones for an ICE restart before it ends the old ones.
	Each int
	// Total is the number of allocations of the server; the default is 128.
	Total int
}

// relay is the embedded TURN server.
type relay struct {
	options RelayOptions
	net     transport.Net
	now     func() time.Time
	refused func(id, reason string)
	turn    *turn.Server
	address netip.AddrPort // where it listens
	routes  routes

	mu   sync.Mutex
	open map[int]string // the session of each allocation, by its port
}

// routes are the addresses of the media port: as clients know it, and where packets for it go. Both
// differ for a public address, which the machine itself may not reach.
type routes struct {
	to, from map[netip.AddrPort]netip.AddrPort
	relayed  netip.Addr // the address of allocations, as clients know it
}

// routes returns the ways to the media port.
func (s *Server) routes() routes {
	r := routes{map[netip.AddrPort]netip.AddrPort{}, map[netip.AddrPort]netip.AddrPort{}, s.options.Relay.Address.Addr()}
	if s.options.PublicIP.IsValid() || r.relayed.IsUnspecified() {
		r.relayed = s.host()
	}
	for _, ip := range s.own {
		a := netip.AddrPortFrom(ip, s.media.Port())
		r.to[a], r.from[a] = a, a
	}
	if public := s.options.PublicIP; public.IsValid() && len(s.own) > 0 {
		name, a := netip.AddrPortFrom(public, s.media.Port()), netip.AddrPortFrom(s.own[0], s.media.Port())
		r.to[name], r.from[a] = a, name
	}
	return r
}

// newRelay starts the TURN server.
func newRelay(o RelayOptions, n transport.Net, ways routes, now func() time.Time, refused func(id, reason string)) (*relay, error) {
	if len(o.Secret) == 0 {
		return nil, errors.New("the TURN server has no secret")
	}
	if o.Each == 0 {
		o.Each = defaultRelaysEach
	}
	if o.Total == 0 {
		o.Total = defaultRelays
	}
	r := &relay{options: o, net: n, now: now, refused: refused, routes: ways, open: map[int]string{}}
	udp, tcp, err := listenBoth(n, o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for TURN: %w", err)
	}
	r.address = addrPort(udp.LocalAddr())
	r.turn, err = turn.NewServer(turn.ServerConfig{
		Realm: realm, AuthHandler: r.authenticate, QuotaHandler: r.admit,
		LoggerFactory:     &logging.DefaultLoggerFactory{Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled},
		PacketConnConfigs: []turn.PacketConnConfig{{PacketConn: udp, RelayAddressGenerator: r, PermissionHandler: r.permit}},
		ListenerConfigs:   []turn.ListenerConfig{{Listener: newGate(tcp), RelayAddressGenerator: r, PermissionHandler: r.permit}},
	})
	if err != nil {
		return nil, errors.Join(err, udp.Close(), tcp.Close())
	}
	return r, nil
}

// Close ends the server and all allocations.
func (r *relay) Close() error { return r.turn.Close() }

// authenticate returns the session and the key of a user name. A wrong password fails later, in the
// check of the message.
func (r *relay) authenticate(a *turn.RequestAttributes) (id string, key []byte, ok bool) {
	until, id, found := strings.Cut(a.Username, ":")
	seconds, err := strconv.ParseInt(until, 10, 64)
	if !found || err != nil {
		return "", nil, false
	}
	if !r.now().Before(time.Unix(seconds, 0)) {
		r.refused(id, "expired credentials")
		return "", nil, false
	}
	return id, turn.GenerateAuthKey(a.Username, a.Realm, password(r.options.Secret, a.Username)), true
}

// admit reports whether a session may have one more allocation.
func (r *relay) admit(user, _ string, _ net.Addr) bool {
	_, id, found := strings.Cut(user, ":")
	if !found {
		id = user
	}
	r.mu.Lock()
	full := r.full(id)
	r.mu.Unlock()
	if full {
		r.refused(id, "too many allocations")
	}
	return !full
}

// full reports whether a session gets no more allocations. The caller holds mu.
func (r *relay) full(id string) bool {
	own := 0
	for _, of := range r.open {
		if of == id {
			own++
		}
	}
	return own >= r.options.Each || len(r.open) >= r.options.Total
}

// gave reports whether a session has the allocation with a port. A server without a relay gives none.
func (r *relay) gave(id string, port int) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of, open := r.open[port]
	return open && of == id
}

// permit reports whether packets may be exchanged with an address: the one of the media port.
func (r *relay) permit(_ net.Addr, ip net.IP) bool {
	a, ok := netip.AddrFromSlice(ip)
	for name := range r.routes.to {
		if ok && name.Addr() == a.Unmap() {
			return true
		}
	}
	return false
}

// Validate implements turn.RelayAddressGenerator.
func (r *relay) Validate() error { return nil }

// AllocatePacketConn implements turn.RelayAddressGenerator.
func (r *relay) AllocatePacketConn(c turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full(c.UserID) {
		return nil, nil, errors.New("peer: too many allocations")
	}
	conn, err := r.net.ListenPacket(network("udp", r.address.Addr()), netip.AddrPortFrom(r.address.Addr(), 0).String())
	if err != nil {
		return nil, nil, fmt.Errorf("peer: %w", err)
	}
	port := addrPort(conn.LocalAddr()).Port()
	r.open[int(port)] = c.UserID
	relayed := net.UDPAddrFromAddrPort(netip.AddrPortFrom(r.routes.relayed, port))
	return &relayedConn{PacketConn: conn, relay: r, port: int(port)}, relayed, nil
}

var errNoTCP = errors.New("peer: TCP is not relayed")

// AllocateListener implements turn.RelayAddressGenerator.
func (r *relay) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errNoTCP
}

// AllocateConn implements turn.RelayAddressGenerator.
func (r *relay) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) { return nil, errNoTCP }

// relayedConn is the socket of one allocation. It exchanges packets with the media port only.
type relayedConn struct {
	net.PacketConn
	relay *relay
	port  int
	once  sync.Once
}

// WriteTo drops packets to any other address.
func (c *relayedConn) WriteTo(p []byte, to net.Addr) (int, error) {
	target, ok := c.relay.routes.to[addrPort(to)]
	if !ok {
		return len(p), nil
	}
	return c.PacketConn.WriteTo(p, net.UDPAddrFromAddrPort(target))
}

// ReadFrom drops packets from any other address.
func (c *relayedConn) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(p)
		if err != nil {
			return n, from, err
		}
		if name, ok := c.relay.routes.from[addrPort(from)]; ok {
			return n, net.UDPAddrFromAddrPort(name), nil
		}
	}
}

// Close frees the place of the allocation.
func (c *relayedConn) Close() error {
	c.once.Do(func() {
		c.relay.mu.Lock()
		defer c.relay.mu.Unlock()
		delete(c.relay.open, c.port)
	})
	return c.PacketConn.Close()
}
