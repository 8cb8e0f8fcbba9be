package live

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/assemble"
	"vqa/streaming/message"
	"vqa/streaming/peer"
)

// Session is one stream on its owner. It is safe for concurrent use.
type Session struct {
	host  *Host
	id    string
	node  string
	clerk *clerk
	clock *clock
	fan   *fanout
	watch *watcher
	done  chan struct{} // closed when the session has ended
	news  chan struct{} // has a token when something in inputs changed
	found chan finding  // from the watcher
	// ctx ends when the media stop.
	ctx  context.Context //nolint:containedctx // its end stops the goroutines of the session
	stop context.CancelFunc
	// patience ends when the host gives the session up.
	patience context.Context //nolint:containedctx // its end stops the waits of the end
	abandon  context.CancelFunc
	working  sync.WaitGroup
	samples  sampler  // nil in test mode
	recorder Recorder // nil without a recording
	canned   *pace    // nil outside of test mode
	offers   allowance
	prompts  allowance

	mu     sync.Mutex
	inputs inputs
	peer   Peer
}

// inputs are what other goroutines tell the one of the session.
type inputs struct {
	state       stream.State
	funds       Funds
	answered    bool // the log answered the latest call
	refusedLive bool // the log refused that the stream is live
	refusedEnd  bool // the log refused the end
	connection  peer.State
	codec       string
	sockets     int
	ending      *ending // a wish to end, the first one
}

func newSession(h *Host, st stream.State) *Session {
	s := &Session{
		host: h, id: st.ID, node: st.Node, clock: &clock{}, fan: newFanout(), done: make(chan struct{}),
		news: make(chan struct{}, 1), found: make(chan finding),
		inputs: inputs{state: st, answered: true},
	}
	s.clerk = newClerk(h.options.Log, st.ID, s.heard)
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.patience, s.abandon = context.WithCancel(context.Background())
	s.watch = &watcher{host: h, clock: s.clock, report: s.deliver, described: func() { notify(s.news) }}
	s.watch.question.Store(&question{query: st.Query, narrative: st.Narrative})
	if st.Livemode {
		s.samples = h.sample(s.requestKeyframe)
		s.watch.samples = s.samples
	} else {
		s.canned = newPace()
	}
	if st.Recording && h.options.Record != nil && st.RecordingStatus != stream.RecordingFailed {
		s.record(st)
	}
	return s
}

// ID returns the id of the stream.
func (s *Session) ID() string { return s.id }

// Done is closed when the session has ended: the log has the end of the stream, or another node has it.
func (s *Session) Done() <-chan struct{} { return s.done }

// State returns the latest state that the log has reported.
func (s *Session) State() stream.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inputs.state
}

// Observe tells the session what another node recorded: an end through the API, or another owner. All
// else, and a state that is older than the known one, is ignored.
func (s *Session) Observe(st stream.State) {
	s.tell(func(in *inputs) {
		known := in.state
		moved := st.Node != s.node && st.ReadyAt != nil && st.ReadyAt.After(*known.ReadyAt)
		if st.ID == s.id && known.Status != stream.EndedStatus && (st.Status == stream.EndedStatus || moved) {
			in.state = st
		}
	})
}

// Answer answers an offer of the client: the first one, or a restart of ICE. via is how it came, such as
// "signaling". The error is a *fault.Fault for the client. After a refused offer, another one can follow.
func (s *Session) Answer(ctx context.Context, via, offer string) (string, error) {
	if !s.offers.take(s.host.options.Now()) {
		return "", fault.New(fault.RateLimitExceeded, "Too many offers. Send at most one a second.").WithRetryAfter(1)
	}
	p, err := s.connect()
	if err != nil {
		return "", err
	}
	sdp, err := p.Answer(ctx, offer)
	if err != nil {
		return "", forClient(err)
	}
	s.tell(func(in *inputs) { in.codec = codecOf(sdp) })
	if err := s.clerk.record(ctx, stream.Offer{Node: s.node, Via: via}); err != nil {
		return "", err
	}
	return sdp, nil
}

// AddCandidate adds a candidate of the client. An empty one says that all were sent. The error is a
// *fault.Fault for the client.
func (s *Session) AddCandidate(c peer.Candidate) error {
	p, err := s.connect()
	if err != nil {
		return err
	}
	return forClient(p.AddCandidate(c))
}

// Report keeps ICE errors that the client saw, for the diagnosis.
func (s *Session) Report(errors ...peer.ClientError) {
	if p, err := s.connect(); err == nil {
		p.Report(errors...)
	}
}

// Diagnostics describe the connection. They are empty before the first offer or candidate.
func (s *Session) Diagnostics() peer.Diagnostics {
	s.mu.Lock()
	p := s.peer
	s.mu.Unlock()
	if p == nil {
		return peer.Diagnostics{}
	}
	return p.Diagnostics()
}

// UpdatePrompt replaces the question. It returns when the log has it; the next sample is examined for it.
// Subscribers get prompt_updated. The error is a *fault.Fault for the client.
func (s *Session) UpdatePrompt(ctx context.Context, prompt string) error {
	if !s.prompts.take(s.host.options.Now()) {
		return fault.New(fault.RateLimitExceeded, "The prompt changes too often. Change it at most once a second.").WithRetryAfter(1)
	}
	q, mode, err := s.host.options.Compile(ctx, s.State().Livemode, prompt)
	if err != nil {
		return forClient(err)
	}
	before := s.State().Prompt
	if err := s.clerk.record(ctx, stream.UpdatePrompt{Prompt: prompt, Query: q, ParseMode: mode}); err != nil {
		return err
	}
	if before != nil && *before == prompt {
		s.broadcast(message.PromptUpdated{Prompt: prompt, Query: s.State().Query}) // nothing else confirms it
	}
	return nil
}

