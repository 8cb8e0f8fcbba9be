package peer

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxConnections and maxPerAddress bound the TCP connections of a port. Anyone can open them.
	maxConnections, maxPerAddress = 1024, 256
	// greetingTime bounds the time until a TCP connection must have named its session.
	greetingTime = 5 * time.Second
	// acceptPause is the wait after an error of the machine, such as too many open files.
	acceptPause = 50 * time.Millisecond
)

// gate is a listener that closes connections beyond its bounds at once. It survives errors of the machine.
type gate struct {
	net.Listener

	mu   sync.Mutex
	open map[netip.Addr]int
	all  int
}

func newGate(l net.Listener) *gate { return &gate{Listener: l, open: map[netip.Addr]int{}} }

// Accept returns the next connection within the bounds, or an error when the listener is closed.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			time.Sleep(acceptPause)
			continue
		}
		from := addrPort(conn.RemoteAddr()).Addr()
		if !g.enter(from) {
			_ = conn.Close()
			continue
		}
		return &admitted{Conn: conn, leave: sync.OnceFunc(func() { g.leave(from) })}, nil
	}
}

func (g *gate) enter(from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == maxConnections || g.open[from] == maxPerAddress {
		return false
	}
	g.all++
	g.open[from]++
	return true
}

func (g *gate) leave(from netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.open[from]--; g.open[from] == 0 {
		delete(g.open, from)
	}
}

// admitted is a connection that a gate counts until it is closed.
type admitted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (a *admitted) Close() error {
	defer a.leave()
	return a.Conn.Close()
}
