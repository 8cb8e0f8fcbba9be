package peer

import (
	"net"
	"net/netip"
	"slices"

	"github.com/pion/ice/v4"
	"github.com/pion/transport/v5"
)

var (
	// nat64 holds the IPv6 addresses that a network translates to IPv4 (RFC 6052).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// shared is for NATs of carriers (RFC 6598). Some clouds have their metadata service there.
	shared = netip.MustParsePrefix("100.64.0.0/10")
)

// plain returns the address that packets to a reach: the IPv4 address that it stands for, or itself.
func plain(a netip.Addr) netip.Addr {
	if a = a.Unmap().WithZone(""); nat64.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// sends reports whether packets may go to an address from which a check of a client came, or that a client named.
// Loopback and link-local addresses are those of this machine and of its metadata service.
func (s *Server) sends(a netip.Addr) bool {
	switch a = plain(a); {
	case !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast():
		return false
	case a.IsLoopback():
		return s.media.Addr().IsLoopback()
	default:
		return true
	}
}

// checks reports whether a candidate that a client named may be sent checks. The client proves nothing by naming an
// address, so those of this machine and of its network are refused. A client that is there sends checks itself: the
// address from which they come needs no name. The exception is a relay that this server gave to the client.
func (s *Server) checks(c ice.Candidate, relayID string) bool {
	a, err := netip.ParseAddr(c.Address())
	if err != nil {
		return true // pion resolves no name
	}
	switch a = plain(a); {
	case !s.sends(a):
		return false
	case s.here(a):
		return c.Type() == ice.CandidateTypeRelay && s.relay.gave(relayID, c.Port())
	default:
		return !s.options.PublicIP.IsValid() || !a.IsPrivate() && !shared.Contains(a)
	}
}

// here reports whether an address is one of this machine. It may have got some after the start.
func (s *Server) here(a netip.Addr) bool {
	if a.IsLoopback() || a == s.options.PublicIP || slices.Contains(s.own, a) {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(n net.Addr) bool {
		prefix, err := netip.ParsePrefix(n.String())
		return err == nil && plain(prefix.Addr()) == a
	})
}

// host returns the first address in candidates.
func (s *Server) host() netip.Addr {
	switch {
	case s.options.PublicIP.IsValid():
		return s.options.PublicIP
	case len(s.own) > 0:
		return s.own[0]
	default:
		return s.media.Addr()
	}
}

// ownAddresses returns the addresses of the machine at which a socket on ip can be reached.
func ownAddresses(n transport.Net, ip netip.Addr) ([]netip.Addr, error) {
	if !ip.IsUnspecified() {
		return []netip.Addr{ip}, nil
	}
	interfaces, err := n.Interfaces()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue // it has none
		}
		for _, a := range addresses {
			prefix, err := netip.ParsePrefix(a.String())
			if err == nil && !prefix.Addr().IsLoopback() && prefix.Addr().Is4() == ip.Is4() {
				own = append(own, prefix.Addr())
			}
		}
	}
	return own, nil
}
