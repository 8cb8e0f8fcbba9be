package audit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/credit"
	"vqa/projections/ledger/audit"
)

// TestAnyChangedByteIsFound writes sound random histories and changes one byte of one row
// of each.
func TestAnyChangedByteIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := &tampering{world: w, T: t}
	verify := w.auditor().InSmallPieces().Verify
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := fmt.Sprintf("acct_%d", n)
		a := w.account(id)
		w.do(t, id, w.grant(id, 1000))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		for range rapid.IntRange(1, 3).Draw(rt, "appends") {
			var commands []credit.Command
			for range rapid.IntRange(1, 6).Draw(rt, "commands") {
				commands = append(commands, w.random(a, r))
			}
			w.do(t, id, commands...)
		}
		scope := audit.Scope{Accounts: []string{id}}
		report, err := verify(t.Context(), scope, func(int64, int64) {})
		require.NoError(rt, err)
		require.Empty(rt, report.Mismatches)

		e := rapid.SampledFrom(x.events(t.Context(), "split_part(stream, '/', 2) = '"+id+"'")).Draw(rt, "event")
		x.changeByte(rt, e)
		report, err = verify(t.Context(), scope, func(int64, int64) {})
		require.NoError(rt, err)
		require.Len(rt, report.Mismatches, 1, "%+v", report.Mismatches)
		found := report.Mismatches[0]
		require.Equal(rt, audit.Mismatch{
			AccountID: id, Kind: found.Kind, Stream: e.stream, Version: e.version, Position: e.position, Detail: found.Detail,
		}, found)
	})
}

// changeByte changes one byte of an event in a way that Postgres accepts.
func (x *tampering) changeByte(rt *rapid.T, e event) {
	columns := map[string]string{"data": e.data, "meta": e.meta, "type": e.kind, "account_id": e.account}
	for try := 0; ; try++ {
		column := rapid.SampledFrom([]string{"data", "meta", "type", "account_id"}).Draw(rt, "column")
		value := []byte(columns[column])
		i := rapid.IntRange(0, len(value)-1).Draw(rt, "byte")
		other := byte(rapid.IntRange(' ', '~').Draw(rt, "other"))
		if value[i] == other {
			continue
		}
		value[i] = other
		sql := "update events set " + column + " = $1 where position = $2"
		err := x.attempt(sql, string(value), e.position)
		if err == nil {
			return
		}
		var refused *pgconn.PgError
		require.True(rt, errors.As(err, &refused) && refused.Code == "22P02", "%v", err) // it is not JSON
	}
}

// TestVerifyBesideWriters verifies several times while clients write.
func TestVerifyBesideWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing sync.WaitGroup
	ready := make(chan struct{})
	begun := sync.OnceFunc(func() { close(ready) })
	writing.Go(func() {
		defer begun() // even when it fails
		r := rand.New(rand.NewPCG(3, 4))
		for n := 0; ctx.Err() == nil && !t.Failed(); n++ {
			a := w.account(fmt.Sprintf("acct_%d", r.IntN(20)))
			w.append(t.Context(), t, w.decide(t, a, w.grant(a.id, 100), w.random(a, r)))
			if n == 50 {
				begun()
			}
		}
	})
	<-ready
	a := w.auditor()
	var last int64
	for range 10 {
		report, err := a.InSmallPieces().Verify(t.Context(), audit.Scope{AllStreams: true}, func(int64, int64) {})
		require.NoError(t, err)
		require.Empty(t, report.Mismatches)
		require.GreaterOrEqual(t, report.Entries, last)
		last = report.Entries
	}
	stop()
	writing.Wait()
}

// TestInterrupted cancels an audit from its progress function. It must release every
// connection.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 30 {
		id := fmt.Sprintf("acct_%d", n%3)
		w.do(t, id, w.grant(id, 100))
	}
	a := w.auditor()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := a.InSmallPieces().Verify(ctx, audit.Scope{}, func(int64, int64) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	// The pool closes a connection with a canceled statement in the background.
	require.Eventually(t, func() bool { return w.pool.Stat().AcquiredConns() == 0 }, 10*time.Second, time.Millisecond)

	var done, total int64
	var mu sync.Mutex
	_, err = a.InSmallPieces().Verify(t.Context(), audit.Scope{}, func(d, of int64) {
		mu.Lock()
		defer mu.Unlock()
		done, total = max(done, d), of
	})
	require.NoError(t, err)
	require.EqualValues(t, 31, done, "with the key of the log")
	require.EqualValues(t, 31, total)

	_, err = a.Verify(t.Context(), audit.Scope{Accounts: []string{"acct_1", "acct_none"}}, func(int64, int64) {})
	var none *audit.NoLedgerError
	require.ErrorAs(t, err, &none)
	require.Equal(t, "acct_none", none.AccountID)
}
