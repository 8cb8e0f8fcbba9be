package signal

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
)

// Streams are the streams of the service.
type Streams interface {
	// Place returns where a stream is now. It returns a *fault.Fault with resource_not_found for a stream
	// that does not exist.
	Place(ctx context.Context, streamID string) (Place, error)
	// End ends a stream for its client. It is called while the stream has no owner.
	End(ctx context.Context, streamID string) error
}

// Place says where a stream is. The first field that is set counts. The zero value means that the owner is
// about to open the stream.
type Place struct {
	// Ended is the reason of the end.
	Ended stream.EndReason
	// Refused is why the stream ended before it had a session, if its account or its key was refused.
	Refused *fault.Fault
	// Queued is the position of a stream without a slot.
	Queued *message.Queued
	// Session is the stream on this node.
	Session Session
	// Ready has the ICE servers and the limits for the client. It counts only with Session.
	Ready message.Ready
	// Node is the base URL of the other node that owns the stream.
	Node string
}

// Session is a stream on its owner. It is safe for concurrent use. Errors are for the client when they are
// a *fault.Fault.
type Session interface {
	// Answer answers an offer: the first one, or a restart of ICE. via is "signaling" or "whip".
	Answer(ctx context.Context, via, offer string) (string, error)
	// AddCandidate adds a candidate of the client. The zero value says that all were sent.
	AddCandidate(c message.Candidate) error
	// Report keeps ICE errors that the client saw.
	Report(errors ...message.ICEError)
	// UpdatePrompt replaces the question. Subscribers get prompt_updated.
	UpdatePrompt(ctx context.Context, prompt string) error
	// End ends the stream for the client, and waits until it has ended. The end goes on when ctx ends.
	// Subscribers get end.
	End(ctx context.Context) error
	// Joined says that a client opened a socket, and Left that it is closed.
	Joined()
	Left()
	// Subscribe returns the messages: the results after a number as far as they are kept, and all that
	// follow. A negative number asks for no earlier results.
	Subscribe(after int64) Subscription
	// Done is closed when the session is over.
	Done() <-chan struct{}
}

// Subscription is a queue of messages for one goroutine.
type Subscription interface {
	// Next returns the next message. It returns io.EOF when the session is over, and another error for a
	// reader that is too slow, or when ctx ends.
	Next(ctx context.Context) (message.Server, error)
	Close()
}

// Options of a Server. Streams is required; the others have defaults.
type Options struct {
	Streams Streams
	// Client connects to other nodes, with the path of the client's request. It needs timeouts of its own for the connection and for the header of a response, but none
	// for the whole request. The default is http.DefaultClient.
	Client *http.Client
	// Sign adds the header PassedOn to a request that is passed on to a URL. It says who sent the request of the
	// client, because the credential is not passed on. It may be nil in tests of one node.
	Sign func(out http.Header, in *http.Request, method, url string) error
	// Join is the time from the connection to the message join: 10 s.
	Join time.Duration
	// Ping is the time between two pings: 20 s.
	Ping time.Duration
	// Pong is the longest time until a pong: 15 s.
	Pong time.Duration
	// Write is the longest time of a write to a client or a node: 10 s.
	Write time.Duration
	// Call is the longest time of a call of Streams or of a Session: 10 s.
	Call time.Duration
	// Poll is the time between two reads of the place of a stream that waits: 500 ms.
	Poll time.Duration
	// Lost is the time for which a place or an owner may be out of reach: 30 s.
	Lost time.Duration
	// Heartbeat is the time between two comments of an event stream without events: 15 s.
	Heartbeat time.Duration
	// Rate is the number of messages a second: 20.
	Rate float64
	// Burst is the number of messages at once: 100.
	Burst int
	// PerStream is the number of sockets of a stream, and also of its event streams: 4.
	PerStream int
	// Total is the number of sockets of this node, and also of its event streams: 2000.
	Total int
	// Now is the clock: time.Now.
	Now func() time.Time
	// Logger gets what an operator should know. The default discards.
	Logger *slog.Logger
}

// Server serves the clients of live streams. It is safe for concurrent use.
type Server struct {
	Options
	ctx     context.Context //nolint:containedctx // its end closes all connections
	stop    context.CancelCauseFunc
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	sockets register
	readers register
	whip    map[string]*whipSession // by stream
}

// New returns a server. The caller must call Close.
func New(o Options) *Server {
	o.Join, o.Ping, o.Pong = cmp.Or(o.Join, 10*time.Second), cmp.Or(o.Ping, 20*time.Second), cmp.Or(o.Pong, 15*time.Second)
	o.Write, o.Call = cmp.Or(o.Write, 10*time.Second), cmp.Or(o.Call, 10*time.Second)
	o.Poll, o.Lost = cmp.Or(o.Poll, 500*time.Millisecond), cmp.Or(o.Lost, 30*time.Second)
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.Rate, o.Burst = cmp.Or(o.Rate, 20), cmp.Or(o.Burst, 100)
	o.PerStream, o.Total = cmp.Or(o.PerStream, 4), cmp.Or(o.Total, 2000)
	o.Client = cmp.Or(o.Client, http.DefaultClient)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sign == nil {
		o.Sign = func(out http.Header, _ *http.Request, _, _ string) error { out.Set(PassedOn, "1"); return nil }
	}
	s := &Server{Options: o, whip: map[string]*whipSession{}}
	s.sockets, s.readers = register{open: map[string][]*member{}}, register{open: map[string][]*member{}}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// Close closes all connections and waits until they are closed, at most until ctx ends. The streams go on.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop(errGoingAway)
	ended := make(chan struct{})
	go func() { s.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// member is a connection of a stream in a register.
type member struct{ replace context.CancelCauseFunc }

// register has the open connections of each stream, the oldest first.
type register struct {
	total int
	open  map[string][]*member
}

// enter adds a connection of a stream to a register. It ends the oldest connection of the stream when there
// are too many. The returned context ends with parent, with the server, and with the connection's place
// in the register. Error: capacity_exhausted.
func (s *Server) enter(parent context.Context, r *register, streamID string) (ctx context.Context, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || r.total >= s.Total {
		return nil, nil, fault.New(fault.CapacityExhausted, "This node has too many connections of live streams. Try again later.").WithRetryAfter(1)
	}
	if list := r.open[streamID]; len(list) >= s.PerStream {
		list[0].replace(errReplaced)
		r.open[streamID] = slices.Clone(list[1:])
	}
	ctx, cancel := context.WithCancelCause(parent)
	release := context.AfterFunc(s.ctx, func() { cancel(errGoingAway) })
	m := &member{replace: cancel}
	r.total++
	r.open[streamID] = append(r.open[streamID], m)
	s.running.Add(1)
	return ctx, func() {
		release()
		cancel(nil)
		s.mu.Lock()
		r.total--
		r.open[streamID] = slices.DeleteFunc(r.open[streamID], func(o *member) bool { return o == m })
		if len(r.open[streamID]) == 0 {
			delete(r.open, streamID)
		}
		s.mu.Unlock()
		s.running.Done()
	}, nil
}

// place returns where a stream is, within Options.Call.
func (s *Server) place(ctx context.Context, streamID string) (Place, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Call)
	defer cancel()
	return s.Streams.Place(ctx, streamID)
}

// StatusError is a fault with a status that its code does not have.
type StatusError struct {
	Status int
	Fault  *fault.Fault
}

// Error implements error.
func (e *StatusError) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *StatusError) Unwrap() error { return e.Fault }

// HTTPStatus returns the status of the response.
func (e *StatusError) HTTPStatus() int { return e.Status }
