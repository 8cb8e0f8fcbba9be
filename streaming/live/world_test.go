package live_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
	"vqa/domain/stream"
	"vqa/streaming/assemble"
	"vqa/streaming/decode"
	"vqa/streaming/live"
	"vqa/streaming/message"
	"vqa/streaming/peer"
)

// wire is a connection whose events the test makes.
type wire struct {
	session peer.Session

	mu     sync.Mutex
	offers []string
	closed bool
	whole  bool // pictures arrived: there is no hint
}

// Open implements live.Peers.
func (w *wire) Open(s peer.Session) (live.Peer, error) {
	w.session = s
	return w, nil
}

// Answer implements live.Peer.
func (w *wire) Answer(_ context.Context, offer string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if offer == "" {
		return "", &peer.OfferError{Message: "The offer has no video."}
	}
	w.offers = append(w.offers, offer)
	return "v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=rtpmap:96 H264/90000\r\n", nil
}

func (w *wire) AddCandidate(peer.Candidate) error { return nil }
func (w *wire) Report(...peer.ClientError)        {}
func (w *wire) RequestKeyframe()                  {}

// Diagnostics implements live.Peer.
func (w *wire) Diagnostics() peer.Diagnostics {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := peer.Diagnostics{
		Local: []string{"udp 192.0.2.1:5000 host"}, Remote: []string{"udp 198.51.100.7:6000 srflx"},
		Pairs: []string{"192.0.2.1:5000 - 198.51.100.7:6000 succeeded"}, Hint: "A hint.",
	}
	if w.whole {
		d.Hint, d.Media.Pictures = "", 1
	}
	return d
}

// Close implements live.Peer.
func (w *wire) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// samples makes each picture a sample, except those that say undecodable.
type samples struct {
	fresh chan decode.Sample
	done  chan struct{}
	once  sync.Once
	made  atomic.Int64
}

func newSamples() live.Sampler {
	return &samples{fresh: make(chan decode.Sample, 1), done: make(chan struct{})}
}

// undecodable are the bytes of a picture of which no sample is made.
const undecodable = "undecodable"

// Push replaces the newest sample.
func (s *samples) Push(p assemble.Picture) {
	if string(p.Data) == undecodable {
		return
	}
	s.made.Add(1)
	select {
	case <-s.fresh:
	default:
	}
	s.fresh <- decode.Sample{Time: p.Time, At: p.At, Width: 640, Height: 360, JPEG: p.Data}
}

// Next returns the newest sample.
func (s *samples) Next(ctx context.Context) (decode.Sample, error) {
	select {
	case p := <-s.fresh:
		return p, nil
	default:
	}
	select {
	case p := <-s.fresh:
		return p, nil
	case <-s.done:
		return decode.Sample{}, decode.ErrClosed
	case <-ctx.Done():
		return decode.Sample{}, context.Cause(ctx)
	}
}

// Counts returns the number of samples.
func (s *samples) Counts() decode.Counts { return decode.Counts{Samples: s.made.Load()} }

// Close ends Next.
func (s *samples) Close() { s.once.Do(func() { close(s.done) }) }

// model is an engine that finds in each sample the terms that its bytes name.
type model struct {
	took time.Duration
	open bool // takes any term

	mu       sync.Mutex
	away     error
	requests []live.Request
	flying   int
	most     int // calls in flight
}

// Info implements live.Engine.
func (m *model) Info(context.Context) (live.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open {
		return live.Info{Weights: answer.CPUWeights}, m.away
	}
	return live.Info{Weights: answer.CPUWeights, Vocabulary: vocabulary.COCO().Names()}, m.away
}

