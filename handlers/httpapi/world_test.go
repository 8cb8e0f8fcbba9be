package httpapi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"vqa/domain/admission"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/eventstore/codec"
	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/handlers/artifact"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake"
	"vqa/handlers/intake/egress"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/intake/fixture"
	"vqa/handlers/intake/probe"
	"vqa/handlers/objects"
	"vqa/handlers/vault"
	"vqa/migrations"
	"vqa/projections/deliveries"
	"vqa/projections/ledger"
	"vqa/projections/public"
	"vqa/projections/resources"
)

// contractOf loads the contract with another parser than the edge uses.
var contractOf = sync.OnceValues(func() (routers.Router, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	doc.Servers = nil
	for _, text := range []string{"text/html", "text/event-stream", "application/sdp", "application/trickle-ice-sdpfrag"} {
		openapi3filter.RegisterBodyDecoder(text, openapi3filter.FileBodyDecoder)
	}
	return gorillamux.NewRouter(doc)
})

// world is the HTTP interface with a real database and a real object store. Only the engine
// is missing: tests send the commands of a worker themselves.
type world struct {
	t        *testing.T
	url      string
	service  *command.Service
	engine   *engine
	pool     *pgxpool.Pool
	database *proxy
	contract routers.Router
	logged   *lockedBuffer
	// objects is the folder of the object store.
	objects string
	handler httpapi.Handler
	locks   *node.Locks

	mu sync.Mutex
	// ahead is added to the clock.
	ahead  time.Duration
	wakers map[chan struct{}]bool
}

// vaultKey encrypts the secrets of webhook endpoints.
var vaultKey = bytes.Repeat([]byte{9}, 32)

// engine is an engine that can be down.
type engine struct {
	mu   sync.Mutex
	down bool
}

func (e *engine) set(down bool) { e.mu.Lock(); defer e.mu.Unlock(); e.down = down }

// InferenceReady implements command.Capacity.
func (e *engine) InferenceReady(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return fault.New(fault.InferenceUnavailable, "").WithRetryAfter(3)
	}
	return nil
}

// QueuedAnalyses implements command.Capacity.
func (e *engine) QueuedAnalyses(context.Context) (int, error) { return 0, nil }

// RoomIn implements command.Capacity.
func (e *engine) RoomIn(context.Context, int) (seconds int, known bool) { return 0, false }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().UTC().Add(w.ahead).Truncate(time.Microsecond)
}

func (w *world) advance(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.ahead += d }

// watch subscribes to changes, for Prefer: wait.
func (w *world) watch() (<-chan struct{}, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{}, 1)
	w.wakers[c] = true
	return c, func() { w.mu.Lock(); defer w.mu.Unlock(); delete(w.wakers, c) }
}

// wake signals a change to every subscriber.
func (w *world) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.wakers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (w *world) waiting() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.wakers) }

// open starts a world. adjust may change its options.
func open(t *testing.T, adjust ...func(*httpapi.Options)) *world {
	t.Helper()
	return openOn(t, storetest.Database(t, migrations.Up, migrations.Version()), adjust...)
}

// openOn starts a world on a migrated database.
func openOn(t *testing.T, databaseURL string, adjust ...func(*httpapi.Options)) *world {
	t.Helper()
	contract, err := contractOf()
	require.NoError(t, err)
	w := &world{t: t, contract: contract, engine: &engine{}, wakers: map[chan struct{}]bool{}, logged: &lockedBuffer{}}
	log := slog.New(slog.NewTextHandler(w.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	address, err := url.Parse(databaseURL)
	require.NoError(t, err)
	w.database = startProxy(t, address.Host)
	address.Host = w.database.listener.Addr().String()
	w.pool, err = postgres.Connect(t.Context(), address.String())
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	w.objects = t.TempDir()
	w.serve(t, log, adjust...)
	return w
}

// serve starts a node on the database and the object store of the world.
func (w *world) serve(t *testing.T, log *slog.Logger, adjust ...func(*httpapi.Options)) {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handler.ServeHTTP(rw, r) }))
	t.Cleanup(server.Close)
	w.url = server.URL

	waiter := &artifact.Waiter{Drawing: resources.NewReader(w.pool).Drawing, Wake: w.watch}
	store, err := objects.Open(t.Context(), objects.Options{
		Dir: w.objects, PublicURL: w.url, SigningKey: bytes.Repeat([]byte{7}, 32), Now: w.now, WriteError: edge.WriteError, Log: log,
		Await: waiter.Wait,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	client, err := egress.New(egress.Options{})
	require.NoError(t, err)
	w.service = w.newService(t, log, &intake.Intake{Objects: store, Client: client, Prober: probe.New(ffmpegtest.Runner(t))})

	w.locks, _ = joinNode(w, w.url)
	o := httpapi.Options{
		FormKey: []byte("forms"), Creates: edge.NewCreates(unbounded, log), Windows: node.NewWindows(w.pool), Locks: w.locks,
		Service: w.service, Resources: resources.NewReader(w.pool), Ledger: ledger.NewReader(w.pool), Objects: store,
		Events:     public.NewReader(postgres.New(w.pool, codec.Events())),
		Deliveries: deliveries.New(w.pool), DeliverNow: func() {},
		Live: &liveNode{service: w.service, read: resources.NewReader(w.pool)}, StreamWindows: streamWindows,
		ObjectHandler: store, Targets: client, Pricing: pricing(), Wake: w.watch, PublicURL: w.url,
		Fixture: httpapi.TestFixture{Video: fixture.Bytes(), Prompt: fixture.Prompt},
		Metrics: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = io.WriteString(rw, "up 1\n")
		}),
		SandboxAddress: edge.AddressHash([]byte("key"), nil), Log: log,
		Health: []httpapi.HealthCheck{{Name: "database", Check: w.pool.Ping, Code: fault.DBUnavailable}, {Name: "inference", Check: w.engine.InferenceReady}},
	}
	for _, f := range adjust {
		f(&o)
	}
	w.handler, err = httpapi.New(o)
	require.NoError(t, err)
	handler = w.handler
}

