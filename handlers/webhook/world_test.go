package webhook_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/id"
	"vqa/domain/video"
	domain "vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/handlers/command"
	"vqa/handlers/intake/egress"
	"vqa/handlers/webhook"
	"vqa/migrations"
	"vqa/projections/deliveries"
	"vqa/projections/public"
)

// patience bounds waits for something that must happen.
const patience = 30 * time.Second

// world is a log in its own database, with a subscriber and a TLS receiver.
type world struct {
	testing.TB
	pool       *pgxpool.Pool
	store      *postgres.Store
	queue      *deliveries.Store
	commands   *command.Service
	subscriber *webhook.Subscriber
	ids        *id.Source
	receiver   *receiver
	// woken are the dispatchers that the subscriber wakes.
	mu    sync.Mutex
	woken []*webhook.Dispatcher
}

func open(t testing.TB) *world {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w := &world{TB: t, pool: pool, queue: deliveries.New(pool), receiver: newReceiver(t)}
	w.store = postgres.New(pool, codec.Events())
	w.ids = id.NewSource(time.Now, rand.Reader)
	log := slog.New(slog.DiscardHandler)
	pipeline := command.NewPipeline(w.store, time.Now, log)
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); pipeline.Run(running) }()
	t.Cleanup(func() { stop(); <-ended })
	w.commands = command.NewService(command.Dependencies{Store: w.store, Pipeline: pipeline, IDs: w.ids, Entropy: rand.Reader, Now: time.Now})
	w.subscriber = &webhook.Subscriber{
		Events: public.NewReader(w.store), Streams: w.store, Plans: w.queue, Render: render, Wake: w.wake, Now: time.Now, Log: log,
	}
	return w
}

func (w *world) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.woken {
		d.Wake()
	}
}

// render is a stand-in for the renderer of the HTTP interface. Like that one it differs each time.
func render(_ context.Context, e public.Event) ([]byte, error) {
	data := map[string]any{"signed_at": time.Now().UnixNano()}
	if e.Video != nil {
		data["id"], data["object"] = e.Video.ID, "video"
	} else {
		data["id"], data["object"] = e.Analysis.ID, "analysis"
	}
	return json.Marshal(map[string]any{"id": e.ID, "type": e.Type, "created_at": e.At, "data": data})
}

// secrets are not encrypted in tests.
type secrets struct{}

func (secrets) Open(s domain.Secret, _ string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(s.Sealed)
}

func newSecret(t testing.TB) (raw []byte, sealed domain.Secret) {
	t.Helper()
	raw, err := domain.NewSecret(rand.Reader)
	require.NoError(t, err)
	return raw, domain.Secret{Sealed: base64.StdEncoding.EncodeToString(raw), SealKeyID: "none"}
}

// append records events at the end of a stream.
func (w *world) append(account string, stream eventstore.StreamID, events ...eventstore.Event) eventstore.Recorded {
	w.Helper()
	histories, err := w.store.Load(w.Context(), stream)
	require.NoError(w, err)
	write := eventstore.Write{Stream: stream, Expected: histories[stream].Version, Chain: histories[stream].Chain}
	for _, e := range events {
		write.Events = append(write.Events, eventstore.NewEvent{Event: e, Meta: eventstore.Meta{AccountID: account, CorrelationID: "req_1", RequestID: "req_1"}})
	}
	recorded, err := w.store.Append(w.Context(), eventstore.Batch{Writes: []eventstore.Write{write}})
	require.NoError(w, err)
	return recorded[len(recorded)-1]
}

// endpoint creates an endpoint with a path of the receiver.
func (w *world) endpoint(account, path string, types ...string) (endpointID string, secret []byte) {
	w.Helper()
	if len(types) == 0 {
		types = []string{"video.ready", "analysis.completed", "analysis.canceled"}
	}
	endpointID = w.ids.New(id.Webhook)
	secret, sealed := newSecret(w)
	w.append(account, fold.Webhook.Stream(account), domain.Created{
		AccountID: account, EndpointID: endpointID, Livemode: true, URL: w.receiver.URL + path, Events: types, Secret: sealed, At: time.Now(),
	})
	return endpointID, secret
}

// ready appends a video that is ready.
func (w *world) ready(account string) eventstore.Recorded {
	w.Helper()
	videoID := w.ids.New(id.Video)
	return w.append(account, fold.Video.Stream(videoID),
		video.Registered{VideoID: videoID, AccountID: account, Livemode: true, Source: video.SourceUpload, At: time.Now()},
		video.Ready{VideoID: videoID, File: video.File{ObjectKey: "uploads/" + videoID, ContentType: "video/mp4", SizeBytes: 9}, At: time.Now()},
	)
}

// canceled appends a canceled analysis with an address for its own events.
func (w *world) canceled(account string, to *analysis.Webhook) eventstore.Recorded {
	w.Helper()
	analysisID := w.ids.New(id.Analysis)
	return w.append(account, fold.Analysis.Stream(analysisID),
		analysis.Created{AnalysisID: analysisID, AccountID: account, Livemode: true, Origin: analysis.OriginAPI, Webhook: to, At: time.Now()},
		analysis.Canceled{AnalysisID: analysisID, At: time.Now()},
	)
}

// handle passes events to the subscriber.
func (w *world) handle(events ...eventstore.Recorded) {
	w.Helper()
	for _, e := range events {
		require.NoError(w, w.subscriber.Handle(w.Context(), e))
	}
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.pool.Exec(w.Context(), sql, args...)
	require.NoError(w, err)
}

func (w *world) count(sql string, args ...any) (n int) {
	w.Helper()
	require.NoError(w, w.pool.QueryRow(w.Context(), sql, args...).Scan(&n))
	return n
}

