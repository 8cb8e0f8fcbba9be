package projections_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/video"
	"vqa/domain/webhook"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/handlers/command"
	"vqa/handlers/intake/fixture"
	"vqa/migrations"
	"vqa/projections"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// world is the write side on its own database, with every read model inline, wired as in
// the program.
type world struct {
	url   string
	owner *pgxpool.Pool
	pool  *pgxpool.Pool
	store *postgres.Store
	*command.Service
	resources *resources.Reader
	ledger    *ledger.Reader
}

func models() []projections.Projection {
	return append(resources.Projections(), ledger.Projections()...)
}

// clock returns the time like the program does, in microseconds, as Postgres stores it.
func clock() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldAt(t, clock)
}

func newWorldAt(t testing.TB, now func() time.Time) *world {
	t.Helper()
	w := &world{url: storetest.Database(t, migrations.Up, migrations.Version())}
	var err error
	w.pool, err = postgres.Connect(t.Context(), w.url)
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	w.owner, err = pgxpool.New(t.Context(), w.url)
	require.NoError(t, err)
	t.Cleanup(w.owner.Close)

	var inline []postgres.Projection
	for _, p := range models() {
		inline = append(inline, p)
	}
	log := slog.New(slog.DiscardHandler)
	w.store = postgres.New(w.pool, codec.Events(), postgres.WithProjections(inline...), postgres.WithLogger(log))
	w.resources, w.ledger = resources.NewReader(w.pool), ledger.NewReader(w.pool)
	pipeline := command.NewPipeline(w.store, now, log)
	w.Service = command.NewService(command.Dependencies{
		Store: w.store, Pipeline: pipeline, IDs: id.NewSource(now, rand.Reader), Entropy: rand.Reader, Now: now,
		Catalog: model.Catalog{{ID: "sight-1", Status: model.Stable, Default: true}},
		Limits: command.Limits{
			MaxVideoDuration: time.Hour, MaxConcurrentAnalyses: 50, AnalysisQueueCap: 100_000, SandboxPerIP: 3,
			UpgradesPerAddress: 3, UpgradesPerDay: 500, SignupGrantSeconds: 6000,
			StreamQueueCap: 100_000, StreamMaxSessionSeconds: 3600, StreamWarnAtSeconds: 60,
		},
		Incidents: w.resources, Uploads: uploaded{}, Capacity: ready{w.resources}, Fixture: fixture.Fixture{}, Sealer: sealer{},
		Streams: w.resources,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { pipeline.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

// uploaded reports every upload as present, because read models do not depend on the bytes.
type uploaded struct{}

func (uploaded) Room(int64) error { return nil }

func (uploaded) Inspect(_ context.Context, v video.State) (video.File, string, error) {
	return file(v.ID, v.ContentType), "ticket", nil
}

func (uploaded) Keep(context.Context, string, string, string) error { return nil }
func (uploaded) Close(context.Context, string) error                { return nil }
func (uploaded) Discard(context.Context, string) error              { return nil }
func (uploaded) Remove(context.Context, string, string) error       { return nil }
func (uploaded) RemoveRecording(context.Context, string) error      { return nil }

func file(videoID, contentType string) video.File {
	micros, width, height, fps := int64(7_300_000), 640, 360, 29.97
	return video.File{
		ObjectKey: "videos/" + videoID, ContentType: contentType, SizeBytes: 12_345,
		DurationMicros: &micros, Width: &width, Height: &height, FPS: &fps,
	}
}

// sealer does not encrypt, because read models do not depend on it.
type sealer struct{}

func (sealer) Seal(secret []byte, endpointID string) webhook.Secret {
	return webhook.Secret{Sealed: hex.EncodeToString(secret), SealKeyID: endpointID}
}

// ready is an available engine in front of the real queue.
type ready struct{ *resources.Reader }

func (ready) InferenceReady(context.Context) error { return nil }

func (w *world) rebuilder() *projections.Rebuilder {
	events := codec.Events()
	return &projections.Rebuilder{
		Owner: w.owner, Decode: events.Unmarshal, Readable: events.Readable(), Generation: migrations.Generation(),
		Role: postgres.Role, Projections: models(),
	}
}

// rebuild rebuilds all tables. It requires that they equal the live ones row for row, by
// the comparison of the rebuild and by its own.
func (w *world) rebuild(ctx context.Context, t testing.TB) projections.Certificate {
	t.Helper()
	before := w.dump(ctx, t)
	c, err := w.rebuilder().Rebuild(ctx, false)
	require.NoError(t, err)
	require.Len(t, c.Tables, len(models()))
	require.True(t, c.Equal && c.Swapped && !c.Accepted, "%+v", c)
	for _, p := range c.Tables {
		require.True(t, p.Equal(), "%+v", p)
		require.EqualValues(t, len(before[p.Table]), p.Rows, p.Table)
		require.Equal(t, p.Rows, p.LiveRows, p.Table)
	}
	require.Equal(t, before, w.dump(ctx, t))
	return c
}

// dump returns every row of every read model, as the service's role reads it.
func (w *world) dump(ctx context.Context, t testing.TB) map[string][]string {
	t.Helper()
	tables := map[string][]string{}
	for _, m := range models() {
		rows, err := w.pool.Query(ctx, "select t::text from "+m.Table()+" t order by id")
		require.NoError(t, err)
		tables[m.Table()], err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
	}
	return tables
}

// caller opens a live account with a grant.
func (w *world) caller(ctx context.Context, t testing.TB, grant int64) command.Caller {
	t.Helper()
	key, err := w.IssueKey(ctx, command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: grant, Operator: "test"})
	require.NoError(t, err)
	return command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: account.Paid}
}

func (w *world) readyVideo(ctx context.Context, t testing.TB, c command.Caller) string {
	t.Helper()
	v, err := w.CreateVideo(ctx, c, command.CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	_, err = w.CompleteVideo(ctx, c, v.ID)
	require.NoError(t, err)
	return v.ID
}

func (w *world) ask(ctx context.Context, c command.Caller, videoID, prompt string) (string, error) {
	p, err := w.CreateAnalysis(ctx, c, command.CreateAnalysis{VideoID: videoID, Prompt: &prompt})
	return p.Analysis.ID, err
}

// refusal returns nil for faults of the domain, which random commands meet, and any other
// error as it is.
func refusal(err error) error {
	if f := fault.Of(err); f != nil && f.Code != fault.InternalError && f.Code != fault.DBUnavailable {
		return nil
	}
	return err
}

func idempotency(key string) *command.Idempotency {
	return &command.Idempotency{Key: key, Hash: sha256.Sum256([]byte(key))}
}
