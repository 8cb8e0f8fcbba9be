package jobs

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// TestARescueUsesTheClockOfTheService asks for stuck jobs as River does on a machine whose clock is an
// hour ahead. A job that has just started is not stuck.
func TestARescueUsesTheClockOfTheService(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = pool.Exec(t.Context(), `insert into river_job (kind, args, max_attempts, attempt, state, attempted_at)
		values ('fresh', '{}', 1, 1, 'running', now()), ('stuck', '{}', 1, 1, 'running', now() - interval '1 hour')`)
	require.NoError(t, err)
	asked := &riverdriver.JobGetStuckParams{Max: 10, StuckHorizon: time.Now().Add(time.Hour - rescueAfter)}
	kinds := func(now func() time.Time) (kinds []string) {
		stuck, err := turnDriver{Driver: riverpgxv5.New(pool), now: now}.GetExecutor().JobGetStuck(t.Context(), asked)
		require.NoError(t, err)
		for _, job := range stuck {
			kinds = append(kinds, job.Kind)
		}
		return kinds
	}
	require.Equal(t, []string{"fresh", "stuck"}, kinds(nil))
	require.Equal(t, []string{"stuck"}, kinds(time.Now))
}
