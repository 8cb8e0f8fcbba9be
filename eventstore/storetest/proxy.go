package storetest

import (
	"context"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy is a TCP proxy in front of a database that can fall silent, like the network of a machine that
// is cut off: connections stay open and no byte passes.
type Proxy struct {
	// URL is the URL of the database through the proxy.
	URL string

	target   string
	listener net.Listener
	copies   sync.WaitGroup

	mu    sync.Mutex
	open  chan struct{} // closed while bytes pass
	ended chan struct{} // closed at the end of the test
	conns []net.Conn
}

// NewProxy starts a proxy in front of the database at databaseURL, for one test.
func NewProxy(t testing.TB, databaseURL string) *Proxy {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatalf("database url: %v", err)
	}
	p := &Proxy{target: u.Host, open: make(chan struct{}), ended: make(chan struct{})}
	close(p.open)
	if p.listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatalf("listen: %v", err)
	}
	u.Host = p.listener.Addr().String()
	p.URL = u.String()
	p.copies.Go(p.accept)
	t.Cleanup(p.end)
	return p
}

// Silence holds back all bytes. New connections are accepted, and hang too.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

// Resume delivers the bytes that were held back.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

func (p *Proxy) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	close(p.ended)
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.copies.Wait()
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		p.copies.Go(func() { p.copy(near, far) })
		p.copies.Go(func() { p.copy(far, near) })
	}
}

// copy passes on bytes, and at last the end of the connection, while the proxy is not silent.
func (p *Proxy) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		select {
		case <-open:
		case <-p.ended:
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}
