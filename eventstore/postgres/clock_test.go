package postgres

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
	"vqa/migrations"
)

var midnight = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// TestClockStaysWithinItsBound measures a database whose clock is an hour off, over round trips of any
// length and asymmetry, with a machine that runs too fast or too slow.
func TestClockStaysWithinItsBound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		speed := 1 + (random.Float64()-.5)/1000 // at most 500 ppm
		var passed time.Duration                // of true time
		machine := func() time.Time {
			return midnight.Add(time.Hour + time.Duration(float64(passed)*speed))
		}
		c := NewClock(machine, slog.New(slog.DiscardHandler))
		last := time.Time{}
		for step := range 200 {
			trip := time.Duration(random.Int64N(int64(50 * time.Millisecond)))
			sent := machine()
			there := time.Duration(random.Float64() * float64(trip))
			passed += there
			shown := midnight.Add(passed)
			passed += trip - there
			c.adopt(sent, machine(), shown)
			for range 3 {
				now, exact := c.Now(), midnight.Add(passed)
				require.WithinDuration(t, exact, now, 25*time.Millisecond+clockEvery/clockDrift+time.Microsecond, "seed %d, step %d", seed, step)
				require.False(t, now.Before(last), "seed %d, step %d: the clock went back by %s", seed, step, last.Sub(now))
				last = now
				passed += time.Duration(random.Int64N(int64(clockEvery) / 3))
			}
		}
	}
}

// TestClockFollowsTheDatabase sets the clocks of the machine and of the database.
func TestClockFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	machine := midnight
	c := NewClock(func() time.Time { return machine }, slog.New(slog.DiscardHandler))
	require.Equal(t, midnight, c.Now(), "before the first measurement")
	require.Zero(t, c.Offset())

	at := func(passed, database time.Duration) time.Time {
		machine = midnight.Add(passed)
		c.adopt(machine, machine.Add(2*time.Millisecond), midnight.Add(database+time.Millisecond))
		machine = machine.Add(2 * time.Millisecond)
		return c.Now()
	}
	hour := time.Hour
	require.Equal(t, midnight.Add(-hour+2*time.Millisecond), at(0, -hour), "the machine is an hour ahead")
	require.Equal(t, hour, c.Offset())
	require.Equal(t, midnight.Add(hour+time.Minute+2*time.Millisecond), at(time.Minute, hour+time.Minute), "the database was set forward")
	require.Equal(t, midnight.Add(-hour+2*time.Minute+2*time.Millisecond), at(2*time.Minute, -hour+2*time.Minute), "the database was set back")
	still := c.Now()
	require.Equal(t, still, at(2*time.Minute+4*time.Millisecond, -hour+2*time.Minute-500*time.Millisecond), "half a second back: time stands still")

	machine = machine.Add(time.Minute)
	before := c.Now()
	c.adopt(machine.Add(-10*time.Second), machine, midnight.Add(-hour+3*time.Minute-5*time.Second))
	require.Equal(t, before, c.Now(), "a slow round trip does not replace an exact measurement")
}

// TestClockOfTheDatabase compares nodes whose machines are an hour and a day off.
func TestClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	pool, err := Connect(t.Context(), storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	for _, ahead := range []time.Duration{0, time.Hour, -24 * time.Hour} {
		c := NewClock(func() time.Time { return time.Now().Add(ahead) }, slog.New(slog.DiscardHandler))
		require.NoError(t, c.Measure(t.Context(), pool))
		var before, after time.Time
		require.NoError(t, pool.QueryRow(t.Context(), "select clock_timestamp()").Scan(&before))
		now := c.Now()
		require.NoError(t, pool.QueryRow(t.Context(), "select clock_timestamp()").Scan(&after))
		c.mu.Lock()
		bound := c.bound
		c.mu.Unlock()
		require.False(t, now.Before(before.Add(-2*bound-time.Second)) || now.After(after.Add(2*bound+time.Second)), "%s is not between %s and %s", now, before, after)
		t.Logf("%s ahead: within %s", ahead, bound)
	}
}
