package projections_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"vqa/domain/account"
	"vqa/domain/answer"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/query"
	"vqa/eventstore/codec"
	"vqa/eventstore/embedded"
	"vqa/eventstore/memory"
	"vqa/eventstore/postgres"
	"vqa/handlers/command"
	"vqa/handlers/intake/fixture"
	"vqa/migrations"
	"vqa/projections"
)

// The size of the log of BenchmarkRebuild. VQA_BENCH_EVENTS overrides the default of one
// million events.
const (
	eventsEnv   = "VQA_BENCH_EVENTS"
	blockEvents = 50_000
	// videosEach is the number of videos, with one analysis each, of an account in a block.
	videosEach = 20
)

// BenchmarkRebuild rebuilds all read models from a log of a million events, which the real
// commands recorded. It compares the time with the time in which Postgres copies the same
// events out. One iteration is one round of both.
func BenchmarkRebuild(b *testing.B) {
	want := int64(1_000_000)
	if text := os.Getenv(eventsEnv); text != "" {
		var err error
		want, err = strconv.ParseInt(text, 10, 64)
		require.NoError(b, err)
	}
	owner := benchServer(b)
	events := fillLog(b, owner, want)
	r := &projections.Rebuilder{Owner: owner, Decode: codec.Events().Unmarshal, Role: postgres.Role, Projections: models()}
	first, err := r.Rebuild(b.Context(), true)
	require.NoError(b, err)
	require.True(b, first.Swapped)
	_, err = owner.Exec(b.Context(), "vacuum analyze")
	require.NoError(b, err)

	var copied, rebuilt time.Duration
	var peak uint64
	rounds := 0
	for b.Loop() {
		started := time.Now()
		copyOut(b, owner)
		copied += time.Since(started)
		stages := map[projections.Stage]time.Duration{}
		stage, entered := projections.Folding, time.Now()
		r.Progress = func(s projections.Stage, _, _ int64) {
			stages[stage] += time.Since(entered)
			stage, entered = s, time.Now()
		}
		watch := watchHeap()
		started = time.Now()
		c, err := r.Rebuild(b.Context(), false)
		rebuilt += time.Since(started)
		peak = max(peak, watch())
		require.NoError(b, err)
		require.True(b, c.Equal && c.Swapped, "%+v", c)
		require.GreaterOrEqual(b, events, c.Events)
		rounds++
		b.Logf("stages %v, swap held %.1f ms", stages, c.HeldSeconds*1000)
	}
	rate := func(d time.Duration) float64 { return float64(events) * float64(rounds) / d.Seconds() }
	b.ReportMetric(rate(rebuilt), "events/s")
	b.ReportMetric(rate(copied), "copied/s")
	b.ReportMetric(rate(rebuilt)/rate(copied), "of-copy")
	b.ReportMetric(float64(peak)/(1<<20), "heap-MiB")
	fmt.Printf("\n### Rebuild\n\n%d cores, embedded Postgres with fsync on, %d events, %d rounds.\n\n"+
		"| measure | figure |\n|---|---|\n"+
		"| Postgres copies the events out | %.0f events/s, %.1f s |\n"+
		"| full rebuild of all read models | %.0f events/s, %.1f s |\n"+
		"| ratio (target: at least 0.5) | **%.2f** |\n"+
		"| peak of the heap | %d MiB |\n| peak memory of the process (VmHWM, including the creation of the log) | %s |\n",
		runtime.NumCPU(), events, rounds, rate(copied), copied.Seconds()/float64(rounds), rate(rebuilt), rebuilt.Seconds()/float64(rounds),
		rate(rebuilt)/rate(copied), peak>>20, mostMemory(b))
}

// copyOut copies the log out of Postgres. Its speed is the ceiling for a rebuild.
func copyOut(b *testing.B, owner *pgxpool.Pool) {
	b.Helper()
	require.NoError(b, owner.AcquireFunc(b.Context(), func(conn *pgxpool.Conn) error {
		_, err := conn.Conn().PgConn().CopyTo(b.Context(), io.Discard, "copy (select * from events order by position) to stdout")
		return err
	}))
}

// watchHeap samples the heap, including dead objects, until the returned function is
// called. That function returns the maximum.
func watchHeap() func() uint64 {
	runtime.GC()
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		var peak uint64
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-done:
				most <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 { close(done); return <-most }
}

func mostMemory(b *testing.B) string {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

// benchServer starts its own Postgres server, because the shared test server trades
// durability for speed.
func benchServer(b *testing.B) *pgxpool.Pool {
	b.Helper()
	dir, err := os.MkdirTemp("", "vqa-bench-") //nolint:usetesting // b.TempDir lies in a folder of mode 0700
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(dir)) })
	require.NoError(b, os.Chmod(dir, 0o755))
	server, err := embedded.Start(b.Context(), embedded.Options{Dir: filepath.Join(dir, "postgres"), BinDir: os.Getenv("VQA_POSTGRES_BIN")})
	require.NoError(b, err)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(b, server.Close(ctx))
	})
	require.NoError(b, server.EnsureDatabase(b.Context(), "bench"))
	url := server.URL("bench")
	require.NoError(b, migrations.Up(b.Context(), url))
	owner, err := pgxpool.New(b.Context(), url)
	require.NoError(b, err)
	b.Cleanup(owner.Close)
	return owner
}

