package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// AddressHash returns a function that names the client of a request by a keyed hash
// of its address, so that the address itself is never stored. X-Forwarded-For counts
// only on a connection from a trusted proxy: the client is then the last address in
// it that is not itself a trusted proxy. An IPv6 client is its /64, which is what one
// subscriber has.
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

func within(prefixes []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}
