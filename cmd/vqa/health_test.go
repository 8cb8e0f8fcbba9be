package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// TestProbesAreShared: many callers at once cause one test, and its result is used again.
func TestProbesAreShared(t *testing.T) {
	t.Parallel()
	var tests atomic.Int32
	down := errors.New("down")
	p := &healthProbe{test: func(context.Context) error { tests.Add(1); return down }}
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if err := p.Check(t.Context()); !errors.Is(err, down) {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 1, tests.Load())
	p.endedAt = p.endedAt.Add(-probeFor)
	require.ErrorIs(t, p.Check(t.Context()), down)
	require.EqualValues(t, 2, tests.Load())
}

// TestProbeThatHangs: a test that ignores its deadline holds up no caller, and no second one is
// started beside it.
func TestProbeThatHangs(t *testing.T) {
	t.Parallel()
	release, began := make(chan struct{}), make(chan struct{}, 2)
	p := &healthProbe{test: func(context.Context) error { began <- struct{}{}; <-release; return nil }}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		require.ErrorIs(t, p.Check(ctx), context.DeadlineExceeded)
		cancel()
	}
	<-began
	require.Empty(t, began)
	close(release)
	require.NoError(t, p.Check(t.Context()))
}

// TestWriteDatabase: a database that only reads is not ready.
func TestWriteDatabase(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	for name, tt := range map[string]struct{ readOnly, want string }{
		"writable": {"off", ""}, "read-only": {"on", "read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := pgxpool.ParseConfig(url)
			require.NoError(t, err)
			config.ConnConfig.RuntimeParams["default_transaction_read_only"] = tt.readOnly
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			defer pool.Close()
			_, err = pool.Exec(t.Context(), "set role vqa_service")
			require.NoError(t, err)
			err = (&server{app: &app{pool: pool}}).writeDatabase(t.Context())
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, fault.Has(err, fault.DBUnavailable))
			require.ErrorContains(t, fault.Of(err).Cause, tt.want)
			pool.Close()
			require.True(t, fault.Has((&server{app: &app{pool: pool}}).writeDatabase(t.Context()), fault.DBUnavailable))
		})
	}
}

func TestWriteTemp(t *testing.T) { //nolint:paralleltest // it sets TMPDIR
	require.NoError(t, writeTemp(t.Context()))
	t.Setenv("TMPDIR", t.TempDir()+"/missing")
	require.Error(t, writeTemp(t.Context()))
}
