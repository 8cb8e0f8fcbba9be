// Package streams gives the slots of this node to live streams and joins the commands, the read model and the
// media of package streaming.
//
// # Owners
//
// A node with a free slot takes the stream that waits longest, and owns it until its end. The owner is an
// incarnation of a node (eventstore/node). Each second a node looks for:
//
//	queued, a slot is free        it takes the stream; live ones first, and those of test mode, which cost nothing,
//	                              get a quarter of the slots at most
//	ready, the owner is dead      a node with a free slot takes the stream
//	live, the owner is dead       the stream ends as error, billed up to its last heartbeat
//	own, ended by another node    its session gets the end
//	own, without a session        it is opened again, or ends as error when it was live
//	own, its account is           it ends as error, after the message error with the code of the refusal. The key
//	restricted or its key         is the one that created the stream, or that minted the client token which did
//	does not authenticate
//
// When the lease of this node is over, its sessions stop at once, because another node may end their streams.
// The next lease begins without sessions.
//
// # Requests on another node
//
// A socket, a WHIP request or an end that reaches a node which does not own the stream is passed on to the
// owner, at the address that it announced. An end of a live stream is refused while the owner is alive and does
// not answer. Without an owner, it is recorded up to the last heartbeat.
//
// It may import what the program imports. Only this package knows both handlers and streaming.
package streams
