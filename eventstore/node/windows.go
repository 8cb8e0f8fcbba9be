package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/rate"
)

const (
	// windowsQueue bounds the requests that wait for their counts; more are not counted.
	windowsQueue = 4096
	// windowsTimeout bounds one trip: a request must not wait long to be counted.
	windowsTimeout = 500 * time.Millisecond
)

// ErrNotCounted says that more requests wait for their counts than may.
var ErrNotCounted = errors.New("too many requests wait to be counted")

// Windows counts requests for all nodes (domain/rate). Requests that come while a trip to
// the database is under way share the next one: one statement counts all of them.
type Windows struct {
	pool *pgxpool.Pool

	mu      sync.Mutex
	waiting []*hit
	// led is true while a caller makes trips for all.
	led bool
}

// NewWindows returns the counts in the pool's database.
func NewWindows(pool *pgxpool.Pool) *Windows { return &Windows{pool: pool} }

// hit is one request on its way to be counted.
type hit struct {
	subject string
	limit   int
	now     time.Time
	count   rate.Count
	granted bool
	err     error
	// turn is closed when the hit was counted, or when its caller is to lead: then
	// leads is true.
	turn  chan struct{}
	leads bool
}

// Take asks for one request of a subject, of which a minute takes limit, and returns the
// count after it and whether it was granted; one that was not is not counted. It answers
// within a second. Errors: ErrNotCounted, or that the database is away.
func (w *Windows) Take(ctx context.Context, subject string, limit int, now time.Time) (rate.Count, bool, error) {
	h := &hit{subject: subject, limit: limit, now: now, turn: make(chan struct{})}
	w.mu.Lock()
	if len(w.waiting) >= windowsQueue {
		w.mu.Unlock()
		return rate.Count{}, false, ErrNotCounted
	}
	w.waiting = append(w.waiting, h)
	h.leads = !w.led
	w.led = true
	mine := h.leads // h.leads is the leader's from here on
	w.mu.Unlock()
	if !mine {
		// Each trip has a deadline, and so has this: nobody needs to give up before.
		<-h.turn
	}
	if h.leads {
		w.lead(ctx)
	}
	return h.count, h.granted, h.err
}

// lead counts all that wait, the leader among them.
func (w *Windows) lead(ctx context.Context) {
	w.mu.Lock()
	trip := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	// Whatever happens, the others go on.
	defer w.handOver(trip)
	// They must not depend on how long the leader's client waits.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), windowsTimeout)
	defer cancel()
	w.count(ctx, trip)
}

// handOver ends a trip: the first of those who came meanwhile leads the next.
func (w *Windows) handOver(trip []*hit) {
	w.mu.Lock()
	w.led = len(w.waiting) > 0
	if w.led {
		w.waiting[0].leads = true
		close(w.waiting[0].turn)
	}
	w.mu.Unlock()
	for _, h := range trip {
		if !h.leads {
			close(h.turn)
		}
	}
}

// takeSQL slides the counts of all named subjects and grants what fits, as rate.Count.Take
// does. A proposed row holds what a subject never seen would get; rows are taken in the
// order of their names, so that two nodes do not lock each other out. A clock that lags
// behind started_at changes nothing.
const takeSQL = `
insert into rate_windows as w (subject, started_at, current, previous, allowed, granted)
select subject, $4, hits, 0, allowed, hits
  from unnest($1::text[], $2::int[], $3::int[]) as asked (subject, allowed, hits) order by subject
on conflict (subject) do update set (started_at, current, previous, allowed, granted) = (
    select greatest(w.started_at, excluded.started_at), slid.current + fitting.granted, slid.previous, excluded.allowed, fitting.granted
      from (select case when excluded.started_at <= w.started_at then w.current else 0 end as current,
                   case when excluded.started_at <= w.started_at then w.previous
                        when excluded.started_at = w.started_at + $5::interval then w.current
                        else 0 end as previous,
                   case when excluded.started_at < w.started_at then 0 else $6::bigint end as passed,
                   extract(epoch from $5::interval)::bigint * 1000000 as length) as slid,
           lateral (select greatest(0, least(excluded.granted,
                        ((excluded.allowed - slid.current) * slid.length - slid.previous * (slid.length - slid.passed)) / slid.length
                    ))::int as granted) as fitting)
returning subject, started_at, current, previous, granted`

