package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/httpapi"
	"vqa/handlers/wire"
)

// The bounds of the HTTP server. Bodies and responses have a pace instead of a deadline:
// a video may take long to play.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	drainTimeout      = 10 * time.Second
	// followTimeout is how long callers who wait for an analysis are still served: they
	// would wait for work that the shutdown cuts off.
	followTimeout = 2 * time.Second
)

// openHTTP makes the server of the connections that its listener lets in.
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

// drain lets running requests end, and cuts off those that do not.
func (s *server) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	stopping := fault.New(fault.CapacityExhausted, "This node is stopping; send the request again.").WithRetryAfter(1)
	impatient := time.AfterFunc(followTimeout, func() { s.endRequests(stopping) })
	defer impatient.Stop()
	defer s.endRequests(stopping)
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

// baseURL is where this very server answers.
func (s *server) baseURL() string {
	addr, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err == nil && addr.Addr().IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", addr.Port())
	}
	return "http://" + s.listener.Addr().String()
}
