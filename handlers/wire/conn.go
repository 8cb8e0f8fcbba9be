package wire

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// errorTimeout bounds the rest of a connection after an error of net/http.
const errorTimeout = time.Second

type closeWriter interface{ CloseWrite() error }

// conn is a connection that records whether its request has reached the handler.
type conn struct {
	net.Conn
	refuse func(client net.Addr, status int, reason string) []byte
	leave  func()
	// handled is true from the call of the handler to the end of its response.
	handled atomic.Bool
	// refused is true after an error of net/http, which then closes the connection.
	refused bool
}

// Write implements net.Conn. Before a handler is called, net/http writes only errors in plain
// text. Write replaces them.
func (c *conn) Write(p []byte) (int, error) {
	if c.handled.Load() {
		return c.Conn.Write(p)
	}
	if c.refused {
		return len(p), nil
	}
	c.refused = true
	status, reason := parseError(p)
	// net/http still reads the body after it refuses an Expect header.
	_ = c.SetDeadline(time.Now().Add(errorTimeout))
	if _, err := c.Conn.Write(c.refuse(c.RemoteAddr(), status, reason)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite lets net/http close its side first, so that the client can read an error while it
// is still sending.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(closeWriter); ok {
		return half.CloseWrite()
	}
	return nil
}

// parseError returns the status and the reason of an error of net/http, for example
// "HTTP/1.1 400 Bad Request: missing required Host header\r\n…".
func parseError(p []byte) (status int, reason string) {
	line, _, _ := bytes.Cut(p, []byte("\r\n"))
	_, after, _ := strings.Cut(string(line), " ")
	code, text, _ := strings.Cut(after, " ")
	status, err := strconv.Atoi(code)
	if err != nil || status < http.StatusBadRequest {
		status = http.StatusBadRequest
	}
	_, reason, _ = strings.Cut(text, ": ")
	return status, reason
}
