// Package wire limits connections: their number for each client address, and how slow a client
// may be in both directions. It also replaces the errors that net/http writes before a handler
// is called.
//
//	pace.go      ends a body or a response that is too slow
//	refuse.go    lets a client read an error that came before the end of its body
//	listener.go  limits the connections of an address; it refuses and closes further ones
//	conn.go      turns the errors of net/http into the error envelope
//
// It stands beside httpapi and not in httpapi/edge, because handlers/objects paces uploads with
// it and must not depend on the API.
//
// States of a connection:
//
//	reading  from its accept, and after each response: a write is an error of net/http,
//	         and Options.Refuse writes a response in its place
//	handled  from the call of the handler to the end of its response: writes pass
//
// A connection is closed when its request header is incomplete after
// http.Server.ReadHeaderTimeout, or when it is idle for longer than IdleTimeout. net/http may
// answer an incomplete header.
//
// It imports only the standard library.
package wire
