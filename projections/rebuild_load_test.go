package projections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/projections"
)

// traffic are clients that write and read through one world until it is stopped. It records
// the duration of each operation.
type traffic struct {
	stop  context.CancelFunc
	busy  sync.WaitGroup
	mu    sync.Mutex
	waits map[string][]wait
	// failed are the errors that are not refusals.
	failed []error
}

type wait struct {
	started time.Time
	took    time.Duration
}

func (f *traffic) repeat(ctx context.Context, kind string, operation func() error) {
	f.busy.Go(func() {
		for ctx.Err() == nil {
			started := time.Now()
			err := operation()
			f.mu.Lock()
			f.waits[kind] = append(f.waits[kind], wait{started, time.Since(started)})
			if err != nil {
				f.failed = append(f.failed, fmt.Errorf("%s: %w", kind, err))
			}
			f.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
}

func (f *traffic) count(kind string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.waits[kind]) + 1_000_000*len(f.failed) // a failure ends every wait for a count
}

// longest returns the duration of the longest operation of a kind that was running between
// begin and end.
func (f *traffic) longest(kind string, begin, end time.Time) (most time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.waits[kind] {
		if w.started.Before(end) && w.started.Add(w.took).After(begin) {
			most = max(most, w.took)
		}
	}
	return most
}

// drive starts writers and readers.
func (w *world) drive(t testing.TB, writers, readers int) *traffic {
	ctx, stop := context.WithCancel(context.Background())
	f := &traffic{stop: stop, waits: map[string][]wait{}}
	t.Cleanup(func() { stop(); f.busy.Wait() })
	for n := range writers {
		c := w.client(fmt.Sprint("client ", n), uint64(100+n))
		f.repeat(ctx, "write", func() error { return c.step(t.Context()) })
	}
	for range readers {
		f.repeat(ctx, "read", func() error { _, err := w.resources.OpenAnalyses(t.Context()); return err })
	}
	return f
}

func (f *traffic) end(t testing.TB) {
	t.Helper()
	f.stop()
	f.busy.Wait()
	require.NoError(t, errors.Join(f.failed...))
}

// TestRebuildBeside16Clients rebuilds several times while clients write and read. They get
// no error, and no row is lost or doubled. The test prints how long they waited.
func TestRebuildBeside16Clients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	indexes := w.indexes(t)
	f := w.drive(t, 16, 2)
	for n := range 4 {
		before := f.count("write")
		c, write, read := w.rebuildBeside(t, f)
		// The next rebuild starts after more writes to the new tables.
		require.Eventually(t, func() bool { return f.count("write") > before+50 }, 20*time.Second, time.Millisecond)
		t.Logf("rebuild %d: %d events in %.2f s; the swap held appends back for %.1f ms; the longest write around it took %s, the longest read %s",
			n, c.Events, c.DurationSeconds, c.HeldSeconds*1000, write, read)
	}
	v, err := w.rebuilder().Verify(t.Context())
	require.NoError(t, err)
	require.True(t, v.Equal && !v.Swapped, "%+v", v)
	f.end(t)
	require.NotEmpty(t, f.waits["read"])
	require.Equal(t, indexes, w.indexes(t), "indexes and checks keep their names and tables")
	w.rebuild(t.Context(), t)
}

// rebuildBeside rebuilds beside traffic. It returns the longest write and read that were
// running between the first attempt to swap and the end.
func (w *world) rebuildBeside(t testing.TB, f *traffic) (c projections.Certificate, write, read time.Duration) {
	t.Helper()
	r := w.rebuilder()
	var swapping time.Time
	r.Progress = func(stage projections.Stage, _, _ int64) {
		if stage == projections.Swapping && swapping.IsZero() {
			swapping = time.Now()
		}
	}
	c, err := r.Rebuild(t.Context(), false)
	require.NoError(t, err)
	require.True(t, c.Equal && c.Swapped, "%+v", c)
	swapped := time.Now()
	return c, f.longest("write", swapping, swapped), f.longest("read", swapping, swapped)
}

// BenchmarkSwapBeside16Clients measures how long a rebuild makes others wait. 16 clients
// write and two read, and one iteration is a rebuild. The reference is the longest write in
// the 300 ms before it.
func BenchmarkSwapBeside16Clients(b *testing.B) {
	w := newWorld(b)
	f := w.drive(b, 16, 2)
	var held, write, read, usual time.Duration
	for b.Loop() {
		started := time.Now()
		time.Sleep(300 * time.Millisecond)
		usual = max(usual, f.longest("write", started, time.Now()))
		c, longestWrite, longestRead := w.rebuildBeside(b, f)
		held = max(held, time.Duration(c.HeldSeconds*float64(time.Second)))
		write, read = max(write, longestWrite), max(read, longestRead)
	}
	f.end(b)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(held), "held-ms")
	b.ReportMetric(ms(write), "longest-write-ms")
	b.ReportMetric(ms(read), "longest-read-ms")
	b.ReportMetric(ms(usual), "usual-longest-write-ms")
}

