package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/logging"
	"github.com/pion/transport/v5"
	"github.com/pion/transport/v5/stdnet"
	"github.com/pion/webrtc/v4"
)

const (
	// disconnectedAfter is the time without any packet after which a peer counts as disconnected.
	disconnectedAfter = 3 * time.Second
	// keepalive is the time between two checks of a connection.
	keepalive = time.Second
	// defaultConnect bounds the time from the offer to a connection.
	defaultConnect = 30 * time.Second
	// socketBuffer of the UDP port, in bytes: 50 ms of 100 Mbit/s.
	socketBuffer = 1 << 20
	// tcpBuffer is the number of packets that wait for one TCP connection.
	tcpBuffer = 32
	// tcpWriteBuffer is the number of bytes that wait for a TCP connection. The service sends reports only.
	tcpWriteBuffer = 256 << 10
	// replayWindow in packets. A packet that is sent again must not count as a replay.
	replayWindow = 1024
	// dataBuffer bounds what a data channel can send, in bytes. Nothing reads it.
	dataBuffer = 64 << 10
)

// Options of Listen.
type Options struct {
	// Address has the IP and the port on which media arrive, over UDP and TCP. Port 0 chooses a
	// free port. An unspecified IP means all interfaces, except loopback.
	Address netip.AddrPort
	// PublicIP replaces the own addresses in candidates. Set it behind a NAT that forwards the
	// port, as for a cloud machine. The zero value means that the own addresses are reachable.
	PublicIP netip.Addr
	// External are the STUN and TURN servers of the operator, for clients.
	External []External
	// Relay is the embedded TURN server, or nil.
	Relay *RelayOptions
	// ConnectTimeout is the time from an offer, or from a lost connection, to the state Failed. The
	// default is 30 s.
	ConnectTimeout time.Duration
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Net is the network. The default is the one of the machine.
	Net transport.Net
}

// Server owns the ports for media. It is safe for concurrent use.
type Server struct {
	options Options
	parts   parts
	relay   *relay
	media   netip.AddrPort // where the UDP port listens
	own     []netip.Addr   // the addresses at which the port can be reached on this machine
	closers []io.Closer

	mu    sync.Mutex
	peers map[string]*Peer
}

// Listen opens the ports. The caller must call Close.
func Listen(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = defaultConnect
	}
	if o.Net == nil {
		machine, err := stdnet.NewNet()
		if err != nil {
			return nil, fmt.Errorf("peer: %w", err)
		}
		o.Net = machine
	}
	s := &Server{options: o, peers: map[string]*Peer{}}
	if err := s.listen(); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("peer: %w", err)
	}
	return s, nil
}

func (s *Server) listen() error {
	o := s.options
	udp, tcp, err := listenBoth(o.Net, o.Address)
	if err != nil {
		return fmt.Errorf("listen for media: %w", err)
	}
	s.closers = append(s.closers, udp, tcp)
	if c, ok := udp.(interface{ SetReadBuffer(bytes int) error }); ok {
		_ = c.SetReadBuffer(socketBuffer) // without it more packets are lost and requested again
	}
	s.media = addrPort(udp.LocalAddr())
	if s.own, err = ownAddresses(o.Net, s.media.Addr()); err != nil {
		return err
	}
	var settings webrtc.SettingEngine
	silent := &logging.DefaultLoggerFactory{Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled}
	settings.LoggerFactory = silent
	settings.SetICEUDPMux(ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: udp, Net: o.Net, Logger: silent.NewLogger("ice")}))
	mux := ice.NewTCPMuxDefault(ice.TCPMuxParams{
		Listener: newGate(tcp), Logger: silent.NewLogger("ice"), ReadBufferSize: tcpBuffer, WriteBufferSize: tcpWriteBuffer,
		FirstStunBindTimeout: greetingTime,
	})
	s.closers = append(s.closers, mux)
	settings.SetICETCPMux(mux)
	settings.SetNet(o.Net)
	if err := s.configure(&settings); err != nil {
		return err
	}
	if o.Relay != nil {
		if s.relay, err = newRelay(*o.Relay, o.Net, s.routes(), o.Now, s.refused); err != nil {
			return err
		}
		s.closers = append(s.closers, s.relay)
	}
	engine, err := mediaEngine()
	if err != nil {
		return err
	}
	registry := &interceptor.Registry{}
	if err := webrtc.ConfigureRTCPReports(registry); err != nil {
		return err
	}
	// Browsers raise their rate only when they learn when each packet arrived.
	if err := webrtc.ConfigureTWCCSender(engine, registry); err != nil {
		return err
	}
	s.parts = parts{settings, engine, registry}
	return nil
}

