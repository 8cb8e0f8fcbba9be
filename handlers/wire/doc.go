// Package wire bounds what a connection may cost: how many a client address may hold, how
// slow its peer may be in both directions, and what it reads when net/http refuses a
// request before any handler sees it.
//
//	pace.go      a body or a response that is too slow is cut off
//	listener.go  connections for each address; those beyond are answered and closed
//	conn.go      net/http's own errors become the error envelope
//
// State of a connection, as conn knows it:
//
//	reading  from its accept, and after each response: what is written now is net/http's
//	         own error, and Options.Refuse writes another answer in its place
//	handled  from the call of the handler to the end of its response: writes pass
//
// A connection that sends no whole header within http.Server.ReadHeaderTimeout, or that is
// idle for longer than IdleTimeout, is closed; net/http may answer a header that has begun.
//
// It imports the standard library only.
package wire