// TestSwapGivesWay lets a reader lock a table for a long time. Others can use the table
// meanwhile, and the swap succeeds in the end.
func TestSwapGivesWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 1000)
	reader, err := w.pool.Begin(ctx)
	require.NoError(t, err)
	_, err = reader.Exec(ctx, "select from videos")
	require.NoError(t, err)

	tries := make(chan struct{}, 1000)
	r := w.rebuilder()
	r.Progress = func(stage projections.Stage, _, _ int64) {
		if stage == projections.Swapping {
			tries <- struct{}{}
		}
	}
	var rebuilt projections.Certificate
	var failed error
	var running sync.WaitGroup
	running.Go(func() { rebuilt, failed = r.Rebuild(ctx, false) })
	for range 3 { // at least two attempts failed
		<-tries
		w.readyVideo(ctx, t, c)
	}
	require.NoError(t, reader.Rollback(ctx))
	running.Wait()
	require.NoError(t, failed)
	require.True(t, rebuilt.Swapped && rebuilt.Equal)
	require.Positive(t, rebuilt.SwapPosition-rebuilt.Position, "videos were created after the comparison")
	w.rebuild(ctx, t)
}

// TestInterruptedRebuildResumes interrupts at the end of each stage in turn, while the log
// grows. The next run finishes the work.
func TestInterruptedRebuildResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client("a", 9)
	for range 200 {
		require.NoError(t, c.step(t.Context()))
	}
	for _, at := range []projections.Stage{projections.Folding, projections.Indexing, projections.CatchingUp, projections.Comparing, projections.Swapping} {
		ctx, cancel := context.WithCancel(t.Context())
		r := w.rebuilder()
		r.Progress = func(stage projections.Stage, done, total int64) {
			if stage == at && done >= total {
				cancel()
			}
			if stage == at && at == projections.Swapping {
				cancel()
			}
		}
		_, err := r.Rebuild(ctx, false)
		require.ErrorIs(t, err, context.Canceled, "%s", at)
		for range 30 {
			require.NoError(t, c.step(t.Context()))
		}
		if at == projections.Folding {
			continue // the last chunk may or may not be done by then
		}
		// Finished work is not repeated.
		var left, indexed int
		require.NoError(t, w.owner.QueryRow(t.Context(),
			"select count(*) filter (where not done), (select count(*) from rebuild.indexed) from rebuild.chunks").Scan(&left, &indexed))
		require.Zero(t, left, "%s", at)
		if at != projections.Indexing {
			require.Len(t, models(), indexed, "%s", at)
		}
	}
	// A long backlog is read in parts. Positions may have gaps.
	_, err := w.owner.Exec(t.Context(), "select setval('events_position_seq', nextval('events_position_seq') + 350000)")
	require.NoError(t, err)
	for range 30 {
		require.NoError(t, c.step(t.Context()))
	}
	var stages []projections.Stage
	r := w.rebuilder()
	r.Progress = func(stage projections.Stage, _, _ int64) { stages = append(stages, stage) }
	done, err := r.Rebuild(t.Context(), false)
	require.NoError(t, err)
	require.True(t, done.Equal && done.Swapped, "%+v", done)
	require.NotContains(t, stages, projections.Folding)
	w.rebuild(t.Context(), t)
}

// TestUnfitShadowTablesAreRebuilt changes a live table between two runs.
func TestUnfitShadowTablesAreRebuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.readyVideo(t.Context(), t, w.caller(t.Context(), t, 10))
	ctx, cancel := context.WithCancel(t.Context())
	r := w.rebuilder()
	r.Progress = func(stage projections.Stage, _, _ int64) {
		if stage == projections.Swapping {
			cancel()
		}
	}
	_, err := r.Rebuild(ctx, false)
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.owner.Exec(t.Context(), "create index later on videos (status)")
	require.NoError(t, err)
	before := w.indexes(t)
	w.rebuild(t.Context(), t)
	require.Equal(t, before, w.indexes(t))
}

