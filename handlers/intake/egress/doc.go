// Package egress is the only HTTP client of the program for URLs that a caller names. It
// fetches videos and metadata documents, and posts webhooks. It reaches only public hosts, over
// https: videos and documents on port 443, webhooks also on the ports from 1024 on.
//
// It may import domain/fault, the standard library and golang.org/x/net/idna.
//
// # Guarantees
//
//   - The checked address is dialed. A name is resolved once per connection, every address
//     of the answer is checked, and a literal address is dialed. The address of the socket is
//     checked a second time (net.Dialer.Control). DNS that changes between a check and a dial
//     therefore gains nothing.
//   - Each redirect, at most five, passes the same checks as the first URL.
//   - One forbidden address in the answer for a name forbids the name.
//   - The client uses no proxy from the environment, sends no cookies, credentials or
//     referrers, and accepts no compressed bodies.
//   - Connecting, waiting for headers, silence and the whole transfer have deadlines. A body
//     has a minimum rate (32 KiB per second over 20 s). Headers and bodies have size limits,
//     and a body is streamed in constant memory.
//   - Messages for the caller never contain a resolved address or a socket error, so they do
//     not reveal the network behind the service. Causes are for the log.
//
// # Two profiles
//
//	              Fetch                              Post
//	connections   one for each request               reused for up to 5 minutes; 2 idle ones for a
//	                                                 host, 1,000 in all, 30 s
//	redirects     followed                           not followed: the response is returned
//	deadlines     10 s to connect, 15 s for headers  3 s to connect, 3 s for TLS, 10 s in all
//	response      streamed                           at most 16 KiB read, 1 KiB kept
//
// The address of a connection is judged when it is dialed. A connection that is in use keeps its
// address, so connections end by their age. Posts use HTTP/1.1 alone: a slow response then delays no
// other request to its host.
//
// # Forbidden targets
//
// Every address outside the public unicast space is forbidden: the IPv4 special-purpose blocks
// of RFC 6890 and its successors, multicast, reserved, shared (100.64/10), link-local with the
// metadata addresses, and the platform address 168.63.129.16. In IPv6 only 2000::/3 is public,
// without its documentation, protocol, Teredo and 6to4 blocks. This refuses every form that
// embeds an IPv4 address (compatible, NAT64, Teredo, 6to4). The mapped form is checked as an
// IPv4 address. Hosts behind NAT64 must therefore be in the allow list.
//
// These are refused before any DNS lookup:
//   - a numeric host that is not four plain decimals (2130706433, 0177.0.0.1, 0x7f.1, 127.1)
//   - a percent escape, a zone, or credentials in the URL
//   - a name with a single label, and a name that is reserved for local use
//
// # Why not doyensec/safeurl
//
// Version 0.2.2 checks the dialed address too, but it lacks most of the rest:
//   - With one allowed address, its block list becomes an allow list of addresses. Exact
//     host:port pairs cannot be added to the public space.
//   - It does not check the scheme of a redirect.
//   - It can only allow or forbid IPv6 as a whole. The local prefix of NAT64 and
//     IPv4-compatible forms pass, and a zone in an address panics.
//   - The resolver cannot be replaced.
package egress
