package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"vqa/domain/credit"
	"vqa/domain/id"
	"vqa/eventstore/codec"
	"vqa/eventstore/embedded"
	"vqa/eventstore/postgres"
	"vqa/migrations"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// benchGrant is the initial balance of every account, more than a run can spend.
const benchGrant = 1_000_000_000_000

// benchRig is the stack of the program from the use cases to a durable Postgres.
type benchRig struct {
	dir     string
	url     string
	pool    *pgxpool.Pool
	service *Service
	ids     *id.Source

	many []string
	hot  string

	// appended and paired count the acknowledged commands.
	appended, paired atomic.Int64
	// ceilingRuns counts the runs of pgbench, so that each has its own keys.
	ceilingRuns int
}

func newBenchRig(b *testing.B) *benchRig {
	b.Helper()
	r := &benchRig{}
	r.startPostgres(b)
	require.NoError(b, migrations.Up(b.Context(), r.url))
	r.prepareCeiling(b)
	var err error
	r.pool, err = postgres.Connect(b.Context(), r.url)
	require.NoError(b, err)
	b.Cleanup(r.pool.Close)
	r.ids = id.NewSource(benchNow, rand.Reader)
	r.service = r.startService(b, r.pool)
	for range benchAccounts {
		r.many = append(r.many, r.ids.New(id.Account))
	}
	r.hot = r.ids.New(id.Account)
	var g errgroup.Group
	g.SetLimit(64)
	for _, a := range append([]string{r.hot}, r.many...) {
		g.Go(func() error {
			return creditOn(b.Context(), r.service, a, credit.Grant{
				AccountID: a, TransactionID: r.ids.New(id.Transaction), Kind: credit.Purchase, Seconds: benchGrant,
			})
		})
	}
	require.NoError(b, g.Wait())
	return r
}

// startPostgres starts a separate server, because the shared test server is not durable.
func (r *benchRig) startPostgres(b *testing.B) {
	b.Helper()
	var err error
	r.dir, err = os.MkdirTemp("", "vqa-bench-") //nolint:usetesting // b.TempDir is in a folder of mode 0700
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(r.dir)) })
	require.NoError(b, os.Chmod(r.dir, 0o755))
	server, err := embedded.Start(b.Context(), embedded.Options{
		Dir: filepath.Join(r.dir, "postgres"), BinDir: os.Getenv("VQA_POSTGRES_BIN"),
		Settings: map[string]string{"max_connections": "400"}, // for 256 clients of pgbench
	})
	require.NoError(b, err)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(b, server.Close(ctx))
	})
	require.NoError(b, server.EnsureDatabase(b.Context(), "bench"))
	r.url = server.URL("bench")
}

func benchNow() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// startService builds the pipeline as cmd does, with the notification of subscribers.
func (r *benchRig) startService(b *testing.B, pool *pgxpool.Pool) *Service {
	b.Helper()
	var inline []postgres.Projection
	for _, p := range append(resources.Projections(), ledger.Projections()...) {
		inline = append(inline, p)
	}
	log := slog.New(slog.DiscardHandler)
	guard, err := postgres.OpenGuard(b.Context(), pool, bytes.Repeat([]byte{1}, 32))
	require.NoError(b, err)
	store := postgres.New(pool, codec.Events(), postgres.WithProjections(inline...), postgres.WithLogger(log), postgres.WithGuard(guard))
	pipeline := NewPipeline(store, benchNow, log)
	pipeline.Turns = store
	service := NewService(Dependencies{Store: store, Pipeline: pipeline, Uploads: &intake{}, IDs: r.ids, Entropy: rand.Reader, Now: benchNow})
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { pipeline.Run(ctx) })
	work.Go(func() {
		if err := store.Run(ctx); err != nil {
			b.Errorf("waking subscribers: %v", err)
		}
	})
	b.Cleanup(func() { stop(); work.Wait() })
	return service
}

func (r *benchRig) account(n int64) string { return r.many[n%benchAccounts] }

func (r *benchRig) caller(n int64) Caller {
	return Caller{AccountID: r.account(n), KeyID: "key_bench", Livemode: true, RequestID: "req_bench"}
}

// checkLaws compares the ledger and the log with the acknowledged commands. None may be lost or recorded
// twice.
func (r *benchRig) checkLaws(b *testing.B) {
	b.Helper()
	type sums struct{ Events, Videos, Posted, Held, Broken int64 }
	var got sums
	require.NoError(b, r.pool.QueryRow(b.Context(), `
		select (select count(*) from events),
		       (select count(*) from videos),
		       (select sum(posted_seconds) from credit_balances)::bigint,
		       (select sum(held_seconds) from credit_balances)::bigint,
		       (select count(*) from credit_balances b where posted_seconds <> (
		           select sum((t.doc->>'seconds_delta')::bigint) from credit_transactions t where t.account_id = b.id))`,
	).Scan(&got.Events, &got.Videos, &got.Posted, &got.Held, &got.Broken))
	grants := int64(benchAccounts + 1)
	require.Equal(b, sums{
		Events: grants + r.appended.Load() + 2*r.paired.Load(), Videos: r.appended.Load(),
		Posted: grants*benchGrant - benchHold*r.paired.Load(),
	}, got)
}

// machine describes the test machine in one line.
func (r *benchRig) machine(b *testing.B) string {
	b.Helper()
	var version, fsync, commit, method string
	require.NoError(b, r.pool.QueryRow(b.Context(), `select current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit'), current_setting('wal_sync_method')`).Scan(&version, &fsync, &commit, &method))
	require.Equal(b, []string{"on", "on"}, []string{fsync, commit}, "fsync and synchronous_commit")
	version, _, _ = strings.Cut(version, " ")
	return fmt.Sprintf("PostgreSQL %s, fsync %s, synchronous_commit %s (%s); this disk flushes %.0f times a second (8 kB, fdatasync)",
		version, fsync, commit, method, r.flushRate(b))
}

// flushRate returns how often per second one writer can flush 8 kB to the disk.
func (r *benchRig) flushRate(b *testing.B) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(r.dir, "flush"))
	require.NoError(b, err)
	defer f.Close()
	page := make([]byte, 8192)
	n, started := 0, time.Now()
	for ; time.Since(started) < time.Second; n++ {
		_, err := f.WriteAt(page, 0)
		require.NoError(b, err)
		require.NoError(b, syscall.Fdatasync(int(f.Fd())))
	}
	return float64(n) / time.Since(started).Seconds()
}
