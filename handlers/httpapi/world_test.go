package httpapi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
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

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/media"
	"vqa/handlers/media/egress"
	"vqa/handlers/media/fixture"
	"vqa/handlers/media/objects"
	"vqa/handlers/media/probe"
	"vqa/migrations"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// contractOf loads the contract file with a reader that is not the edge's own.
var contractOf = sync.OnceValues(func() (routers.Router, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	doc.Servers = nil
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.FileBodyDecoder)
	return gorillamux.NewRouter(doc)
})

// world is the whole edge on a real database and a real object store. The engine
// alone is missing: a test plays the worker through the commands of one.
type world struct {
	t        *testing.T
	url      string
	service  *command.Service
	engine   *engine
	pool     *pgxpool.Pool
	database *cable
	contract routers.Router
	logged   *lockedBuffer

	mu sync.Mutex
	// ahead is how far the clock is set forward.
	ahead  time.Duration
	wakers map[chan struct{}]bool
}

// engine is whether inference can be had.
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

// cable is a TCP connection to the database that can be pulled.
type cable struct {
	listener net.Listener

	mu    sync.Mutex
	conns []net.Conn
}

// plug lays a cable to a server.
func plug(t *testing.T, server string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{listener: listener}
	var copies sync.WaitGroup
	copies.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
				copies.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() { c.pull(); copies.Wait() })
	return c
}

// pull cuts every connection, and refuses new ones.
func (c *cable) pull() {
	_ = c.listener.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().UTC().Add(w.ahead).Truncate(time.Microsecond)
}

func (w *world) advance(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.ahead += d }

// watch is the subscription that Prefer: wait listens to.
func (w *world) watch() (<-chan struct{}, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{}, 1)
	w.wakers[c] = true
	return c, func() { w.mu.Lock(); defer w.mu.Unlock(); delete(w.wakers, c) }
}

// wake tells every subscriber that something changed.
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

// open builds a world; adjust may change the options before the edge is made.
func open(t *testing.T, adjust ...func(*httpapi.Options)) *world {
	t.Helper()
	contract, err := contractOf()
	require.NoError(t, err)
	w := &world{t: t, contract: contract, engine: &engine{}, wakers: map[chan struct{}]bool{}, logged: &lockedBuffer{}}
	log := slog.New(slog.NewTextHandler(w.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	address, err := url.Parse(storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	w.database = plug(t, address.Host)
	address.Host = w.database.listener.Addr().String()
	w.pool, err = postgres.Connect(t.Context(), address.String())
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handler.ServeHTTP(rw, r) }))
	t.Cleanup(server.Close)
	w.url = server.URL

	store, err := objects.Open(t.Context(), objects.Options{
		Dir: t.TempDir(), PublicURL: w.url, SigningKey: bytes.Repeat([]byte{7}, 32), Now: w.now, WriteError: httpapi.WriteError, Log: log,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	client, err := egress.New(egress.Options{})
	require.NoError(t, err)
	prober, err := probe.New()
	require.NoError(t, err)
	w.service = w.newService(t, log, &media.Intake{Objects: store, Client: client, Prober: prober})

	o := httpapi.Options{
		Service: w.service, Resources: resources.NewReader(w.pool), Ledger: ledger.NewReader(w.pool), Objects: store,
		ObjectHandler: store, CheckURL: client.CheckURL, Pricing: pricing(), Wake: w.watch, PublicURL: w.url,
		Fixture: httpapi.TestFixture{Video: fixture.Bytes(), Prompt: fixture.Prompt},
		Metrics: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = io.WriteString(rw, "up 1\n")
		}),
		SandboxAddress: httpapi.AddressHash([]byte("key"), nil), Log: log,
		Health: []httpapi.HealthCheck{{Name: "database", Check: w.pool.Ping}, {Name: "inference", Check: w.engine.InferenceReady}},
	}
	for _, f := range adjust {
		f(&o)
	}
	handler, err = httpapi.New(o)
	require.NoError(t, err)
	return w
}

func pricing() httpapi.Pricing {
	return httpapi.Pricing{
		PricePerSecondCents: decimal.RequireFromString("0.5"), SignupGrantSeconds: 6000, CardGrantSeconds: 12000,
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
	return command.NewService(command.Dependencies{
		Store: store, Pipeline: pipeline, IDs: id.NewSource(w.now, rand.Reader), Entropy: rand.Reader, Now: w.now,
		Catalog: model.Catalog{{
			ID: "sight-1", Status: model.Stable, Default: true, Aliases: []string{"sight-0"},
			CreatedAt: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Capabilities: model.Capabilities{Analyses: true, Actions: "none"},
		}},
		Fixture: fixture.Fixture{}, Uploads: uploads, Capacity: w.engine,
		Limits: command.Limits{
			MaxVideoDuration: 4 * time.Hour, MaxConcurrentAnalyses: 10, AnalysisQueueCap: 1000, SandboxPerIP: 3, SignupGrantSeconds: 6000,
		},
	})
}

// client is one API key.
type client struct {
	w   *world
	key command.IssuedKey
}

// customer opens a live account with credits.
func (w *world) customer(grant int64) *client {
	w.t.Helper()
	key, err := w.service.IssueKey(w.t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, Name: "test", GrantSeconds: grant, Operator: "test"})
	require.NoError(w.t, err)
	return &client{w, key}
}

// tester opens an account with a test key and a fixture video.
func (w *world) tester() *client {
	w.t.Helper()
	key, err := w.service.IssueKey(w.t.Context(), command.NewKey{Mode: account.Test, Tier: account.Sandbox, Name: "test", Operator: "test"})
	require.NoError(w.t, err)
	return &client{w, key}
}

