package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// refusals bounds the refused connections that are answered at once. Others are closed
	// without an answer.
	refusals = 64
	// refuseTimeout bounds the answer to a refused connection.
	refuseTimeout = time.Second
	// maxHeader bounds the request line with the headers, in bytes: several times what a
	// session token, the longest credential, needs. net/http adds 4 KiB.
	maxHeader = 60 << 10
)

// Options are what a Listener enforces.
type Options struct {
	// PerAddress is how many open connections one client address may have; 0 is no limit.
	// An IPv6 client is its /64.
	PerAddress int
	// Uncounted are the networks of trusted proxies, whose connections are those of many
	// clients.
	Uncounted []netip.Prefix
	// Refuse writes a whole HTTP/1.1 response for a client whose request no handler saw.
	// status is net/http's own, or 429 for a connection beyond PerAddress. reason is a
	// sentence without its end, or empty.
	Refuse func(client net.Addr, status int, reason string) []byte
}

// Listener counts the connections that it accepts.
type Listener struct {
	net.Listener
	Options

	mu   sync.Mutex
	open map[netip.Addr]int

	refusing chan struct{}
	answers  sync.WaitGroup
}

// Listen takes connections from l.
func Listen(l net.Listener, o Options) *Listener {
	return &Listener{Listener: l, Options: o, open: map[netip.Addr]int{}, refusing: make(chan struct{}, refusals)}
}

// Attach prepares a server for the connections of l: its handler must be set.
func (l *Listener) Attach(s *http.Server) {
	type key struct{}
	next := s.Handler
	s.MaxHeaderBytes = maxHeader
	s.DisableGeneralOptionsHandler = true
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, c) }
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*conn); ok && state == http.StateIdle {
			c.handled.Store(false)
		}
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(key{}).(*conn); ok {
			c.handled.Store(true)
		}
		next.ServeHTTP(w, r)
	})
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if leave, ok := l.enter(raw.RemoteAddr()); ok {
			return &conn{Conn: raw, refuse: l.Refuse, leave: sync.OnceFunc(leave)}, nil
		}
		l.turnAway(raw)
	}
}

// Close implements net.Listener. It waits for the answers to refused connections.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.answers.Wait()
	return err
}

// enter counts a connection of a client, unless it has too many. leave ends the count.
func (l *Listener) enter(client net.Addr) (leave func(), ok bool) {
	at, err := netip.ParseAddrPort(client.String())
	address := at.Addr().Unmap().WithZone("")
	trusted := slices.ContainsFunc(l.Uncounted, func(p netip.Prefix) bool { return p.Contains(address) })
	if err != nil || l.PerAddress == 0 || trusted {
		return func() {}, true
	}
	if network, err := address.Prefix(64); err == nil && address.Is6() {
		address = network.Addr() // what one subscriber has
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[address] >= l.PerAddress {
		return nil, false
	}
	l.open[address]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[address]--; l.open[address] == 0 {
			delete(l.open, address)
		}
	}, true
}

// turnAway answers a connection that is one too many. It reads what the client sends
// meanwhile: closing a connection with unread data would discard the answer.
func (l *Listener) turnAway(c net.Conn) {
	select {
	case l.refusing <- struct{}{}:
	default:
		_ = c.Close()
		return
	}
	l.answers.Go(func() {
		defer func() { _ = c.Close(); <-l.refusing }()
		_ = c.SetDeadline(time.Now().Add(refuseTimeout))
		reason := fmt.Sprintf("This address has %d open connections already", l.PerAddress)
		if _, err := c.Write(l.Refuse(c.RemoteAddr(), http.StatusTooManyRequests, reason)); err != nil {
			return
		}
		if half, ok := c.(closeWriter); ok {
			_ = half.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(c, maxHeader))
	})
}
