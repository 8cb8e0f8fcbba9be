package egress

import "net/netip"

// Sources: the IANA IPv4 and IPv6 special-purpose address registries.
var (
	forbiddenIPv4 = prefixes(
		"0.0.0.0/8",        // this network
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // shared (carrier NAT); holds 100.100.100.200, a metadata address
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // platform services of a cloud, public by number only
		"169.254.0.0/16",   // link-local; holds 169.254.169.254, the metadata address
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments; holds 192.0.0.192, a metadata address
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, broadcast
	)
	publicIPv6    = netip.MustParsePrefix("2000::/3")
	forbiddenIPv6 = prefixes(
		"2001::/23",     // protocol assignments; holds Teredo, benchmarks, ORCHID
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4
		"3fff::/20",     // documentation
	)
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(texts))
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

// public reports whether an address may be dialed.
func public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	forbidden := forbiddenIPv4
	if a.Is6() {
		if !publicIPv6.Contains(a) {
			return false
		}
		forbidden = forbiddenIPv6
	}
	for _, p := range forbidden {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsValid()
}
