package chaos_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// How the address watches the nodes.
const (
	checkEvery   = time.Second
	checkTimeout = 3 * time.Second
	// failuresMost is the number of failed checks in a row after which a node gets no requests.
	failuresMost = 2
)

// address is the load balancer in front of the nodes. It sends each request to one node and never
// repeats it. When no node is ready it uses all, as common load balancers do, so that callers get the
// errors of the service.
type address struct {
	targets []*target
	turn    atomic.Uint64
	server  http.Server
}

// target is a node as the address sees it.
type target struct {
	ready atomic.Bool
	base  *url.URL
	proxy *httputil.ReverseProxy
}

func newAddress(bases []string) (*address, error) {
	a := &address{}
	for _, base := range bases {
		u, err := url.Parse(base)
		if err != nil {
			return nil, err
		}
		t := &target{base: u}
		t.proxy = &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(u)
				r.SetXForwarded()
				r.Out.Host = r.In.Host
			},
			Transport: &http.Transport{
				DialContext:         (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
				MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
			},
			ErrorLog: log.New(io.Discard, "", 0),
		}
		a.targets = append(a.targets, t)
	}
	a.server.Handler, a.server.ReadHeaderTimeout = a, time.Minute
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *address) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first := a.turn.Add(1)
	chosen := a.targets[first%uint64(len(a.targets))]
	for i := range a.targets {
		if t := a.targets[(first+uint64(i))%uint64(len(a.targets))]; t.ready.Load() {
			chosen = t
			break
		}
	}
	chosen.proxy.ServeHTTP(w, r)
}

// watch checks the nodes until ctx ends.
func (a *address) watch(ctx context.Context) {
	var watchers sync.WaitGroup
	for _, t := range a.targets {
		watchers.Go(func() { t.watch(ctx) })
	}
	watchers.Wait()
}

func (t *target) watch(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	// A check must not wait behind a connection of a node that is cut off.
	checker := &http.Client{Timeout: checkTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	failures := failuresMost
	for {
		if t.check(ctx, checker) {
			failures = 0
		} else {
			failures++
		}
		t.ready.Store(failures < failuresMost)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (t *target) check(ctx context.Context, checker *http.Client) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base.JoinPath("/readyz").String(), nil)
	if err != nil {
		return false
	}
	resp, err := checker.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}