// Detect implements live.Engine.
func (m *model) Detect(ctx context.Context, r live.Request) (live.Response, error) {
	m.mu.Lock()
	m.requests = append(m.requests, r)
	m.flying++
	m.most = max(m.most, m.flying)
	m.mu.Unlock()
	select {
	case <-time.After(m.took):
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flying--
	if err := errors.Join(m.away, ctx.Err()); err != nil {
		return live.Response{}, err
	}
	out := live.Response{Known: make([]bool, len(r.Terms))}
	for i, term := range r.Terms {
		out.Known[i] = true
		if term == string(r.JPEG) {
			out.Detections = append(out.Detections, evidence.Detection{
				Term: i, Score: .8, Box: evidence.Box{X1: .25, Y1: .5, X2: .5, Y2: 1},
			})
		}
	}
	return out, nil
}

func (m *model) setAway(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = err
}

// reader reads the messages of a subscription.
type reader struct {
	mu  sync.Mutex
	all []message.Server
	// late has the time from the start of the clock to the arrival of each result, less its AtS.
	late []time.Duration
	live time.Time
	err  error
}

func read(s *live.Subscription) *reader {
	r := &reader{}
	go func() {
		defer s.Close()
		for {
			m, err := s.Next(context.Background())
			r.mu.Lock()
			if err != nil {
				r.err = err
				r.mu.Unlock()
				return
			}
			r.all = append(r.all, m)
			switch m := m.(type) {
			case message.Live:
				r.live = time.Now()
			case message.Result:
				r.late = append(r.late, time.Since(r.live)-time.Duration(m.AtS*float64(time.Second)))
			}
			r.mu.Unlock()
		}
	}()
	return r
}

// of returns the messages of one type.
func of[M message.Server](r *reader) []M {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []M
	for _, m := range r.all {
		if m, is := m.(M); is {
			found = append(found, m)
		}
	}
	return found
}

// delays returns how late each result came.
func (r *reader) delays() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.late)
}

// world is a host with one session, on virtual time.
type world struct {
	*testing.T
	log     *ledger
	wire    *wire
	model   *model
	host    *live.Host
	session *live.Session
	reader  *reader
}

var windows = stream.Windows{Join: time.Minute, ICE: 30 * time.Second, FirstFrame: 15 * time.Second}

// cannedResult is the result of test mode.
var cannedResult = stream.Result{Answer: answer.Yes, Confidence: .9, NarrativeUpdate: &stream.NarrativeUpdate{Text: "A dog is in view."}}

// run plays a test in a world. It checks at the end that nothing was left behind: a goroutine that does
// not end fails the test.
func run(t *testing.T, c stream.Create, balance int64, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, log: newLedger(t, c, balance), wire: &wire{}, model: &model{took: 50 * time.Millisecond}}
		w.host = live.NewHost(live.Options{
			Peers: w.wire, Engine: w.model, Log: w.log, Windows: windows,
			Compile: func(_ context.Context, _ bool, prompt string) (query.Query, stream.ParseMode, error) {
				return english.Compile(prompt), stream.ParseHeuristic, nil
			},
			PublicURL: "https://vqa.example/",
			Canned:    func(query.Query) stream.Result { return cannedResult },
		})
		w.host.SampleWith(newSamples)
		s, err := w.host.Open(w.log.state)
		require.NoError(t, err)
		w.session, w.reader = s, read(s.Subscribe(0))
		defer w.host.Close(context.Background()) // in case the test fails
		test(w)
		require.NoError(t, w.host.Close(t.Context()))
		synctest.Wait()
		require.ErrorIs(t, w.reader.err, io.EOF)
		_, open := w.host.Session(c.ID)
		require.False(t, open)
	})
}

// connect lets the client join and go live.
func (w *world) connect() {
	w.Helper()
	w.session.Joined()
	_, err := w.session.Answer(w.Context(), "signaling", "offer")
	require.NoError(w, err)
	w.wire.session.Changed(peer.Connected)
	synctest.Wait()
	require.Equal(w, stream.Live, w.session.State().Status)
}

// show sends ten pictures per second for a time. They show what their bytes name.
func (w *world) show(what string, d time.Duration) {
	time.Sleep(30 * time.Millisecond) // so that no picture comes in the moment of a heartbeat
	for end := time.Now().Add(d); time.Now().Before(end) && !w.over(); {
		w.wire.session.Picture(assemble.Picture{Data: []byte(what), At: time.Now()})
		time.Sleep(time.Second / 10)
	}
	synctest.Wait()
}

// over reports whether the session has ended.
func (w *world) over() bool {
	select {
	case <-w.session.Done():
		return true
	default:
		return false
	}
}

// end ends the stream as a client does.
func (w *world) end() {
	w.Helper()
	require.NoError(w, w.session.End(w.Context()))
	synctest.Wait()
}

// wait waits until the session has ended, at most for a time.
func (w *world) wait(d time.Duration) {
	w.Helper()
	select {
	case <-w.session.Done():
	case <-time.After(d):
		w.Fatalf("the session has not ended after %v", d)
	}
	synctest.Wait()
}
