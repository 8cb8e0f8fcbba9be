package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/stream"
	"vqa/streaming/assemble"
	"vqa/streaming/decode"
	"vqa/streaming/peer"
)

// Log records what happens to a stream. The command side implements it.
type Log interface {
	// Record decides a command and stores its events, together with their effects on the credits:
	//
	//   - A Meter comes with the known HeldSeconds. When few of them are left, Record extends the hold as
	//     far as the available credits allow, and replaces HeldSeconds by the new sum.
	//   - An End comes without Usage. Record sets it by stream.State.Billable and settles the hold.
	//
	// It returns the latest state and funds, also with a *fault.Fault that refuses the command. An error
	// that is retryable, or that is not a fault, says that the log is away: the command may be repeated.
	Record(ctx context.Context, streamID string, c stream.Command) (stream.State, Funds, error)
}

// Funds are the credits of an account, in seconds.
type Funds struct {
	// Balance is the posted balance. It still has the seconds that the stream has used so far.
	Balance int64
	// Available is the part of it that nothing holds.
	Available int64
}

// Peer is the connection to one client; *peer.Peer implements it.
type Peer interface {
	Answer(ctx context.Context, offer string) (string, error)
	AddCandidate(c peer.Candidate) error
	Report(errors ...peer.ClientError)
	RequestKeyframe()
	Diagnostics() peer.Diagnostics
	Close()
}

// Peers opens connections; see WebRTC.
type Peers interface {
	Open(s peer.Session) (Peer, error)
}

// WebRTC returns the peers of a server.
func WebRTC(s *peer.Server) Peers { return server{s} }

type server struct{ *peer.Server }

func (s server) Open(session peer.Session) (Peer, error) {
	p, err := s.Server.Open(session)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Recorder stores the pictures of one stream.
type Recorder interface {
	// Push adds the next picture. It does not block.
	Push(p assemble.Picture)
	// Close stores the last part and waits, at most until ctx ends. An error says that the capture broke.
	Close(ctx context.Context) error
}

// Recording has the functions that a Recorder calls. They do not block.
type Recording struct {
	// Stored is called with each stored part, in order.
	Stored func(part stream.Part)
	// Failed is called at most once, when the capture broke. Nothing is recorded afterwards.
	Failed func(err error)
	// Full is called at most once, when the recording ends although the stream goes on, with the reason.
	Full func(f *fault.Fault)
}

// Options of a Host. Peers, FFmpeg, Engine, Log, Compile and Canned are required.
type Options struct {
	Peers  Peers
	FFmpeg decode.FFmpeg
	// Colors returns filters that convert the colors of a stream to BT.709; it may be nil.
	Colors func(assemble.Light) []string
	Engine Engine
	Log    Log
	// Calibrations are the measured calibrations, beside that of the embedded model.
	Calibrations answer.Calibrations
	// Compile compiles the prompt of an update, in test mode without a language model. A *fault.Fault is for the
	// client.
	Compile func(ctx context.Context, livemode bool, prompt string) (query.Query, stream.ParseMode, error)
	// Canned returns the result of a stream of test mode. The same query has the same result. AtS is set
	// by the session.
	Canned func(q query.Query) stream.Result
	// Record opens the recorder of a stream that asks for a recording. It may be nil when there are none. An error
	// fails the recording, and the stream goes on.
	Record func(s stream.State, report Recording) (Recorder, error)
	// PublicURL is the base of the documents' addresses in messages.
	PublicURL string
	// Relay returns the id of the client of a stream at the TURN server. It may be nil.
	Relay func(s stream.State) string
	// Windows are the times that a stream waits for its client.
	Windows stream.Windows
	// Grace is the time that a live client that vanished has to come back. The default is 20 s.
	Grace time.Duration
	// Meter is the time between two heartbeats. The default is 5 s.
	Meter time.Duration
	// FPS is the largest number of samples per second of a stream. The default is 5.
	FPS int
	// Calls is the number of calls of the engine in flight, for all streams together. The default is 2.
	Calls int
	// Timed gets the times of each result, and Media the counts of the media of each session at its end, for
	// metrics. They must not block. They may be nil.
	Timed func(Timing)
	Media func(assemble.Counts)
	// Logger gets what an operator should know. The default discards.
	Logger *slog.Logger
	// Now is the clock. The default is time.Now.
	Now func() time.Time
}

// Timing has the times of one result.
type Timing struct {
	// Total is the time from the last packet of the picture to the result.
	Total time.Duration
	// Engine is the part of it in which the engine worked.
	Engine time.Duration
	// First is the time from going live to the first result. It is 0 for the others.
	First time.Duration
}

// Defaults of Options.
const (
	defaultGrace = 20 * time.Second
	defaultMeter = 5 * time.Second
	defaultFPS   = 5
	defaultCalls = 2
)

// ErrHostClosed is returned by Open after Close.
var ErrHostClosed = errors.New("live: the host is closed")

// Host runs the sessions of a node. It is safe for concurrent use.
type Host struct {
	options Options
	turns   turns
	running sync.WaitGroup
	// sample starts the sampler of a session. It is decode.New, except in tests.
	sample func(keyframe func()) sampler

	mu       sync.Mutex
	sessions map[string]*Session
	closed   bool
}

// NewHost returns a host without sessions. The caller must call Close.
func NewHost(o Options) *Host {
	o.Grace, o.Meter = cmp.Or(o.Grace, defaultGrace), cmp.Or(o.Meter, defaultMeter)
	o.FPS, o.Calls = cmp.Or(o.FPS, defaultFPS), cmp.Or(o.Calls, defaultCalls)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Host{
		options: o, turns: newTurns(o.Calls), sessions: map[string]*Session{},
		sample: func(keyframe func()) sampler {
			return decode.New(o.FFmpeg, decode.Options{FPS: o.FPS, MaxGap: MaxGap, Colors: o.Colors, Keyframe: keyframe, Now: o.Now})
		},
	}
}

// sampler turns pictures into samples; *decode.Decoder implements it.
type sampler interface {
	Push(p assemble.Picture)
	Next(ctx context.Context) (decode.Sample, error)
	Counts() decode.Counts
	Close()
}

// Open returns the session of a ready stream whose slot belongs to this node, and starts it when there is
// none.
func (h *Host) Open(st stream.State) (*Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrHostClosed
	}
	if s := h.sessions[st.ID]; s != nil {
		return s, nil
	}
	if st.Status != stream.Ready {
		return nil, fmt.Errorf("live: stream %s is %s and cannot be opened", st.ID, st.Status)
	}
	s := newSession(h, st)
	h.sessions[st.ID] = s
	h.running.Go(func() {
		s.run()
		h.mu.Lock()
		delete(h.sessions, st.ID)
		h.mu.Unlock()
		close(s.done)
	})
	return s, nil
}

// Session returns a session that runs on this node.
func (h *Host) Session(id string) (s *Session, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok = h.sessions[id]
	return s, ok
}

// Sessions returns all sessions.
func (h *Host) Sessions() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	return all
}

// Close ends all sessions and waits until they have ended. Live streams end as error. Others stay ready for
// another node. When ctx ends, streams whose end is not recorded yet are given up: another node ends
// them when the lease of this one is over.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, s := range h.Sessions() {
		s.shutDown()
	}
	ended := make(chan struct{})
	go func() { h.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	left := h.Sessions()
	for _, s := range left {
		s.giveUp()
	}
	<-ended
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("live: close: %w", context.Cause(ctx))
}
