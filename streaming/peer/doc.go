// Package peer is the WebRTC end of the service: it answers offers, finds a path through NATs and
// loss, and delivers complete pictures.
//
// It may import the standard library, pion and streaming/assemble. It knows nothing of streams,
// credits or sockets: it reports pictures and states through the functions of a Session.
//
// # Addresses
//
// A Server listens on one port, over UDP and TCP, for all peers. The public address of a machine
// behind a NAT replaces its own in candidates. The answer has all candidates, so the service has
// none to send later. Candidates of clients are accepted at any time, also before the offer, 64
// for an offer. Checks never go to an address of this machine because a client named it, except to the client's own
// allocation at the embedded relay. With a public address, they never go to a named private one either. mDNS names
// and link-local addresses are ignored. A client at such an address connects by its own checks: ICE then finds a
// peer-reflexive candidate.
//
// # Codecs
//
// The answer has one codec: H.264, otherwise VP8, otherwise VP9. So the sender cannot change it. Of a simulcast, it has
// the last layer. An offer that cannot work is refused with an *OfferError: no video, two videos, nothing to receive,
// no known codec, or no H.264 where a recording needs it.
//
// # Rotation
//
// The answer accepts urn:3gpp:video-orientation, without which Chromium sends no picture of a turned camera. Each
// picture has its rotation; streaming/decode makes it upright.
//
// # States
//
//	Waiting -> Connected        ICE and DTLS have succeeded
//	Waiting -> Failed           no path within ConnectTimeout of the offer
//	Connected -> Waiting        an offer with an ICE restart
//	Connected -> Disconnected   no packet for 3 s
//	Disconnected -> Connected   packets again, or an ICE restart
//	Disconnected -> Failed      not within ConnectTimeout
//	Failed -> Connected         packets after all
//	Failed -> Waiting           an offer with an ICE restart
//	any -> Closed               the client closed the connection (DTLS)
//
// ICE checks keep a peer Connected without media, so the user of the package times the media itself.
//
// # Loss
//
// The assembler decides which packets to request again (NACK) and when to ask for a keyframe (PLI);
// see streaming/assemble. The generator of pion is not used: it does not count packets that came
// back by retransmission, and requests them until they leave its log.
//
// # Changes
//
// The newest track of a client replaces the one before. A client whose NAT gives it another address does
// not notice it and nominates no other path: a Disconnected connection moves to the path on which the checks of
// the client arrive.
//
// # Bounds
//
// A client has at most 64 RTP and RTCP sources at a time, with 512 KiB of unread packets each, and is cut off beyond.
// A port has at most 1024 TCP connections, 256 of one address. Each has 5 s to name its session. 256 KiB wait for one that
// does not read, and more are dropped. Reports of a client cost some microseconds each and are not answered.
//
// # Relay
//
// The embedded TURN server relays to the media port of its own Server and to nothing else. The
// handler of permissions sees only the IP, so the socket of an allocation checks the port too, in
// both directions. A client has 4 allocations and the server 128. Credentials are of the form
// "expiry:client" with an HMAC. Each refresh checks them, so they must outlive the session.
package peer