// response is a whole response with its JSON.
type response struct {
	*http.Response
	raw  []byte
	json map[string]any
}

// at reads a member by its dotted path; nil when there is none.
func (r response) at(path string) any {
	var v any = r.json
	for name := range strings.SplitSeq(path, ".") {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

// do sends a request as this key and holds the response against the contract. headers
// are names and values in turn.
func (c *client) do(method, path, body string, headers ...string) response {
	c.w.t.Helper()
	return c.w.do(method, path, body, append([]string{"Authorization", "Bearer " + c.key.Secret}, headers...)...)
}

func (w *world) do(method, path, body string, headers ...string) response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	require.NoError(w.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	raw, err := io.ReadAll(got.Body)
	require.NoError(w.t, err)
	require.NoError(w.t, got.Body.Close())
	out := response{Response: got, raw: raw}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") && len(raw) > 0 {
		require.NoError(w.t, json.Unmarshal(raw, &out.json), string(raw))
	}
	w.check(r, out)
	return out
}

// check holds a response against the contract: its status is described, its headers
// and its body match.
func (w *world) check(r *http.Request, got response) {
	w.t.Helper()
	require.Regexp(w.t, `^req_[0-9A-HJKMNP-TV-Z]{26}$`, got.Header.Get("X-Request-Id"))
	if got.StatusCode >= 400 && r.Method != http.MethodHead {
		require.Equal(w.t, got.Header.Get("X-Request-Id"), got.at("error.request_id"), string(got.raw))
		require.EqualValues(w.t, got.StatusCode, got.at("error.status"))
	}
	described := r.Clone(w.t.Context())
	if described.Method == http.MethodHead {
		described.Method = http.MethodGet
	}
	route, params, err := w.contract.FindRoute(described)
	if strings.HasPrefix(r.URL.Path, objects.Path) {
		// A signed URL is opaque to its reader: what serves it is no part of the contract.
		return
	}
	if err != nil {
		require.Contains(w.t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, got.StatusCode, "%s is not in the contract", r.URL.Path)
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: described, PathParams: params, Route: route},
		Status:                 got.StatusCode, Header: got.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: r.Method == http.MethodHead},
	}
	input.SetBodyBytes(got.raw)
	require.NoError(w.t, openapi3filter.ValidateResponse(w.t.Context(), input), "%s %s: %d %s", r.Method, r.URL.Path, got.StatusCode, got.raw)
}

// refused asserts an error's status, code and field.
func (w *world) refused(got response, status int, code fault.Code, param string) {
	w.t.Helper()
	require.Equal(w.t, status, got.StatusCode, string(got.raw))
	require.Equal(w.t, string(code), got.at("error.code"), string(got.raw))
	if param != "" && got.at("error.param") == nil {
		list, _ := got.at("error.errors").([]any)
		require.Len(w.t, list, 1, string(got.raw))
		require.Equal(w.t, param, list[0].(map[string]any)["param"])
		return
	}
	if param != "" {
		require.Equal(w.t, param, got.at("error.param"), string(got.raw))
	}
}

// ready uploads the fixture as this customer's own video and completes it.
func (c *client) ready() string {
	c.w.t.Helper()
	created := c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "filename": "ball.mp4"}`)
	require.Equal(c.w.t, http.StatusCreated, created.StatusCode, string(created.raw))
	c.upload(created, fixture.Bytes())
	videoID := created.at("id").(string)
	done := c.do(http.MethodPost, "/v1/videos/"+videoID+"/complete", "")
	require.Equal(c.w.t, http.StatusOK, done.StatusCode, string(done.raw))
	require.Equal(c.w.t, "ready", done.at("status"))
	return videoID
}

// upload follows the upload instructions of a video.
func (c *client) upload(video response, content []byte) {
	c.w.t.Helper()
	r, err := http.NewRequestWithContext(c.w.t.Context(), video.at("upload.method").(string), video.at("upload.url").(string), bytes.NewReader(content))
	require.NoError(c.w.t, err)
	for name, value := range video.at("upload.headers").(map[string]any) {
		r.Header.Set(name, value.(string))
	}
	put, err := http.DefaultClient.Do(r)
	require.NoError(c.w.t, err)
	require.NoError(c.w.t, put.Body.Close())
	require.Less(c.w.t, put.StatusCode, 300)
}

// ask creates an analysis and returns its id.
func (c *client) ask(videoID, prompt string) string {
	c.w.t.Helper()
	got := c.do(http.MethodPost, "/v1/analyses", `{"video_id": "`+videoID+`", "prompt": "`+prompt+`"}`)
	require.Equal(c.w.t, http.StatusAccepted, got.StatusCode, string(got.raw))
	return got.at("id").(string)
}

// claim begins the work on an analysis as a worker would.
func (c *client) claim(videoID, analysisID string) command.Run {
	c.w.t.Helper()
	run := command.Run{AccountID: c.key.AccountID, AnalysisID: analysisID, VideoID: videoID, Attempt: 1}
	_, _, err := c.w.service.ClaimAnalysis(c.w.t.Context(), run, "test")
	require.NoError(c.w.t, err)
	return run
}

// balance reads the balance of an account.
func (c *client) balance() credit.State {
	c.w.t.Helper()
	b, err := ledger.NewReader(c.w.pool).Balance(c.w.t.Context(), c.key.AccountID)
	require.NoError(c.w.t, err)
	return b
}