// configure sets addresses and times of ICE.
func (s *Server) configure(settings *webrtc.SettingEngine) error {
	types := []webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeTCP4}
	if s.media.Addr().Is6() {
		types = []webrtc.NetworkType{webrtc.NetworkTypeUDP6, webrtc.NetworkTypeTCP6}
	}
	settings.SetNetworkTypes(types)
	settings.SetIncludeLoopbackCandidate(s.media.Addr().IsLoopback())
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetICETimeouts(disconnectedAfter, 0, keepalive) // a Peer fails by its own limit
	settings.SetRemoteIPFilter(func(ip net.IP) bool {
		a, _ := netip.AddrFromSlice(ip)
		return s.sends(a)
	})
	settings.SetSRTPReplayProtectionWindow(replayWindow)
	settings.SetSCTPMaxReceiveBufferSize(dataBuffer)
	settings.DisableActiveTCP(true) // a candidate of a client must not make this machine connect
	if !s.options.PublicIP.IsValid() {
		return nil
	}
	return settings.SetICEAddressRewriteRules(webrtc.ICEAddressRewriteRule{
		External: []string{s.options.PublicIP.String()}, AsCandidateType: webrtc.ICECandidateTypeHost, Mode: webrtc.ICEAddressRewriteReplace,
	})
}

// Media returns the address on which media arrive.
func (s *Server) Media() netip.AddrPort { return s.media }

// refused notes why the TURN server refused a client.
func (s *Server) refused(id, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		if p.session.Relay == id {
			p.mu.Lock()
			p.relay = reason
			p.mu.Unlock()
		}
	}
}

// Close closes all peers and the ports.
func (s *Server) Close() error {
	s.mu.Lock()
	open := make([]*Peer, 0, len(s.peers))
	for _, p := range s.peers {
		open = append(open, p)
	}
	s.mu.Unlock()
	for _, p := range open {
		p.Close()
	}
	var failed []error
	for _, c := range slices.Backward(s.closers) {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			failed = append(failed, err)
		}
	}
	s.closers = nil
	return errors.Join(failed...)
}

// sharedPortTries bounds the search for a port that is free for UDP and TCP.
const sharedPortTries = 20

// listenBoth opens one port over UDP and TCP.
func listenBoth(n transport.Net, at netip.AddrPort) (net.PacketConn, net.Listener, error) {
	for try := 1; ; try++ {
		udp, err := n.ListenPacket(network("udp", at.Addr()), at.String())
		if err != nil {
			return nil, nil, err
		}
		tcp, err := n.CreateListenConfig(&net.ListenConfig{}).Listen(context.Background(), network("tcp", at.Addr()), udp.LocalAddr().String())
		if err == nil {
			return udp, tcp, nil
		}
		_ = udp.Close()
		if at.Port() != 0 || try == sharedPortTries {
			return nil, nil, err
		}
	}
}

// network returns name with the version of ip, such as udp4.
func network(name string, ip netip.Addr) string {
	if ip.Is4() {
		return name + "4"
	}
	return name + "6"
}

// addrPort converts the address of a socket.
func addrPort(a net.Addr) netip.AddrPort {
	switch a := a.(type) {
	case *net.UDPAddr:
		p := a.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	case *net.TCPAddr:
		p := a.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	default:
		p, _ := netip.ParseAddrPort(strings.TrimPrefix(a.String(), a.Network()+":"))
		return p
	}
}
