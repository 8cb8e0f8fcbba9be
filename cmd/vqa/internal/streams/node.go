package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"vqa/domain/account"
	"vqa/domain/answer"
	"vqa/domain/queue"
	"vqa/domain/stream"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/gpu"
	"vqa/handlers/command"
	"vqa/projections/resources"
	"vqa/streaming/assemble"
	"vqa/streaming/decode"
	"vqa/streaming/live"
	"vqa/streaming/peer"
	"vqa/streaming/signal"
)

// Presence is the lease of this node, and the leases of the others.
type Presence interface {
	Lease(ctx context.Context) (eventstore.Lease, error)
	Alive(ctx context.Context) (func(node string) bool, error)
	Address(ctx context.Context, incarnation string) (string, error)
}

// Options of a Node.
type Options struct {
	Commands *command.Service
	Read     *resources.Reader
	Presence Presence
	// Slots is the number of streams that this node runs at once.
	Slots        int
	Media        *peer.Server
	FFmpeg       decode.FFmpeg
	Engine       gpu.Engine
	Calibrations answer.Calibrations
	Windows      stream.Windows
	Grace        time.Duration
	// PublicURL is the base URL of the service.
	PublicURL string
	// MaxSession is the longest session, for the life of credentials.
	MaxSession time.Duration
	Recordings Recordings
	// CheckKey returns the fault of an API key that does not authenticate now.
	CheckKey func(account.Key) error
	// PreflightKey signs the ids of preflights. All nodes have the same.
	PreflightKey []byte
	// Sign signs a request that is passed on to another node; see edge.Passing.
	Sign func(out http.Header, in *http.Request, method, url string) error
	// Client sends requests to other nodes.
	Client *http.Client
	// Timed gets the times of each result, and Counted the counts of the media of each session at its end.
	Timed   func(live.Timing)
	Counted func(assemble.Counts)
	Now     func() time.Time
	Log     *slog.Logger
}

// Node runs the live streams of this node. It is safe for concurrent use.
type Node struct {
	Options
	signal     *signal.Server
	preflights *preflights
	// filling has a token while one look runs.
	filling chan struct{}
	// queued are the creators of the streams that waited at the last look. The look that has the token uses it.
	queued map[string]string

	// forgetting counts the sessions whose end is awaited.
	forgetting sync.WaitGroup

	mu sync.Mutex
	// term is the present lease with its sessions, or nil.
	term *term
}

// term is the time of one lease.
type term struct {
	lease eventstore.Lease
	// ctx has the lease.
	ctx  context.Context
	host *live.Host

	mu   sync.Mutex
	runs map[string]command.StreamRun
	// creators are the actors that created the streams of runs.
	creators map[string]string
}

// New returns a node. Run starts it, and the caller must call Close.
func New(o Options) *Node {
	n := &Node{Options: o, filling: make(chan struct{}, 1)}
	n.signal = signal.New(signal.Options{Streams: places{n}, Client: o.Client, Sign: o.Sign, Now: o.Now, Logger: o.Log})
	n.preflights = newPreflights(n)
	return n
}

const (
	// lookEvery is the time between two looks for streams that wait or lost their owner.
	lookEvery = time.Second
	// windDown bounds the wait for sessions to record their ends.
	windDown = 5 * time.Second
	// fillPatience is how long a request waits for a look that runs. The next look finds its stream.
	fillPatience = 500 * time.Millisecond
	// readTimeout bounds a read of the streams.
	readTimeout = 5 * time.Second
)

// Run takes streams during each lease of this node, until ctx ends. Then it ends the sessions.
func (n *Node) Run(ctx context.Context) {
	for ctx.Err() == nil {
		lease, err := n.Presence.Lease(ctx)
		if err != nil {
			return
		}
		n.serve(ctx, lease)
	}
}

// serve takes streams until the lease is over or ctx ends.
func (n *Node) serve(ctx context.Context, lease eventstore.Lease) {
	working, cancel := eventstore.WithLease(context.WithoutCancel(ctx), lease)
	defer cancel()
	t := &term{lease: lease, ctx: working, runs: map[string]command.StreamRun{}, creators: map[string]string{}}
	t.host = live.NewHost(n.host(t))
	n.setTerm(t)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for over := false; !over; {
		n.look(working, t)
		select {
		case <-look.C:
		case <-lease.Context().Done():
			over = true
		case <-ctx.Done():
			over = true
		}
	}
	n.setTerm(nil)
	limit := windDown
	if lease.Check() != nil {
		limit = 0 // nothing can be recorded any more
	}
	closing, end := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer end()
	if err := t.host.Close(closing); err != nil {
		n.Log.WarnContext(ctx, "live streams were cut off; another node ends them", "error", err)
	}
	n.forgetting.Wait()
}

func (n *Node) setTerm(t *term) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.term = t
}

func (n *Node) current() *term {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.term
}

// Count returns the numbers of the streams of this node: those that wait for their client, and those that are live.
func (n *Node) Count() (ready, live int) {
	t := n.current()
	if t == nil {
		return 0, 0
	}
	for _, s := range t.host.Sessions() {
		switch s.State().Status {
		case stream.Ready:
			ready++
		case stream.Live:
			live++
		case stream.Queued, stream.EndedStatus: // it has no session, or not for long
		}
	}
	return ready, live
}

// Close closes the connections of clients and ends preflights. The streams end with Run.
func (n *Node) Close(ctx context.Context) error {
	n.preflights.close()
	return n.signal.Close(ctx)
}

