// Package signal connects the clients of live streams: over a WebSocket (docs/contract.md#signaling), over
// WHIP (RFC 9725), and as readers of server-sent events.
//
// It may import the standard library, domain, streaming/message, streaming/live and the WebSocket library.
// Only the function Live knows the session of package live. The others use the interfaces Streams and
// Session. The caller has authorized each request and has checked its origin.
//
// A request that is refused before the first byte of its response returns an error: a *fault.Fault, or a
// *StatusError for a status that no code of the registry has.
//
// # A socket
//
//	joining  until the message join, at most Options.Join
//	waiting  the stream has no slot, or its owner is not known or not reachable: Place is read each
//	         Options.Poll; an end of the client works here too
//	here     this node owns the stream: messages go to the session and come from it
//	passed   another node owns the stream: this node is its client, and copies messages both ways
//	closed
//
// A socket goes back to waiting when the session or the other node goes away without an end of the stream.
// A socket that another node has passed on is not passed on again, so two nodes that disagree make no
// circle. No credential is passed on: Options.Sign says who the client is.
//
// Closing a socket does not end the stream. The session decides how long it waits for another one.
//
// # Bounds of a socket
//
//	a message            message.MaxOffer bytes at most, also between nodes; else close 1009
//	messages             Options.Burst at once, then Options.Rate a second; else error, close 1008
//	refused in a row     the tenth malformed message: error, close 1008
//	join                 within Options.Join; else error, close 1008
//	credential           the context of the request ends with a fault: error, close 1008
//	ping                 each Options.Ping; without a pong for Options.Pong the socket is cut off
//	a write              Options.Write; a slower reader is cut off
//	sockets of a stream  Options.PerStream; a newer one replaces the oldest: error, close 4001
//	sockets of the node  Options.Total; else capacity_exhausted, before the upgrade
//
// Each socket has three goroutines: one reads, one pings, and one does everything else. They have ended
// when Socket returns. A session or a node that the socket is attached to adds one that reads from there.
package signal