// TestOneTable rebuilds and proves one read model, independent of the others.
func TestOneTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 100)
	w.readyVideo(ctx, t, c)
	_, err := w.owner.Exec(ctx, "delete from accounts")
	require.NoError(t, err)
	done, err := w.rebuilder().Rebuild(ctx, false, "videos")
	require.NoError(t, err)
	require.True(t, done.Equal && done.Swapped)
	require.Len(t, done.Tables, 1)
	require.EqualValues(t, 2, done.Events, "only the streams of videos are folded")
	v, err := w.rebuilder().Verify(ctx, "accounts")
	require.NoError(t, err)
	require.False(t, v.Equal || v.Swapped)
	_, err = w.rebuilder().Verify(ctx, "video")
	require.ErrorContains(t, err, `there is no read model "video"`)

	list, err := w.rebuilder().List(ctx)
	require.NoError(t, err)
	require.Len(t, list, len(models()))
	at := func(table string) projections.Listed {
		return list[slices.IndexFunc(list, func(l projections.Listed) bool { return l.Table == table })]
	}
	require.True(t, at("videos").Current && at("videos").Certificate.Equal)
	require.Equal(t, done.ID, at("videos").Certificate.ID)
	require.Equal(t, "video", at("videos").Category)
	require.EqualValues(t, 1, at("videos").Rows)
	require.False(t, at("accounts").Certificate.Equal)
	require.Zero(t, at("accounts").Rows)
	require.Nil(t, at("api_keys").Certificate)
}

// TestRefresh has a read model of another shape, as after a migration that emptied it.
func TestRefresh(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	all, err := w.rebuilder().Refresh(ctx)
	require.NoError(t, err)
	require.Len(t, all.Rebuilt, len(models()), "with an empty log only the shapes are recorded")
	again, err := w.rebuilder().Refresh(ctx)
	require.NoError(t, err)
	require.Empty(t, again)

	c := w.caller(ctx, t, 100)
	w.readyVideo(ctx, t, c)
	before := w.dump(ctx, t)
	_, err = w.owner.Exec(ctx, "truncate videos; update read_models set shape = 'another' where name = 'videos'")
	require.NoError(t, err)
	// Two processes start at the same time. The second one waits and finds nothing to do.
	refreshed := make([]projections.Refreshed, 2)
	failed := make([]error, 2)
	var starting sync.WaitGroup
	for i := range refreshed {
		starting.Go(func() { refreshed[i], failed[i] = w.rebuilder().Refresh(ctx) })
	}
	starting.Wait()
	require.NoError(t, errors.Join(failed...))
	require.Equal(t, []string{"videos"}, slices.Concat(refreshed[0].Rebuilt, refreshed[1].Rebuilt))
	require.Equal(t, before, w.dump(ctx, t))
	var accepted bool
	require.NoError(t, w.owner.QueryRow(ctx, "select accepted from rebuild_certificates").Scan(&accepted))
	require.True(t, accepted, "rows were missing")
}

// TestLongStream has a stream that is read in pieces and several times.
func TestLongStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 1_000_000)
	// A test cannot write this many events with commands. They are copies of one grant,
	// which the chain does not cover.
	_, err := w.owner.Exec(ctx, `
		insert into events (stream, version, type, account_id, data, meta, chain)
		select e.stream, 1 + n, e.type, e.account_id,
		       json_build_object('account_id', e.account_id, 'transaction_id', 'txn_' || n, 'kind', 'purchase', 'seconds', 1,
		                         'balance_after', 1000000 + n, 'reason', 'test', 'at', e.data->'at'), e.meta, e.chain
		  from events e, generate_series(1, 45000) as n where e.stream = 'credit/' || $1 order by n`, c.AccountID)
	require.NoError(t, err)
	_, err = w.owner.Exec(ctx, "update streams set version = 45001, prior_version = 45000 where stream = 'credit/' || $1", c.AccountID)
	require.NoError(t, err)
	made, err := w.rebuilder().Rebuild(ctx, true)
	require.NoError(t, err)
	require.True(t, made.Accepted)
	balance, err := w.ledger.Balance(ctx, c.AccountID)
	require.NoError(t, err)
	require.EqualValues(t, 1_045_000, balance.PostedSeconds)
	var entries, versions int64
	require.NoError(t, w.owner.QueryRow(ctx, "select count(*), count(distinct version) from credit_transactions").Scan(&entries, &versions))
	require.EqualValues(t, 45_001, entries)
	require.EqualValues(t, 45_001, versions)
	w.rebuild(ctx, t)
}

// TestGapInAStreamIsRefused removes an event, so that no state can be folded from the rest.
func TestGapInAStreamIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	videoID := w.readyVideo(ctx, t, w.caller(ctx, t, 10))
	before := w.dump(ctx, t)
	require.NoError(t, pgx.BeginFunc(ctx, w.owner, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "alter table events disable trigger events_append_only")
		if err == nil {
			_, err = tx.Exec(ctx, "delete from events where stream = 'video/' || $1 and version = 1", videoID)
		}
		return err
	}))
	_, err := w.rebuilder().Rebuild(ctx, true)
	require.ErrorContains(t, err, "video/"+videoID+": version 2 follows 0")
	require.Equal(t, before, w.dump(ctx, t))
}