// eventually waits until a count has a value.
func (w *world) eventually(want int, sql string, args ...any) {
	w.Helper()
	require.Eventually(w, func() bool { return w.count(sql, args...) == want }, patience, 5*time.Millisecond, sql)
}

// settled waits until no delivery is due or in an attempt.
func (w *world) settled() {
	w.Helper()
	w.eventually(0, "select count(*) from webhook_queue")
}

// asOwner runs a statement as the owner of the tables and returns the connection.
func (w *world) asOwner(sql string) *pgx.Conn {
	w.Helper()
	conn, err := pgx.ConnectConfig(w.Context(), w.pool.Config().ConnConfig)
	require.NoError(w, err)
	w.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(w.Context(), sql)
	require.NoError(w, err)
	return conn
}

// lease is the lease of a node in a test.
type lease struct {
	name string
	ctx  context.Context
}

func (l *lease) Incarnation() string      { return l.name + "@1" }
func (l *lease) Context() context.Context { return l.ctx }
func (l *lease) Check() error {
	if l.ctx.Err() != nil {
		return eventstore.ErrLeaseOver
	}
	return nil
}

// leases gives out one lease.
type leases struct{ *lease }

func (l leases) Lease(ctx context.Context) (eventstore.Lease, error) {
	if l.Check() == nil {
		return l.lease, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// node is a running dispatcher.
type node struct {
	*webhook.Dispatcher
	world *world
	name  string
	// stop ends the dispatcher cleanly. endLease ends its lease.
	stop, endLease func()
	ended          chan struct{}
}

// options returns the options of a dispatcher of this world.
func (w *world) options() webhook.Options {
	w.Helper()
	client, err := egress.New(egress.Options{Allow: []string{w.receiver.Listener.Addr().String()}, CAFile: w.receiver.caFile})
	require.NoError(w, err)
	poster := client.NewPoster(time.Now)
	w.Cleanup(poster.Close)
	return webhook.Options{
		Queue: w.queue, Streams: w.store, Outcomes: outcomes{w}, Secrets: secrets{}, Poster: poster,
		Schedule: domain.Schedule{10 * time.Millisecond, 20 * time.Millisecond}, Now: time.Now, Random: func() float64 { return 0.5 },
		Log: slog.New(slog.DiscardHandler),
	}
}

// start starts a dispatcher.
func (w *world) start(name string, change ...func(*webhook.Options)) *node {
	w.Helper()
	w.exec(`insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until)
		values ($1, $1, 1, clock_timestamp(), clock_timestamp(), clock_timestamp() + interval '1 hour') on conflict do nothing`, name)
	o := w.options()
	for _, f := range change {
		f(&o)
	}
	ctx, stop := context.WithCancel(context.Background())
	held, endLease := context.WithCancel(context.Background())
	n := &node{Dispatcher: webhook.NewDispatcher(o), world: w, name: name, stop: stop, endLease: endLease, ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		n.Run(ctx, leases{&lease{name, held}})
	}()
	w.mu.Lock()
	w.woken = append(w.woken, n.Dispatcher)
	w.mu.Unlock()
	w.Cleanup(func() { stop(); endLease(); <-n.ended })
	return n
}

// bury makes the node count as dead for the others.
func (n *node) bury() {
	n.world.Helper()
	n.world.exec("update nodes set lease_until = clock_timestamp(), renewed_at = clock_timestamp() where name = $1", n.name)
}

// outcomes records outcomes in the log.
type outcomes struct{ w *world }

func (o outcomes) EndDelivery(ctx context.Context, e command.Ending) error {
	return o.w.commands.EndDelivery(ctx, e)
}

func (o outcomes) FailWebhookEndpoint(ctx context.Context, e domain.Endpoint, failedAt time.Time) (bool, error) {
	return o.w.commands.FailWebhookEndpoint(ctx, e, failedAt)
}

func (o outcomes) WarnWebhookEndpoint(_ context.Context, e domain.Endpoint, failingSince time.Time) error {
	o.w.append(e.AccountID, fold.Webhook.Stream(e.AccountID), domain.Warned{AccountID: e.AccountID, EndpointID: e.ID, FailingSince: failingSince, At: time.Now()})
	return nil
}

// request is a request that the receiver got.
type request struct {
	path   string
	header http.Header
	body   string
}

// receiver is a TLS server. Paths answer as the test says, or with 204.
type receiver struct {
	*httptest.Server
	caFile string

	mu      sync.Mutex
	got     []request
	answers map[string]http.HandlerFunc
	// running counts the requests that run at the same time, by event and path.
	running map[string]int
	// overlaps lists those that ran twice at the same time.
	overlaps []string
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{answers: map[string]http.HandlerFunc{}, running: map[string]int{}}
	r.Server = httptest.NewTLSServer(r)
	t.Cleanup(r.Close)
	r.caFile = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(r.caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}), 0o600))
	return r
}

// on sets the answer of a path.
func (r *receiver) on(path string, h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[path] = h
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	key := fmt.Sprint(req.Header.Get("webhook-id"), " ", req.URL.Path)
	r.mu.Lock()
	r.got = append(r.got, request{req.URL.Path, req.Header.Clone(), string(body)})
	answer := r.answers[req.URL.Path]
	if r.running[key]++; r.running[key] > 1 {
		r.overlaps = append(r.overlaps, key)
	}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running[key]--
	}()
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer(w, req)
}

// requests returns the requests of a path so far.
func (r *receiver) requests(path string) (list []request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.got {
		if x.path == path {
			list = append(list, x)
		}
	}
	return list
}
