package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/query"
	"vqa/domain/video"
	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/memory"
	"vqa/handlers/intake/fixture"
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// shim is between a pipeline and its log. A test sets its fields before the pipeline runs.
type shim struct {
	eventstore.Store
	beforeLoad   func(context.Context) error
	beforeAppend func(context.Context, eventstore.Batch) error
	// afterAppend receives the recorded events. The caller gets its error instead of them.
	afterAppend func(context.Context, eventstore.Batch) error
}

func (s *shim) Load(ctx context.Context, ids ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error) {
	if s.beforeLoad != nil {
		if err := s.beforeLoad(ctx); err != nil {
			return nil, err
		}
	}
	return s.Store.Load(ctx, ids...)
}

func (s *shim) Append(ctx context.Context, b eventstore.Batch) ([]eventstore.Recorded, error) {
	if s.beforeAppend != nil {
		if err := s.beforeAppend(ctx, b); err != nil {
			return nil, err
		}
	}
	recorded, err := s.Store.Append(ctx, b)
	if err == nil && s.afterAppend != nil {
		if err := s.afterAppend(ctx, b); err != nil {
			return nil, err
		}
	}
	return recorded, err
}

// intake is an object store with preset results.
type intake struct {
	file    video.File
	err     error
	keepErr error
	noRoom  error
	// during is called while the bytes are inspected.
	during func()

	mu                               sync.Mutex
	kept, closed, discarded, removed []string
}

func (i *intake) Room(int64) error { return i.noRoom }

func (i *intake) Inspect(_ context.Context, v video.State) (video.File, string, error) {
	if i.during != nil {
		i.during()
	}
	if i.err != nil {
		return video.File{}, "", i.err
	}
	f := i.file
	f.ObjectKey, f.ContentType = "videos/"+v.ID, v.ContentType
	return f, "ticket of " + v.ID, video.CheckUploadSize(v.DeclaredBytes, f.SizeBytes)
}

func (i *intake) Keep(_ context.Context, _, _, ticket string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.kept = append(i.kept, ticket)
	return i.keepErr
}

func (i *intake) Close(_ context.Context, videoID string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = append(i.closed, videoID)
	return nil
}

func (i *intake) Remove(_ context.Context, videoID, key string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removed = append(i.removed, videoID, key)
	return errors.New("the disk is gone") // the job repeats it
}

func (i *intake) RemoveRecording(_ context.Context, streamID string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removed = append(i.removed, streamID)
	return errors.New("the disk is gone")
}

func (i *intake) Discard(_ context.Context, key string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.discarded = append(i.discarded, key)
	return nil
}

// capacity returns preset values.
type capacity struct {
	down   error
	queued int
	// roomS has the seconds until each place is free.
	roomS []int
}

func (c *capacity) InferenceReady(context.Context) error        { return c.down }
func (c *capacity) QueuedAnalyses(context.Context) (int, error) { return c.queued, nil }

func (c *capacity) RoomIn(_ context.Context, places int) (seconds int, known bool) {
	if places > len(c.roomS) {
		return 0, false
	}
	return c.roomS[places-1], true
}

// plainSealer does not encrypt, so that tests can read the secrets.
type plainSealer struct{}

func (plainSealer) Seal(secret []byte, endpointID string) webhook.Secret {
	return webhook.Secret{Sealed: webhook.FormatSecret(secret), SealKeyID: "sealed for " + endpointID}
}

// world is a service with its log and its fakes.
type world struct {
	*Service
	t        testing.TB
	log      eventstore.Store
	clock    *clock
	intake   *intake
	capacity *capacity
}

// option changes a world before its pipeline runs.
type option func(*Dependencies)

func withStore(s eventstore.Store) option { return func(d *Dependencies) { d.Store = s } }

// withShim puts a shim between the pipeline and the log.
func withShim(s *shim) option {
	return func(d *Dependencies) {
		s.Store = d.Store
		d.Store = s
	}
}

func withLimits(change func(*Limits)) option { return func(d *Dependencies) { change(&d.Limits) } }

var sunset = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, options ...option) *world {
	t.Helper()
	c := newClock()
	w := &world{
		t: t, clock: c, capacity: &capacity{},
		intake: &intake{file: video.File{SizeBytes: 1000, DurationMicros: micros(9_400_000)}},
	}
	d := Dependencies{
		Store: memory.New(codec.Events(), c.Now), IDs: id.NewSource(c.Now, rand.Reader), Entropy: rand.Reader, Now: c.Now,
		Catalog: model.Catalog{
			{ID: "main-2", Status: model.Stable, Default: true, Aliases: []string{"main-1"}},
			{ID: "old-1", Status: model.Deprecated, SunsetAt: &sunset},
		},
		Limits: Limits{
			MaxVideoDuration: 4 * time.Hour, MaxConcurrentAnalyses: 100, AnalysisQueueCap: 1000, SandboxPerIP: 3,
			UpgradesPerAddress: 3, UpgradesPerDay: 500, SignupGrantSeconds: 6000,
			StreamQueueCap: 100, StreamMaxSessionSeconds: 3600, StreamWarnAtSeconds: 60,
		},
		Uploads: w.intake, Capacity: w.capacity, Fixture: fixture.Fixture{}, Sealer: plainSealer{},
		Streams: &slots{world: w},
	}
	for _, o := range options {
		o(&d)
	}
	w.log = d.Store
	d.Pipeline = NewPipeline(d.Store, c.Now, slog.New(slog.DiscardHandler))
	d.Pipeline.Turns, _ = d.Store.(eventstore.Turns)
	if s, ok := d.Store.(*shim); ok {
		d.Pipeline.Turns, _ = s.Store.(eventstore.Turns)
	}
	w.Service = NewService(d)
	start(t, d.Pipeline)
	return w
}

