package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/httpapi"
	"vqa/handlers/wire"
)

// The time limits of the HTTP server. Bodies and responses have a minimum rate instead of a
// deadline, because a long video takes long to play.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	drainTimeout      = 10 * time.Second
	// followTimeout is the time limit for callers who wait for an analysis during a shutdown. The
	// shutdown interrupts the work that they wait for.
	followTimeout = 2 * time.Second
)

// openHTTP makes the HTTP server, with a listener that limits connections per address.
func (s *server) openHTTP(ctx context.Context, c config, handler httpapi.Handler) error {
	proxies, err := c.proxies()
	if err != nil {
		return err
	}
	limited := wire.Listen(s.listener, wire.Options{PerAddress: c.MaxConnections, Uncounted: proxies, Refuse: handler.Refuse})
	s.listener = limited
	requests, endRequests := context.WithCancelCause(context.WithoutCancel(ctx))
	s.endRequests = endRequests
	s.http = &http.Server{
		BaseContext: func(net.Listener) context.Context { return requests },
		Handler:     handler, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	limited.Attach(s.http)
	return nil
}

// drain waits for running requests, and interrupts those that take too long.
func (s *server) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	stopping := fault.New(fault.CapacityExhausted, "This server is shutting down. Send the request again.").WithRetryAfter(1)
	impatient := time.AfterFunc(followTimeout, func() { s.endRequests(stopping) })
	defer impatient.Stop()
	defer s.endRequests(stopping)
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

// nodeURL returns the base URL at which other nodes reach this one.
func (s *server) nodeURL() string {
	if s.config.NodeURL != "" {
		return strings.TrimSuffix(s.config.NodeURL, "/")
	}
	addr, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err != nil || !addr.Addr().IsUnspecified() {
		return s.baseURL()
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return s.baseURL()
	}
	for _, own := range interfaces {
		if ip, ok := own.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			return "http://" + net.JoinHostPort(ip.IP.String(), strconv.Itoa(int(addr.Port())))
		}
	}
	return s.baseURL()
}

// baseURL returns the URL of this server's own listener.
func (s *server) baseURL() string {
	addr, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err == nil && addr.Addr().IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", addr.Port())
	}
	return "http://" + s.listener.Addr().String()
}
