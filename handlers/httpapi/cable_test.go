package httpapi_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type cable struct {
	listener net.Listener
	// asked counts the bytes that went to the server.
	asked atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
}

func plug(t *testing.T, server string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{listener: listener}
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
			c.mu.Unlock()
			copies.Go(func() {
				_, _ = io.Copy(near, far)
				_ = near.Close()
			})
			copies.Go(func() {
				_, _ = io.Copy(far, counted{near, &c.asked})
				_ = far.Close()
			})
		}
	})
	t.Cleanup(func() { c.pull(); copies.Wait() })
	return c
}

func (c *cable) pull() {
	_ = c.listener.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