// unbounded sheds nothing. Tests share the processors, so a burst may take long.
var unbounded = admission.Policy{
	Target: time.Hour, Interval: time.Hour, Burst: time.Hour, Standing: time.Hour, First: 1000, Least: 1000, Most: 1000, Longest: 1,
}

// joinNode joins a living node and returns its locks; leave lets it die.
func joinNode(w *world, name string) (locks *node.Locks, leave func()) {
	w.t.Helper()
	present, err := node.Join(w.t.Context(), w.pool, name, "host", 1, slog.New(slog.DiscardHandler))
	require.NoError(w.t, err)
	living, die := context.WithCancel(context.Background())
	var life sync.WaitGroup
	life.Go(func() { present.Run(living) })
	leave = func() { die(); life.Wait() }
	w.t.Cleanup(leave)
	return node.NewLocks(w.pool, present), leave
}

func pricing() httpapi.Pricing {
	return httpapi.Pricing{
		PricePerSecondCents: decimal.RequireFromString("0.5"), CardGrantSeconds: 12000,
		AutoRefillThresholdSeconds: 600, AllowedPurchaseCents: []int64{1000, 2500, 5000, 10000}, CustomPurchaseEnabled: true,
		MinPurchaseCents: 500, BatchDiscountPct: 50, BatchMinPrompts: 2, BatchMaxPrompts: 10,
	}
}

// newService starts the pipeline on the world's database.
func (w *world) newService(t *testing.T, log *slog.Logger, uploads command.Uploads) *command.Service {
	t.Helper()
	var inline []postgres.Projection
	for _, p := range append(resources.Projections(), ledger.Projections()...) {
		inline = append(inline, p)
	}
	store := postgres.New(w.pool, codec.Events(), postgres.WithProjections(inline...))
	pipeline := command.NewPipeline(store, w.now, log)
	running, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { pipeline.Run(running) })
	t.Cleanup(func() { stop(); work.Wait() })
	secrets, err := vault.New(vaultKey)
	require.NoError(t, err)
	return command.NewService(command.Dependencies{
		Store: store, Pipeline: pipeline, IDs: id.NewSource(w.now, rand.Reader), Entropy: rand.Reader, Now: w.now,
		Catalog: model.Catalog{{
			ID: "sight-1", Status: model.Stable, Default: true, Aliases: []string{"sight-0"},
			CreatedAt: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Capabilities: model.Capabilities{Analyses: true, Actions: "none"},
		}},
		Sealer: secrets, Fixture: fixture.Fixture{}, Uploads: uploads, Capacity: w.engine, Incidents: resources.NewReader(w.pool), Storage: resources.NewReader(w.pool),
		Streams: resources.NewReader(w.pool),
		Limits: command.Limits{
			MaxVideoDuration: 4 * time.Hour, MaxConcurrentAnalyses: 10, AnalysisQueueCap: 1000, SandboxPerIP: 3,
			UpgradesPerAddress: 3, UpgradesPerDay: 500, SignupGrantSeconds: 6000,
			StreamQueueCap: 100, StreamMaxSessionSeconds: 3600, StreamWarnAtSeconds: 60,
		},
	})
}
