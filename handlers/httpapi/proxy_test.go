package httpapi_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy is a TCP proxy in front of the database. It counts round trips and can cut all
// connections.
type proxy struct {
	listener net.Listener
	// trips counts the round trips to the server.
	trips atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
	// severed is true while new connections are closed at once.
	severed bool
}

// startProxy starts a proxy in front of a server.
func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &proxy{listener: listener}
	var copies sync.WaitGroup
	copies.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			severed := c.severed
			c.mu.Unlock()
			if severed {
				_, _ = near.Close(), far.Close()
				continue
			}
			copies.Go(func() {
				_, _ = io.Copy(near, far)
				_ = near.Close()
			})
			copies.Go(func() {
				_, _ = io.Copy(io.MultiWriter(&trips{n: &c.trips}, far), near)
				_ = far.Close()
			})
		}
	})
	t.Cleanup(func() { c.cut(); copies.Wait() })
	return c
}

// sever closes every connection, and new ones at once until restore.
func (c *proxy) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.severed = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *proxy) restore() { c.mu.Lock(); defer c.mu.Unlock(); c.severed = false }

// cut closes every connection and refuses new ones.
func (c *proxy) cut() {
	_ = c.listener.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// trips counts the Sync messages of a client, which sends one for each round trip. A message
// has a type and a length, except for the first one, which has no type (PostgreSQL, "Message
// Formats").
type trips struct {
	n *atomic.Int64
	// began is true after the first message.
	began bool
	// head is the start of a message whose length is not known yet. rest is the number of
	// bytes that are left of a message with a known length.
	head []byte
	rest int
}

// Write implements io.Writer.
func (t *trips) Write(p []byte) (int, error) {
	all := len(p)
	for len(p) > 0 {
		if t.rest > 0 {
			n := min(t.rest, len(p))
			t.rest, p = t.rest-n, p[n:]
			continue
		}
		t.head, p = append(t.head, p[0]), p[1:]
		kind := 0
		if t.began {
			kind = 1
		}
		if len(t.head) < kind+4 {
			continue
		}
		if t.began && t.head[0] == 'S' {
			t.n.Add(1)
		}
		t.rest = int(binary.BigEndian.Uint32(t.head[kind:])) - 4
		t.began, t.head = true, t.head[:0]
	}
	return all, nil
}