// idle is an engine without a queue.
type idle struct{}

func (idle) InferenceReady(context.Context) error        { return nil }
func (idle) QueuedAnalyses(context.Context) (int, error) { return 0, nil }
func (idle) RoomIn(context.Context, int) (int, bool)     { return 0, false }

// fillLog runs the real commands on a log in memory, block by block, and copies the events
// to Postgres. It returns the number of events.
func fillLog(b *testing.B, owner *pgxpool.Pool, want int64) int64 {
	b.Helper()
	var events int64
	for events < want {
		store := memory.New(codec.Events(), clock)
		decideBlock(b, store)
		events += copyBlock(b, owner, store)
	}
	return events
}

func decideBlock(b *testing.B, store *memory.Store) {
	b.Helper()
	pipeline := command.NewPipeline(store, clock, slog.New(slog.DiscardHandler))
	service := command.NewService(command.Dependencies{
		Store: store, Pipeline: pipeline, IDs: id.NewSource(clock, rand.Reader), Entropy: rand.Reader, Now: clock,
		Catalog: model.Catalog{{ID: "sight-1", Status: model.Stable, Default: true}},
		Limits:  command.Limits{MaxVideoDuration: time.Hour, MaxConcurrentAnalyses: 1000, AnalysisQueueCap: 100_000, SandboxPerIP: 3},
		Uploads: uploaded{}, Capacity: idle{}, Fixture: fixture.Fixture{},
	})
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { pipeline.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	const eventsEach = 3 + videosEach*11
	var clients errgroup.Group
	for range blockEvents / eventsEach {
		clients.Go(func() error { return decideAccount(ctx, service) })
	}
	require.NoError(b, clients.Wait())
}

// decideAccount plays one customer: videos, each with an analysis that is answered and
// billed.
func decideAccount(ctx context.Context, s *command.Service) error {
	key, err := s.IssueKey(ctx, command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: 1_000_000, Operator: "bench"})
	if err != nil {
		return err
	}
	c := command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: account.Paid}
	for n := range videosEach {
		v, err := s.CreateVideo(ctx, c, command.CreateVideo{ContentType: "video/mp4", Metadata: map[string]string{"camera": "gate 4"}})
		if err != nil {
			return err
		}
		if _, err := s.CompleteVideo(ctx, c, v.ID); err != nil {
			return err
		}
		prompt := []string{"Is there a dog?", "How many cars are there?", "Are there at least two people?"}[n%3]
		p, err := s.CreateAnalysis(ctx, c, command.CreateAnalysis{VideoID: v.ID, Prompt: &prompt})
		if err != nil {
			return err
		}
		run := command.Run{AccountID: c.AccountID, AnalysisID: p.Analysis.ID, VideoID: v.ID, Attempt: 1}
		if _, _, err := s.ClaimAnalysis(ctx, run, "bench"); err != nil {
			return err
		}
		duration := 7.3
		result := answer.Result{
			Answer: answer.Yes, Confidence: 0.94, QueryType: query.TypeObject, VideoDurationS: &duration,
			Clips:           []answer.Clip{{StartS: 1.2, EndS: 4.6, Confidence: 0.97, Terms: map[string]float64{"dog": 0.97}}},
			TermConfidences: map[string]float64{"dog": 0.97},
		}
		if err := s.CompleteAnalysis(ctx, run, result, 7_300_000, 15, nil); err != nil {
			return err
		}
	}
	return nil
}

// copyBlock appends a log in memory to the one in Postgres.
func copyBlock(b *testing.B, owner *pgxpool.Pool, store *memory.Store) int64 {
	b.Helper()
	events, err := store.Read(b.Context(), 0, 1<<30)
	require.NoError(b, err)
	c := codec.Events()
	heads := map[string][]any{}
	rows := make([][]any, len(events))
	for i, e := range events {
		stored, data, err := c.Marshal(e.Event)
		require.NoError(b, err)
		meta, err := codec.MarshalMeta(e.Meta)
		require.NoError(b, err)
		stream := e.Stream.String()
		rows[i] = []any{stream, e.Version, stored, e.Meta.AccountID, data, meta, e.Chain[:]}
		heads[stream] = []any{stream, e.Version, e.Version - 1, e.Chain[:]}
	}
	_, err = owner.CopyFrom(b.Context(), pgx.Identifier{"events"},
		[]string{"stream", "version", "type", "account_id", "data", "meta", "chain"}, pgx.CopyFromRows(rows))
	require.NoError(b, err)
	rows = rows[:0]
	for _, head := range heads {
		rows = append(rows, head)
	}
	_, err = owner.CopyFrom(b.Context(), pgx.Identifier{"streams"}, []string{"stream", "version", "prior_version", "chain"}, pgx.CopyFromRows(rows))
	require.NoError(b, err)
	return int64(len(events))
}
