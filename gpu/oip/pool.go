package oip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"vqa/gpu"
)

// Defaults and bounds of a Pool.
const (
	// defaultWait is how long a call waits for a server with room.
	defaultWait = 30 * time.Second
	// maxWaiting bounds the calls that wait for room, over all servers.
	maxWaiting = 256
	// maxAttempts bounds the servers that one call is tried on.
	maxAttempts = 3
	// probeTimeout bounds the requests of a probe.
	probeTimeout = 5 * time.Second
	// minEjection and maxEjection bound the pause of a server that failed.
	minEjection, maxEjection = time.Second, 30 * time.Second
	// refusalFor is how long a server counts as saturated after a refusal, unless it takes
	// work sooner.
	refusalFor = 5 * time.Second
)

// ErrOtherModel is the cause when a server serves another model than the others. The answer
// to a question must not depend on the server.
var ErrOtherModel = errors.New("serves other weights, terms or colors than the other servers")

// PoolOptions are the Options of every client, and those of the pool.
type PoolOptions struct {
	Options
	// Wait bounds the wait for a server with room; 30 seconds when 0.
	Wait time.Duration
	// Log records when a server leaves the pool and comes back; slog.Default when nil.
	Log *slog.Logger
}

// Server is one member of a Pool.
type Server struct {
	// Name identifies the server in the log; it has no secrets.
	Name   string
	Engine gpu.Engine
	// Close is called by Pool.Close; may be nil.
	Close func()
}

// Pool is a gpu.Engine made of servers of the same model. The package documentation,
// "Several servers", says how it chooses among them.
type Pool struct {
	opts     PoolOptions
	members  []*member
	lifetime context.Context // of probes, which belong to no caller
	stop     context.CancelFunc
	probes   sync.WaitGroup

	mu sync.Mutex
	// turn changes with every choice, so that equal servers take turns.
	turn    int
	waiting int
	closed  bool
	// changed is closed, and replaced, whenever a member may have become free.
	changed chan struct{}
}

var _ gpu.Engine = (*Pool)(nil)

// Open returns a pool of the servers at the URLs: http(s)://host[:port][/path] or
// grpc(s)://host:port, each once. It sends nothing before the first call.
func Open(urls []string, opts PoolOptions) (*Pool, error) {
	var servers []Server
	closeAll := func() {
		for _, s := range servers {
			s.Close()
		}
	}
	seen := map[string]bool{}
	for _, raw := range urls {
		raw = strings.TrimSpace(raw)
		if seen[raw] {
			closeAll()
			return nil, errors.New("inference URL: a server is listed twice")
		}
		seen[raw] = true
		s, err := open(raw, opts.Options)
		if err != nil {
			closeAll()
			return nil, err
		}
		servers = append(servers, s)
	}
	if len(servers) == 0 {
		return nil, errors.New("inference URL: at least one is required")
	}
	return NewPool(servers, opts), nil
}

func open(raw string, opts Options) (Server, error) {
	if strings.HasPrefix(raw, "grpc://") || strings.HasPrefix(raw, "grpcs://") {
		c, err := NewGRPC(raw, opts)
		if err != nil {
			return Server{}, err
		}
		return Server{Name: raw, Engine: c, Close: c.Close}, nil
	}
	c, err := New(raw, opts)
	if err != nil {
		return Server{}, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return Server{}, errors.New("inference URL: malformed")
	}
	return Server{Name: u.Redacted(), Engine: c, Close: c.Close}, nil
}

// NewPool returns a pool of at least one server.
func NewPool(servers []Server, opts PoolOptions) *Pool {
	if opts.Wait <= 0 {
		opts.Wait = defaultWait
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	p := &Pool{opts: opts, changed: make(chan struct{})}
	p.lifetime, p.stop = context.WithCancel(context.Background())
	for _, s := range servers {
		p.members = append(p.members, &member{Server: s})
	}
	return p
}

// Close ends the probes, waits for them, and closes the servers' clients. Calls must have
// ended before.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.probes.Wait()
	for _, m := range p.members {
		if m.Close != nil {
			m.Close()
		}
	}
}

// Check asks every server for its model. Error: two of them differ (ErrOtherModel), or ctx
// ended. A server that cannot be reached is logged, and checked when it comes in.
func (p *Pool) Check(ctx context.Context) error {
	p.mu.Lock()
	for _, m := range p.members {
		p.probe(m)
	}
	p.mu.Unlock()
	for {
		p.mu.Lock()
		pending, changed := false, p.changed
		var differ error
		for _, m := range p.members {
			pending = pending || m.state == probing
			if errors.Is(m.err, ErrOtherModel) {
				differ = fmt.Errorf("%s: %w", m.Name, m.err)
			}
		}
		p.mu.Unlock()
		if !pending {
			return differ
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("inference: %w", context.Cause(ctx))
		}
	}
}

// Detect implements gpu.Engine.
func (p *Pool) Detect(ctx context.Context, req gpu.Request) (resp gpu.Response, err error) {
	err = p.try(ctx, func(m *member) error {
		resp, err = m.Engine.Detect(ctx, req)
		return err
	})
	return resp, err
}

// Info implements gpu.Engine. Concurrency is the sum over all servers in use.
func (p *Pool) Info(ctx context.Context) (info gpu.Info, err error) {
	err = p.try(ctx, func(m *member) error {
		if info, err = m.Engine.Info(ctx); err != nil {
			return err
		}
		return p.recognize(m, info)
	})
	if err != nil {
		return gpu.Info{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	total := 0
	for _, m := range p.members {
		if m.state == in {
			total += m.info.Concurrency
		}
	}
	info.Concurrency = min(max(total, info.Concurrency), maxConcurrency)
	return info, nil
}

// try makes a call on one server after another, until one is not unavailable.
func (p *Pool) try(ctx context.Context, call func(*member) error) error {
	var tried []*member
	var away error
	for range min(len(p.members), maxAttempts) {
		m, err := p.acquire(ctx, tried)
		if err != nil {
			if away != nil && ctx.Err() == nil {
				return away
			}
			return err
		}
		err = call(m)
		p.release(ctx, m, err)
		if _, unavailable := errors.AsType[*gpu.UnavailableError](err); !unavailable {
			return err
		}
		tried = append(tried, m)
		// A busy server says more than one that is down.
		if away == nil || !errors.Is(away, gpu.ErrSaturated) {
			away = err
		}
	}
	return away
}

// Ready implements gpu.Engine: nil when a server reports at this moment that it is ready,
// and not all servers in use refuse work. The error wraps gpu.ErrSaturated when they do.
func (p *Pool) Ready(ctx context.Context) error {
	p.mu.Lock()
	var asked []*member
	for _, m := range p.members {
		if m.state == in {
			asked = append(asked, m)
		}
	}
	p.mu.Unlock()
	if p.anyReady(ctx, asked) {
		if p.saturated() {
			return &gpu.UnavailableError{Err: gpu.ErrSaturated}
		}
		return nil
	}
	m, err := p.acquire(ctx, asked)
	if err == nil {
		p.leave(m)
	}
	return err
}

// anyReady asks all servers at once, so that one that hangs does not hide another. It
// returns with the first that is ready.
func (p *Pool) anyReady(ctx context.Context, asked []*member) bool {
	first, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	ready := make(chan bool, len(asked))
	for _, m := range asked {
		asking.Go(func() {
			err := m.Engine.Ready(first)
			if err != nil && first.Err() == nil {
				p.eject(m, err)
			}
			ready <- err == nil
		})
	}
	defer asking.Wait()
	defer cancel()
	for range asked {
		if <-ready {
			return true
		}
	}
	return false
}
