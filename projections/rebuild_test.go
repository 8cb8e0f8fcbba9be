package projections_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/projections"
	"vqa/projections/resources"
)

func TestRebuiltEqualsLive(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.client("a", seed)
			for range 400 {
				require.NoError(t, c.step(t.Context()))
			}
			for table, rows := range w.dump(t.Context(), t) {
				require.NotEmpty(t, rows, "the mix writes no row of %s", table)
			}
			w.rebuild(t.Context(), t)
			for range 50 {
				require.NoError(t, c.step(t.Context()), "the new tables are live")
			}
			w.rebuild(t.Context(), t)
		})
	}
}

func TestRebuildOfAnEmptyLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rebuild(t.Context(), t)
}

// indexes returns the names of all indexes and checks of the read models.
func (w *world) indexes(t testing.TB) []string {
	t.Helper()
	rows, err := w.owner.Query(t.Context(), `
		select tablename || ' ' || indexname || ' ' || indexdef from pg_indexes where schemaname = 'public'
		union all
		select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
		where connamespace = 'public'::regnamespace order by 1`)
	require.NoError(t, err)
	var names []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, names)
	return names
}

func TestInterruptedRebuildLeavesTheLiveTables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client("a", 7)
	for range 300 {
		require.NoError(t, c.step(t.Context()))
	}
	before := w.dump(t.Context(), t)
	r := rand.New(rand.NewPCG(7, 7))
	interrupted := 0
	for range 25 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(60*time.Millisecond))))
		_, err := w.rebuilder().Rebuild(ctx, false)
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			interrupted++
		}
		cancel()
		require.Equal(t, before, w.dump(t.Context(), t))
	}
	require.Positive(t, interrupted)
	w.rebuild(t.Context(), t)
}

// TestProgressReachesTheEnd also interrupts a run from its progress function.
func TestProgressReachesTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.client("a", 8)
	for range 100 {
		require.NoError(t, c.step(t.Context()))
	}
	r := w.rebuilder()
	ctx, cancel := context.WithCancel(t.Context())
	r.Progress = func(projections.Stage, int64, int64) { cancel() }
	_, err := r.Rebuild(ctx, false)
	require.ErrorIs(t, err, context.Canceled)

	var stages []projections.Stage
	var last, total int64
	r.Progress = func(stage projections.Stage, done, of int64) {
		if len(stages) == 0 || stages[len(stages)-1] != stage {
			stages = append(stages, stage)
		}
		if stage == projections.Folding {
			require.Greater(t, done, last)
			last, total = done, of
		}
	}
	_, err = r.Rebuild(t.Context(), false)
	require.NoError(t, err)
	require.Positive(t, total)
	require.Equal(t, total, last)
	require.Equal(t, projections.Folding, stages[0])
	require.Equal(t, projections.Swapping, stages[len(stages)-1])
}

func TestOneRebuildAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.caller(t.Context(), t, 10)
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var first, second error
	var wg sync.WaitGroup
	wg.Go(func() {
		r := w.rebuilder()
		r.Progress = func(projections.Stage, int64, int64) { once.Do(func() { close(reached); <-release }) }
		_, first = r.Rebuild(t.Context(), false)
	})
	<-reached
	ended := make(chan struct{})
	wg.Go(func() {
		_, second = w.rebuilder().Rebuild(t.Context(), false)
		close(ended)
	})
	// The second one waits for the lock. It must not drop the shadow tables.
	require.Eventually(t, func() bool {
		var waiting bool
		err := w.owner.QueryRow(t.Context(), `select exists (select from pg_locks where locktype = 'advisory' and not granted
			and database = (select oid from pg_database where datname = current_database()))`).Scan(&waiting)
		return err == nil && waiting
	}, 10*time.Second, 5*time.Millisecond)
	close(release)
	wg.Wait()
	<-ended
	require.NoError(t, first)
	require.NoError(t, second)
}

