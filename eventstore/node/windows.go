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
	// windowsQueue bounds the requests that wait for their counts. Take refuses more.
	windowsQueue = 4096
	// windowsTimeout bounds one round trip, because a request must not wait long for its count.
	windowsTimeout = 500 * time.Millisecond
)

// errNotCounted says that too many requests wait for their counts.
var errNotCounted = errors.New("too many requests wait to be counted")

// Windows counts requests over all nodes (domain/rate). Requests that arrive during a round trip to
// the database share the next one: one statement counts all of them.
type Windows struct {
	pool *pgxpool.Pool

	mu      sync.Mutex
	waiting []*hit
	// led is true while one caller, the leader, makes the round trip for all.
	led bool
}

// NewWindows returns the counts in the pool's database.
func NewWindows(pool *pgxpool.Pool) *Windows { return &Windows{pool: pool} }

// hit is one request that waits for its count.
type hit struct {
	subject string
	limit   int
	now     time.Time
	count   rate.Count
	granted bool
	err     error
	// turn is closed when the hit was counted or when its caller becomes the leader. In the
	// second case leads is true.
	turn  chan struct{}
	leads bool
}

// Take counts one request of a subject that may make limit requests a minute. It returns the new
// count and whether the request is allowed. A refused request is not counted. Take returns within a
// second. Errors: too many requests wait for their counts, or the database does not respond.
func (w *Windows) Take(ctx context.Context, subject string, limit int, now time.Time) (rate.Count, bool, error) {
	h := &hit{subject: subject, limit: limit, now: now, turn: make(chan struct{})}
	w.mu.Lock()
	if len(w.waiting) >= windowsQueue {
		w.mu.Unlock()
		return rate.Count{}, false, errNotCounted
	}
	w.waiting = append(w.waiting, h)
	h.leads = !w.led
	w.led = true
	mine := h.leads // after Unlock, only the leader may access h.leads
	w.mu.Unlock()
	if !mine {
		// Each round trip has a deadline, so this wait ends without the caller's context.
		<-h.turn
	}
	if h.leads {
		w.lead(ctx)
	}
	return h.count, h.granted, h.err
}

// lead counts all waiting hits, including the leader's own.
func (w *Windows) lead(ctx context.Context) {
	w.mu.Lock()
	trip := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	// Even after a panic the other callers must continue.
	defer w.handOver(trip)
	// The others must not fail when the leader's client disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), windowsTimeout)
	defer cancel()
	w.count(ctx, trip)
}

// handOver ends a round trip. The first hit that arrived in the meantime leads the next one.
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

// takeSQL counts the hits of all named subjects, and grants as many as the limits allow, as
// rate.Count.Take does. The inserted values are those of a new subject. Rows are locked in the order
// of their names, so that two nodes cannot deadlock. A clock up to one window behind started_at moves
// no bucket back. Buckets that are further ahead were counted by a wrong clock and are dropped.
const takeSQL = `
insert into rate_windows as w (subject, started_at, counts, allowed, granted)
select subject, $4, array_prepend(hits, array_fill(0, array[$6 - 1])), allowed, hits
  from unnest($1::text[], $2::int[], $3::int[]) as asked (subject, allowed, hits) order by subject
on conflict (subject) do update set (started_at, counts, allowed, granted) = (
    select case when passed < -$5::int then excluded.started_at else greatest(w.started_at, excluded.started_at) end,
           array_prepend(slid.counts[1] + fitting, slid.counts[2:]), excluded.allowed, fitting
      from (select extract(epoch from excluded.started_at - w.started_at)::int as passed) as clocks,
           lateral (select case when passed < -$5::int or passed >= $6::int then array_fill(0, array[$6])
                                else array_fill(0, array[greatest(passed, 0)]) || w.counts[:$6 - greatest(passed, 0)]
                           end as counts) as slid,
           lateral (select greatest(0, least(excluded.granted, excluded.allowed - sum(n)))::int as fitting
                      from unnest(slid.counts) as n) as fitted)
returning subject, started_at, counts, granted`

// count makes one round trip for all hits. Hits of one subject share a row.
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

// grant is the result for one subject.
type grant struct {
	rate.Count
	// left counts the granted requests that are not assigned to a hit yet.
	left int
}

func (w *Windows) take(ctx context.Context, subjects []string, limits, hits []int, now time.Time) (map[string]*grant, error) {
	rows, err := w.pool.Query(ctx, takeSQL, subjects, limits, hits, rate.Start(now), int(rate.Window/rate.Bucket), rate.Buckets)
	if err != nil {
		return nil, fmt.Errorf("count requests: %w", err)
	}
	granted := make(map[string]*grant, len(subjects))
	var subject string
	var g grant
	var counts []int32
	_, err = pgx.ForEachRow(rows, []any{&subject, &g.Start, &counts, &g.left}, func() error {
		row := g
		row.Start = row.Start.UTC()
		copy(row.Granted[:], counts)
		granted[subject] = &row
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count requests: %w", err)
	}
	return granted, nil
}

// Allow lets a subject do something once in every interval of length every, over all nodes. It
// returns how long the subject still has to wait, 0 when it may proceed. A refused call does not
// prolong the wait. A time more than a minute ahead is that of a wrong clock and does not count.
func (w *Windows) Allow(ctx context.Context, subject string, every time.Duration, now time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, windowsTimeout)
	defer cancel()
	var last time.Time
	var granted int
	err := w.pool.QueryRow(ctx, `
		insert into rate_windows as w (subject, started_at, counts, allowed, granted) values ($1, $2, '{}', 1, 1)
		on conflict (subject) do update set
		    started_at = case when w.started_at <= $3 or w.started_at > $4 then excluded.started_at else w.started_at end,
		    granted = case when w.started_at <= $3 or w.started_at > $4 then 1 else 0 end
		returning started_at, granted`, subject, now, now.Add(-every), now.Add(rate.Window)).Scan(&last, &granted)
	if err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	if granted > 0 {
		return 0, nil
	}
	return last.Add(every).Sub(now), nil
}

// sweptWindows is how long an idle subject is stored. It must exceed every window and every interval
// passed to Allow.
const sweptWindows = time.Hour

// DeleteIdle deletes up to limit subjects without a request in the hour before now. It returns how
// many it deleted.
func (w *Windows) DeleteIdle(ctx context.Context, now time.Time, limit int) (int64, error) {
	tag, err := w.pool.Exec(ctx, `delete from rate_windows where subject in (
		select subject from rate_windows where started_at <= $1 limit $2 for update skip locked)`,
		now.Add(-sweptWindows), limit)
	if err != nil {
		return 0, fmt.Errorf("delete idle windows: %w", err)
	}
	return tag.RowsAffected(), nil
}