// count makes one trip for all hits. Hits of one subject share a row.
func (w *Windows) count(ctx context.Context, trip []*hit) {
	slices.SortStableFunc(trip, func(a, b *hit) int { return cmp.Compare(a.subject, b.subject) })
	var subjects []string
	var limits, hits []int
	now := trip[0].now
	for i, h := range trip {
		if h.now.After(now) {
			now = h.now
		}
		if i > 0 && trip[i-1].subject == h.subject {
			last := len(hits) - 1
			hits[last] = min(hits[last]+1, limits[last])
			continue
		}
		subjects, limits, hits = append(subjects, h.subject), append(limits, h.limit), append(hits, 1)
	}
	granted, err := w.take(ctx, subjects, limits, hits, now)
	for _, h := range trip {
		if h.err = err; err != nil {
			continue
		}
		g := granted[h.subject]
		h.count, h.granted = g.Count, g.left > 0
		g.left--
	}
}

// grant is what a subject got on one trip.
type grant struct {
	rate.Count
	// left are the requests that nobody took yet.
	left int
}

func (w *Windows) take(ctx context.Context, subjects []string, limits, hits []int, now time.Time) (map[string]*grant, error) {
	start := rate.Start(now)
	rows, err := w.pool.Query(ctx, takeSQL, subjects, limits, hits, start, rate.Window, now.Sub(start).Microseconds())
	if err != nil {
		return nil, fmt.Errorf("counting requests: %w", err)
	}
	granted := make(map[string]*grant, len(subjects))
	var subject string
	var g grant
	_, err = pgx.ForEachRow(rows, []any{&subject, &g.Start, &g.Current, &g.Previous, &g.left}, func() error {
		row := g
		row.Start = row.Start.UTC()
		granted[subject] = &row
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("counting requests: %w", err)
	}
	return granted, nil
}

// Allow lets a subject do something once in every, over all nodes, and returns how long it
// still has to wait: 0 when it may do it now. What was refused does not prolong the wait.
func (w *Windows) Allow(ctx context.Context, subject string, every time.Duration, now time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, windowsTimeout)
	defer cancel()
	var last time.Time
	var granted int
	err := w.pool.QueryRow(ctx, `
		insert into rate_windows as w (subject, started_at, current, previous, allowed, granted) values ($1, $2, 0, 0, 1, 1)
		on conflict (subject) do update set
		    started_at = case when w.started_at <= $3 then excluded.started_at else w.started_at end,
		    granted = case when w.started_at <= $3 then 1 else 0 end
		returning started_at, granted`, subject, now, now.Add(-every)).Scan(&last, &granted)
	if err != nil {
		return 0, fmt.Errorf("counting requests: %w", err)
	}
	if granted > 0 {
		return 0, nil
	}
	return last.Add(every).Sub(now), nil
}

// sweptWindows is how long a subject is remembered that asks for nothing: longer than any
// window, and than any interval that Allow is asked for.
const sweptWindows = time.Hour

// DeleteIdle removes up to limit subjects that made no request for an hour at now, and
// returns how many it removed.
func (w *Windows) DeleteIdle(ctx context.Context, now time.Time, limit int) (int64, error) {
	tag, err := w.pool.Exec(ctx, `delete from rate_windows where subject in (
		select subject from rate_windows where started_at <= $1 limit $2 for update skip locked)`,
		now.Add(-sweptWindows), limit)
	if err != nil {
		return 0, fmt.Errorf("delete idle windows: %w", err)
	}
	return tag.RowsAffected(), nil
}