// TestCorruptionIsFoundAndRepaired damages the live tables outside the program.
func TestCorruptionIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 100)
	videoID := w.readyVideo(ctx, t, c)
	analysisID, err := w.ask(ctx, c, videoID, "Is there a dog?")
	require.NoError(t, err)
	before := w.dump(ctx, t)

	exec := func(sql string, args ...any) {
		tag, err := w.owner.Exec(ctx, sql, args...)
		require.NoError(t, err)
		require.EqualValues(t, 1, tag.RowsAffected(), sql)
	}
	exec(`update credit_balances set posted_seconds = 99, grants_seconds = 99 where id = $1`, c.AccountID)
	exec(`update analyses set doc = replace(doc::text, 'a dog', 'a cat')::json where id = $1`, analysisID)
	exec(`delete from videos where id = $1`, videoID)
	exec(`insert into accounts values ('acct_ghost', '{}')`)

	damaged := w.dump(ctx, t)
	c1, err := w.rebuilder().Rebuild(ctx, false)
	require.NoError(t, err)
	require.False(t, c1.Equal || c1.Swapped || c1.Accepted)
	require.Equal(t, damaged, w.dump(ctx, t), "a refused rebuild changes nothing")
	found := map[string]projections.TableProof{}
	for _, p := range c1.Tables {
		if !p.Equal() {
			require.NotEqual(t, p.DigestLive, p.DigestRebuilt)
			p.DigestLive, p.DigestRebuilt = "", ""
			found[p.Table] = p
		}
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	require.Empty(t, cmp.Diff(map[string]projections.TableProof{
		"credit_balances": {Table: "credit_balances", Rows: 1, LiveRows: 1, Accounts: 1, AccountsDiffering: 1, Changed: 1, Examples: []projections.RowDifference{{
			ID: c.AccountID, Account: c.AccountID, Kind: "changed", Fields: []projections.FieldDifference{
				{Name: "grants_seconds", Live: raw("99"), Log: raw("100")}, {Name: "posted_seconds", Live: raw("99"), Log: raw("100")},
			},
		}}},
		"analyses": {Table: "analyses", Rows: 1, LiveRows: 1, Accounts: 1, AccountsDiffering: 1, Changed: 1, Examples: []projections.RowDifference{{
			ID: analysisID, Account: c.AccountID, Kind: "changed",
			Fields: []projections.FieldDifference{
				{Name: "doc.prompt", Live: raw(`"Is there a cat?"`), Log: raw(`"Is there a dog?"`)},
				{Name: "doc.query.original_prompt", Live: raw(`"Is there a cat?"`), Log: raw(`"Is there a dog?"`)},
			},
		}}},
		"videos": {Table: "videos", Rows: 1, Accounts: 1, AccountsDiffering: 1, Missing: 1,
			Examples: []projections.RowDifference{{ID: videoID, Account: c.AccountID, Kind: "missing"}}},
		"accounts": {Table: "accounts", Rows: 1, LiveRows: 2, Accounts: 2, AccountsDiffering: 1, Surplus: 1,
			Examples: []projections.RowDifference{{ID: "acct_ghost", Account: "acct_ghost", Kind: "surplus"}}},
	}, found))

	c2, err := w.rebuilder().Rebuild(ctx, true)
	require.NoError(t, err)
	require.True(t, c2.Swapped && c2.Accepted && !c2.Equal)
	require.Equal(t, before, w.dump(ctx, t))
	w.rebuild(ctx, t)
}

// TestDamageOfEachTable removes one row and changes another, table by table.
func TestDamageOfEachTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.client("a", 12)
	for len(c.analyses) < 4 || c.steps < 900 {
		require.NoError(t, c.step(ctx))
	}
	before := w.dump(ctx, t)
	for _, m := range models() {
		table := m.Table()
		require.Greater(t, len(before[table]), 1, "the mix writes too few rows of %s", table)
		_, err := w.owner.Exec(ctx, "delete from "+table+" where id = (select min(id) from "+table+")")
		require.NoError(t, err)
		// A document in jsonb has its members in another order, and so have the documents in it. The report
		// is sorted by name, so the new member comes before them.
		_, err = w.owner.Exec(ctx, "update "+table+` set doc = (doc::jsonb || '{"added":7}')::json where id = (select max(id) from `+table+")")
		require.NoError(t, err)
		proof, err := w.rebuilder().Verify(ctx)
		require.NoError(t, err)
		for _, p := range proof.Tables {
			require.Equal(t, p.Table != table, p.Equal(), "%+v", p)
			if p.Table == table {
				require.Equal(t, []int64{1, 0, 1}, []int64{p.Missing, p.Surplus, p.Changed}, "%+v", p)
				require.Equal(t, "doc.added", p.Examples[1].Fields[0].Name, "%+v", p)
			}
		}
		mended, err := w.rebuilder().Rebuild(ctx, true, table)
		require.NoError(t, err)
		require.True(t, mended.Accepted)
		require.Equal(t, before, w.dump(ctx, t))
	}
}

func TestBalanceChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 100)
	check := func() {
		for _, sql := range []string{
			"update credit_balances set posted_seconds = -1",
			"update credit_balances set held_seconds = -1",
			"update credit_balances set held_seconds = posted_seconds + 1",
		} {
			_, err := w.pool.Exec(ctx, sql)
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg, sql)
			require.Equal(t, "23514", pg.Code, sql)
		}
	}
	check()
	w.rebuild(ctx, t)
	check()
	balance, err := w.ledger.Balance(ctx, c.AccountID)
	require.NoError(t, err)
	require.Equal(t, credit.State{AccountID: c.AccountID, PostedSeconds: 100, SignupGrantSeconds: 100, Totals: credit.Totals{Grants: 100}}, balance)
}

// TestPreparedStatementsSurviveTheSwap reads and writes through one connection whose
// statements were prepared for the old tables.
func TestPreparedStatementsSurviveTheSwap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 1000)
	conn, err := w.pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	read := func() {
		// After five executions Postgres may keep a generic plan, so the test runs more
		// than that.
		for range 8 {
			var posted int64
			require.NoError(t, conn.QueryRow(ctx, "select posted_seconds from credit_balances where id = $1", c.AccountID).Scan(&posted))
			require.EqualValues(t, 1000, posted)
			_, err := conn.Exec(ctx, "update credit_balances set held_seconds = held_seconds where id = $1", c.AccountID)
			require.NoError(t, err)
		}
	}
	read()
	for range 3 {
		w.rebuild(ctx, t)
		read()
	}
	_, err = w.resources.Video(ctx, resources.Tenant{AccountID: c.AccountID, Livemode: true}, w.readyVideo(ctx, t, c))
	require.NoError(t, err)
}
