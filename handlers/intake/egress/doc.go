// Package egress is the only outbound HTTP client of the program for addresses that
// a caller names: URL ingest today, webhooks and their overrides later. It reaches
// public hosts over https on port 443 and nothing else.
//
// It may import domain/fault, the standard library and golang.org/x/net/idna.
//
// # Guarantees
//
//   - The address that is dialed is the address that was checked: a name is resolved
//     once per connection, every answer is judged, and a literal address is dialed.
//     A second look at the socket's own address (net.Dialer.Control) guards the
//     first. DNS that changes its mind between a check and a dial gains nothing.
//   - Each redirect, at most five, passes the same checks as the first URL.
//   - One forbidden address among the answers of a name forbids the name.
//   - No proxy is taken from the environment, no cookie, credential or referrer is
//     sent, no connection is kept, and no compressed body is accepted.
//   - Connecting, waiting for headers, silence and the whole transfer have deadlines, a
//     body has a least rate (32 KiB a second over 20 s), headers and body have size
//     limits; a body is streamed in constant memory.
//   - Messages for the caller never hold a resolved address or a socket error, so
//     that they do not map the network behind the service. Causes are for the log.
//
// # What is forbidden
//
// Every address outside the public unicast space: IPv4 special-purpose blocks of
// RFC 6890 and its successors, multicast, reserved, shared (100.64/10), link-local
// with the metadata addresses, and the platform address 168.63.129.16. Of IPv6 only
// 2000::/3 is public; from it the documentation, protocol, Teredo and 6to4 blocks are
// taken, so every form that embeds an IPv4 address (compatible, NAT64, Teredo, 6to4)
// is refused whole, and the mapped form is judged as the IPv4 address it is. Hosts
// reached only through NAT64 are therefore out of reach unless listed.
//
// A numeric host in any spelling but four plain decimals (2130706433, 0177.0.0.1,
// 0x7f.1, 127.1), a percent escape, a zone, credentials in the URL, a single-label
// name and the names reserved for local use are refused before any look-up.
//
// # Why not doyensec/safeurl
//
// v0.2.2 was read: it checks the dialed address as here, but an allowed address turns
// its block list into an allow list of addresses (exact host:port pairs cannot be
// added to the public space), a redirect's scheme is not checked, IPv6 is all or
// nothing, a zone in an address panics, NAT64's local prefix and IPv4-compatible
// forms pass, and the resolver cannot be injected. What it would leave to do is all
// of the above.
package egress
