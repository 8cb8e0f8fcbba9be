package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// clockEvery is the pause between two measurements of the database's clock.
	clockEvery = 5 * time.Second
	// clockTimeout bounds one measurement.
	clockTimeout = 2 * time.Second
	// clockSamples is the number of measurements at the start. The one with the shortest round trip
	// counts.
	clockSamples = 3
	// clockDrift is the largest assumed difference in speed between two clocks: 1 ms in a second,
	// which is 5 times what NTP corrects.
	clockDrift = time.Second / time.Millisecond
	// clockStill is the largest correction backward for which the clock stands still. A larger one
	// means that the clock of the database was set.
	clockStill = time.Second
)

// Clock shows the time of the database to a node. All nodes on one database show the same time, so a
// node with a wrong clock decides like the others.
//
// Each measurement reads clock_timestamp() and assumes that it was read in the middle of the round
// trip. Between measurements the monotonic clock of the machine counts, so setting the machine's clock
// has no effect. The error is at most half the round trip of a measurement and 1 ms for each second
// since then. A new measurement replaces the last one when it is more exact, or when they contradict
// each other because the clock of the database was set.
//
// Time never goes back, except when the clock of the database is set back by more than a second. While
// the database does not answer, the machine counts on. After a suspend of the machine the time is late
// until the next measurement, at most 5 s.
type Clock struct {
	machine func() time.Time
	log     *slog.Logger

	mu sync.Mutex
	// base is the time of the database when the machine's clock showed at. base is zero before the
	// first measurement.
	base, at time.Time
	// bound is the largest error of base.
	bound time.Duration
	last  time.Time
}

// NewClock returns a clock that shows the machine's time until its first measurement. The machine's
// time needs a monotonic reading.
func NewClock(machine func() time.Time, log *slog.Logger) *Clock {
	return &Clock{machine: machine, log: log}
}

// Now returns the time of the database, in UTC and in microseconds, the resolution of Postgres.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	machine := c.machine()
	now := machine.Round(0)
	if !c.base.IsZero() {
		now = c.base.Add(machine.Sub(c.at))
	}
	now = now.UTC().Truncate(time.Microsecond)
	if back := c.last.Sub(now); back > 0 && back <= clockStill {
		now = c.last
	}
	c.last = now
	return now
}

// Offset is how far the machine's clock is ahead of the database's.
func (c *Clock) Offset() time.Duration {
	now := c.Now()
	return c.machine().Round(0).Sub(now)
}

// Measure measures the database's clock several times. A service calls it before it uses the time.
func (c *Clock) Measure(ctx context.Context, pool *pgxpool.Pool) error {
	for range clockSamples {
		if err := c.measure(ctx, pool); err != nil {
			return err
		}
	}
	if offset := c.Offset(); offset.Abs() > clockStill {
		c.log.WarnContext(ctx, "the clock of this machine is wrong, or that of the database; the service uses that of the database",
			"machine_ahead", offset.Round(time.Millisecond))
	}
	return nil
}

// Run measures the database's clock until ctx ends.
func (c *Clock) Run(ctx context.Context, pool *pgxpool.Pool) {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := c.measure(ctx, pool); err != nil && ctx.Err() == nil {
			c.log.DebugContext(ctx, "could not measure the clock of the database", "error", err)
		}
	}
}

func (c *Clock) measure(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	conn, err := pool.Acquire(ctx) // before the round trip: connecting takes several
	if err != nil {
		return fmt.Errorf("measure the clock of the database: %w", err)
	}
	defer conn.Release()
	var shown time.Time
	sent := c.machine()
	// Only the simple protocol needs one round trip for a statement that is not prepared.
	if err := conn.QueryRow(ctx, "select pg_catalog.clock_timestamp()", pgx.QueryExecModeSimpleProtocol).Scan(&shown); err != nil {
		return fmt.Errorf("measure the clock of the database: %w", err)
	}
	c.adopt(sent, c.machine(), shown)
	return nil
}

// adopt uses a measurement unless the last one is more exact.
func (c *Clock) adopt(sent, received, shown time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bound := received.Sub(sent) / 2
	measured := shown.Add(bound)
	if !c.base.IsZero() {
		elapsed := received.Sub(c.at)
		known := c.bound + elapsed/clockDrift
		jump := measured.Sub(c.base.Add(elapsed))
		contradicts := jump.Abs() > known+bound
		if !contradicts && bound > known {
			return
		}
		if contradicts && jump.Abs() > clockStill {
			c.log.Warn("the clock of the database was set, or this machine was suspended; the service follows it", "by", jump.Round(time.Millisecond))
		}
	}
	c.base, c.at, c.bound = measured, received, bound
}