// Fill gives free slots of this node to the streams that wait longest.
func (n *Node) Fill(ctx context.Context) {
	if t := n.current(); t != nil {
		ctx, cancel := context.WithTimeout(ctx, fillPatience)
		defer cancel()
		n.look(ctx, t)
	}
}

// look finds the streams that this node must take or end. Errors are logged: the next look repeats it.
func (n *Node) look(ctx context.Context, t *term) {
	select {
	case n.filling <- struct{}{}:
		defer func() { <-n.filling }()
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := n.settle(ctx, t); err != nil && ctx.Err() == nil && t.lease.Check() == nil {
		n.Log.WarnContext(ctx, "cannot look for live streams; trying again", "error", err)
	}
}

func (n *Node) settle(ctx context.Context, t *term) error {
	active, err := n.Read.ActiveStreams(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(n.observe(ctx, t, active), n.revoke(ctx, t)); err != nil {
		return err
	}
	if active, err = n.revokeQueued(ctx, active); err != nil {
		return err
	}
	own, test, foreign := 0, 0, false
	for _, st := range active {
		if st.Node != t.lease.Incarnation() {
			foreign = foreign || st.Node != ""
			continue
		}
		own++
		if !st.Livemode {
			test++
		}
	}
	alive := func(string) bool { return true }
	if foreign {
		if alive, err = n.Presence.Alive(ctx); err != nil {
			return err
		}
	}
	// Live streams go first. Streams of test mode cost nothing, so they get a part of the slots only.
	slices.SortStableFunc(active, func(a, b stream.State) int { return cmp.Compare(rank(a), rank(b)) })
	var errs []error
	for _, st := range active {
		if st.Node == t.lease.Incarnation() {
			errs = append(errs, n.resume(ctx, t, st))
			continue
		}
		dead := st.Node != "" && !alive(st.Node)
		switch {
		case st.Status == stream.Live && dead:
			errs = append(errs, n.endLost(ctx, st))
		case !st.Livemode && test >= queue.TestSlots(n.Slots):
		case own < n.Slots && (st.Status == stream.Queued || st.Status == stream.Ready && dead):
			taken, err := n.take(ctx, t, st)
			if errs = append(errs, err); taken {
				own++
				test += rank(st)
			}
		}
	}
	return errors.Join(errs...)
}

// rank is 0 for a live stream and 1 for one of test mode.
func rank(st stream.State) int {
	if st.Livemode {
		return 0
	}
	return 1
}

// resume takes up a stream of this node whose session is gone, although the stream has not ended.
func (n *Node) resume(ctx context.Context, t *term, st stream.State) error {
	if _, running := t.host.Session(st.ID); running {
		return nil
	}
	if st.Status == stream.Live {
		return n.endLost(ctx, st)
	}
	_, err := n.take(ctx, t, st)
	return err
}

// observe tells the sessions of this node which of their streams have ended.
func (n *Node) observe(ctx context.Context, t *term, active []stream.State) error {
	open := make(map[string]stream.State, len(active))
	for _, st := range active {
		open[st.ID] = st
	}
	for _, s := range t.host.Sessions() {
		st, found := open[s.ID()]
		if !found {
			var err error
			if st, err = n.Read.StreamByID(ctx, s.ID()); err != nil {
				return err
			}
		}
		s.Observe(st)
	}
	return nil
}

// take makes this node the owner of a stream. It returns false when another node was first.
func (n *Node) take(ctx context.Context, t *term, st stream.State) (bool, error) {
	cause, creator, err := n.Commands.OriginOf(ctx, fold.Stream.Stream(st.ID))
	if err != nil {
		return false, err
	}
	run := command.StreamRun{AccountID: st.AccountID, StreamID: st.ID, Actor: "live", Cause: cause}
	granted, err := n.Commands.GrantStream(ctx, run, t.lease.Incarnation(), st.Node)
	if command.IsStale(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	t.runs[st.ID], t.creators[st.ID] = run, creator
	t.mu.Unlock()
	s, err := t.host.Open(granted)
	if err != nil {
		return true, fmt.Errorf("open stream %s: %w", st.ID, err)
	}
	n.forgetting.Go(func() { n.forget(t, s) })
	return true, nil
}

// forget removes what belongs to a session when it has ended, and gives its slot to the next stream.
func (n *Node) forget(t *term, s *live.Session) {
	<-s.Done()
	t.mu.Lock()
	delete(t.runs, s.ID())
	delete(t.creators, s.ID())
	t.mu.Unlock()
	if n.current() == t {
		n.look(t.ctx, t)
	}
}

// endLost ends a live stream whose owner died.
func (n *Node) endLost(ctx context.Context, st stream.State) error {
	return n.sweep(ctx, st, fmt.Sprintf("The node %s that ran the stream was lost.", st.Node))
}

// sweep ends a stream that no node runs as failed.
func (n *Node) sweep(ctx context.Context, st stream.State, detail string) error {
	cause, err := n.Commands.CauseOf(ctx, fold.Stream.Stream(st.ID))
	if err != nil {
		return err
	}
	run := command.StreamRun{AccountID: st.AccountID, StreamID: st.ID, Actor: "sweep", Cause: cause}
	_, _, err = n.Commands.ChangeStream(ctx, run, stream.End{Reason: stream.Failed, Detail: detail})
	if command.IsStale(err) {
		return nil
	}
	return err
}
