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
	// refusals bounds the refused connections that get a response at the same time. Others are
	// closed without one.
	refusals = 64
	// refuseTimeout bounds the response to a refused connection.
	refuseTimeout = time.Second
	// maxHeader bounds the request line with the headers, in bytes. It is several times the
	// size of a session token, the longest credential. net/http adds 4 KiB.
	maxHeader = 60 << 10
)

// Options are what a Listener enforces.
type Options struct {
	// PerAddress is the largest number of open connections of one client address. 0 means no
	// limit. For IPv6, all addresses of a /64 count as one.
	PerAddress int
	// Uncounted are the networks of trusted proxies. Their connections belong to many clients.
	Uncounted []netip.Prefix
	// Refuse returns a complete HTTP/1.1 response for a request that reached no handler.
	// status is that of net/http, or 429 for a connection beyond PerAddress. reason is a
	// sentence without its final period, or empty.
	Refuse func(client net.Addr, status int, reason string) []byte
}

// Listener limits the connections that it accepts.
type Listener struct {
	net.Listener
	Options

	mu   sync.Mutex
	open map[netip.Addr]int

	refusing chan struct{}
	answers  sync.WaitGroup
}

// Listen returns a Listener for the connections of l.
func Listen(l net.Listener, o Options) *Listener {
	return &Listener{Listener: l, Options: o, open: map[netip.Addr]int{}, refusing: make(chan struct{}, refusals)}
}

// Attach prepares a server for the connections of l. The handler of the server must be set.
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
		l.reject(raw)
	}
}

// Close implements net.Listener. It waits for the responses to refused connections.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.answers.Wait()
	return err
}

// enter counts a connection of a client, unless the client has too many. leave uncounts it.
func (l *Listener) enter(client net.Addr) (leave func(), ok bool) {
	at, err := netip.ParseAddrPort(client.String())
	address := at.Addr().Unmap().WithZone("")
	trusted := slices.ContainsFunc(l.Uncounted, func(p netip.Prefix) bool { return p.Contains(address) })
	if err != nil || l.PerAddress == 0 || trusted {
		return func() {}, true
	}
	if network, err := address.Prefix(64); err == nil && address.Is6() {
		address = network.Addr() // one subscriber usually has a /64
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

// reject responds to a connection that is one too many. It reads the data of the client
// meanwhile, because closing a connection with unread data would discard the response.
func (l *Listener) reject(c net.Conn) {
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