// End ends the stream for the client, and waits until it has ended.
func (s *Session) End(ctx context.Context) error {
	s.want(ending{})
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("live: end: %w", context.Cause(ctx))
	}
}

// Revoke ends the stream because its account or its API key may not use the service any more. Subscribers get the
// fault as error, then end.
func (s *Session) Revoke(f *fault.Fault) {
	say := message.ErrorOf(f)
	s.want(ending{reason: stream.Failed, detail: Refused(f), say: &say})
}

// Refused is the detail of a stream that ends because its account or its API key may not use the service any more.
func Refused(f *fault.Fault) string { return "The stream may not go on: " + string(f.Code) + "." }

// Subscribe returns the messages of the session: live if it is, the results after a number as far as they
// are kept, and all that follow. A negative number asks for no earlier results. The caller must call Close.
func (s *Session) Subscribe(after int64) *Subscription { return s.fan.subscribe(after) }

// Joined says that a client has opened a socket.
func (s *Session) Joined() { s.tell(func(in *inputs) { in.sockets++ }) }

// Left says that a client that Joined has closed its socket.
func (s *Session) Left() { s.tell(func(in *inputs) { in.sockets-- }) }

// shutDown ends the session because the node stops.
func (s *Session) shutDown() {
	if s.State().Status != stream.Live {
		s.want(ending{silent: true})
		return
	}
	s.want(ending{reason: stream.Failed, detail: "The node of the stream was shut down."})
}

// giveUp ends the waits for the recorder and the log.
func (s *Session) giveUp() {
	s.abandon()
	notify(s.news)
}

// want notes a wish to end. The first one counts.
func (s *Session) want(e ending) {
	s.tell(func(in *inputs) {
		if in.ending == nil {
			in.ending = &e
		}
	})
}

// tell changes the inputs and wakes the goroutine of the session.
func (s *Session) tell(change func(*inputs)) {
	s.mu.Lock()
	change(&s.inputs)
	s.mu.Unlock()
	notify(s.news)
}

// read returns the inputs.
func (s *Session) read() inputs {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inputs
}

// heard keeps what the log answered.
func (s *Session) heard(c stream.Command, st stream.State, f Funds, err error) {
	_, goes := c.(stream.GoLive)
	_, end := c.(stream.End)
	s.tell(func(in *inputs) {
		in.answered = !away(err)
		if st.Exists() && in.answered {
			in.state = st // a log that is away may return a state that it has not stored
		}
		if err == nil {
			in.funds = f
		}
		refused := err != nil && in.answered
		in.refusedLive = in.refusedLive || goes && refused
		if end {
			in.refusedEnd = refused
		}
	})
	if err != nil && s.ctx.Err() == nil {
		s.host.options.Logger.Warn("the log did not record a live stream", "stream_id", s.id, "command", fmt.Sprintf("%T", c), "error", err)
	}
}

// connect returns the peer, and opens it when there is none.
func (s *Session) connect() (Peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return nil, fault.New(fault.ResourceConflict, "The stream has ended.")
	case s.peer != nil:
		return s.peer, nil
	}
	relay := s.id
	if of := s.host.options.Relay; of != nil {
		relay = of(s.inputs.state)
	}
	p, err := s.host.options.Peers.Open(peer.Session{
		ID: s.id, Relay: relay, H264Only: s.inputs.state.Recording,
		Picture: s.picture,
		Changed: func(st peer.State) { s.tell(func(in *inputs) { in.connection = st }) },
	})
	if err != nil {
		f := fault.New(fault.InternalError, "")
		f.Cause = err
		return nil, f
	}
	s.peer = p
	return p, nil
}

// picture takes a complete picture from the peer.
func (s *Session) picture(p assemble.Picture) {
	if s.ctx.Err() != nil {
		return
	}
	before := s.clock.read(p.At)
	s.clock.frame(p.At)
	if s.recorder != nil {
		s.recorder.Push(p)
	}
	if s.samples != nil {
		s.samples.Push(p)
	} else {
		s.canned.push(p)
	}
	if !before.fed {
		notify(s.news)
	}
}

// requestKeyframe asks the client for a keyframe.
func (s *Session) requestKeyframe() {
	s.mu.Lock()
	p := s.peer
	s.mu.Unlock()
	if p != nil {
		p.RequestKeyframe()
	}
}

// broadcast sends a message to all subscribers.
func (s *Session) broadcast(m message.Server) { s.fan.send(m) }

// forClient returns the fault of an error.
func forClient(err error) error {
	var refused *peer.OfferError
	switch {
	case err == nil || fault.Of(err) != nil:
		return err
	case errors.As(err, &refused):
		return fault.New(fault.ValidationFailed, refused.Message)
	case errors.Is(err, peer.ErrClosed):
		return fault.New(fault.ResourceConflict, "The stream has ended.")
	}
	f := fault.New(fault.InternalError, "")
	f.Cause = err
	return f
}