// start runs a pipeline until the test ends.
func start(t testing.TB, p *Pipeline) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

func micros(n int64) *int64 { return &n }

func ptr[T any](v T) *T { return &v }

// account opens an account with a live key and a balance in seconds.
func (w *world) account(seconds int64) Caller {
	w.t.Helper()
	key, err := w.IssueKey(context.Background(), NewKey{Mode: account.Live, Tier: account.Paid, Name: "test", GrantSeconds: seconds, Operator: "test"})
	require.NoError(w.t, err)
	return Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: account.Paid, RequestID: "req_1"}
}

// sandbox opens a sandbox and returns its caller and its fixture video.
func (w *world) sandbox() (Caller, string) {
	w.t.Helper()
	key, err := w.IssueSandbox(context.Background(), Caller{RequestID: "req_1"}, "address")
	require.NoError(w.t, err)
	return Caller{AccountID: key.AccountID, KeyID: key.KeyID, Tier: account.Sandbox, RequestID: "req_1"}, key.FixtureVideoID
}

// readyVideo uploads a video of 9.4 s, which bills 10.
func (w *world) readyVideo(caller Caller) string {
	w.t.Helper()
	ctx := context.Background()
	v, err := w.CreateVideo(ctx, caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(w.t, err)
	v, err = w.CompleteVideo(ctx, caller, v.ID)
	require.NoError(w.t, err)
	require.Equal(w.t, video.ReadyStatus, v.Status)
	return v.ID
}

// ask returns a command with an answerable prompt.
func ask(videoID string) CreateAnalysis {
	return CreateAnalysis{VideoID: videoID, Prompt: ptr("Is there a dog?")}
}

// queued creates an analysis and returns its first run.
func (w *world) queued(caller Caller, videoID string) Run {
	w.t.Helper()
	plan, err := w.CreateAnalysis(context.Background(), caller, ask(videoID))
	require.NoError(w.t, err)
	return Run{AccountID: caller.AccountID, AnalysisID: plan.Analysis.ID, VideoID: videoID, Attempt: 1}
}

// claimed creates an analysis, claims its first run and returns it.
func (w *world) claimed(caller Caller, videoID string) Run {
	w.t.Helper()
	r := w.queued(caller, videoID)
	_, _, err := w.ClaimAnalysis(context.Background(), r, "worker")
	require.NoError(w.t, err)
	return r
}

// yes returns a result.
func yes() answer.Result {
	return answer.Result{Answer: answer.Yes, Confidence: 0.9, QueryType: query.TypeObject, Clips: []answer.Clip{}, TermConfidences: map[string]float64{"dog": 0.9}}
}

// stateOf folds the whole history of an aggregate. It ignores snapshots.
func stateOf[S, C any, E eventstore.Event](w *world, a aggregate[S, C, E], streamID string) S {
	w.t.Helper()
	events, err := w.log.LoadAll(context.Background(), a.Stream(streamID))
	require.NoError(w.t, err)
	state, err := a.Restore(eventstore.History{Events: events})
	require.NoError(w.t, err)
	return state
}

// history returns the current log.
func (w *world) history() []eventstore.Recorded {
	w.t.Helper()
	var all []eventstore.Recorded
	for {
		after := int64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Position
		}
		page, err := w.log.Read(context.Background(), after, 1000)
		require.NoError(w.t, err)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

// requireUnchanged fails the test when do records an event.
func (w *world) requireUnchanged(do func()) {
	w.t.Helper()
	before := w.history()
	do()
	require.Len(w.t, w.history(), len(before), "something was recorded")
}

func requireFault(t testing.TB, err error, code fault.Code) {
	t.Helper()
	require.True(t, fault.Has(err, code), "want %s, got %v", code, err)
}

// keyed gives a caller an Idempotency-Key for a body.
func (c Caller) keyed(key, body string) Caller {
	c.Idempotency = &Idempotency{Key: key, Hash: sha256.Sum256([]byte(body))}
	return c
}

// tally counts errors by their code. nil counts as "ok". An error that is not a fault counts by its text.
func tally(errs []error) map[string]int {
	counts := map[string]int{}
	for _, err := range errs {
		switch f := fault.Of(err); {
		case err == nil:
			counts["ok"]++
		case f != nil:
			counts[string(f.Code)]++
		default:
			counts[err.Error()]++
		}
	}
	return counts
}

// together runs n calls at the same time and returns their errors by index.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	ready, done := sync.WaitGroup{}, sync.WaitGroup{}
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			errs[i] = call(i)
		})
	}
	done.Wait()
	return errs
}

// types returns the stored names of events, sorted, because the order of streams within one append is not
// fixed.
func types(recorded []eventstore.Recorded) []string {
	names := make([]string, len(recorded))
	for i, r := range recorded {
		names[i] = r.Event.EventType()
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
