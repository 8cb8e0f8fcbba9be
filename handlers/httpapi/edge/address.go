package edge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// AddressHash returns a function that identifies the client of a request by a keyed hash
// of its address, so that the address is never stored. X-Forwarded-For counts only on a
// connection from a trusted proxy: the client is then the last address in the header that
// is not a trusted proxy. An IPv6 client is identified by its /64 prefix, because one
// subscriber owns a whole /64.
func AddressHash(key []byte, trusted []netip.Prefix) func(*http.Request) string {
	return func(r *http.Request) string {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(clientAddress(r, trusted)))
		return hex.EncodeToString(mac.Sum(nil))
	}
}

func clientAddress(r *http.Request, trusted []netip.Prefix) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	client, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !within(trusted, client) {
			break
		}
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		client = next
	}
	client = client.Unmap().WithZone("")
	if client.Is6() {
		subscriber, err := client.Prefix(64)
		if err == nil {
			return subscriber.String()
		}
	}
	return client.String()
}

// ClientNetwork returns a function that names the network of a client for people: the first 24 bits of an IPv4
// address, or 48 bits of an IPv6 address. trusted is as for AddressHash.
func ClientNetwork(trusted []netip.Prefix) func(*http.Request) string {
	return func(r *http.Request) string {
		text := clientAddress(r, trusted)
		client, err := netip.ParseAddr(text)
		if subscriber, failed := netip.ParsePrefix(text); failed == nil {
			client, err = subscriber.Addr(), nil
		}
		if err != nil {
			return "an unknown address"
		}
		if client.IsLoopback() || text == "::/64" {
			return "this machine"
		}
		bits := 24
		if client.Is6() {
			bits = 48
		}
		network, err := client.Prefix(bits)
		if err != nil {
			return "an unknown address"
		}
		return network.String()
	}
}

// forwarding lists the headers that proxies and tunnels add to requests.
var forwarding = []string{
	"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Server",
	"X-Real-Ip", "X-Original-For", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray", "Fly-Client-Ip",
}

// OnThisMachine returns a function that reports whether a program on this machine sent a
// request that changes something. A reverse proxy on this machine also connects from loopback. Therefore all of
// these must be true:
//
//   - The public URL is a loopback address and no proxy is trusted.
//   - Both ends of the connection are loopback addresses.
//   - The Host header is a loopback host. Another host means a tunnel, or a page that uses
//     DNS rebinding.
//   - The request has no forwarding header.
//   - No page of another origin sent it: a page that is open in a browser here is not a program of this machine.
func OnThisMachine(publicURL string, trusted []netip.Prefix) func(*http.Request) bool {
	public, err := url.Parse(publicURL)
	if err != nil || !Loopback(public.Host) || len(trusted) > 0 {
		return func(*http.Request) bool { return false }
	}
	sameOrigin := http.NewCrossOriginProtection()
	return func(r *http.Request) bool {
		local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if sameOrigin.Check(r) != nil || !ok || !Loopback(local.String()) || !Loopback(r.RemoteAddr) || !Loopback(r.Host) {
			return false
		}
		return !slices.ContainsFunc(forwarding, func(name string) bool { return len(r.Header.Values(name)) > 0 })
	}
}

// Loopback reports whether an address, with or without a port, is a loopback address:
// localhost, 127.0.0.0/8 or ::1.
func Loopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func within(prefixes []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}
