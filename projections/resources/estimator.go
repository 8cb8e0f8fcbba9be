package resources

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/queue"
)

const (
	// A forecast is used for ageFactor times the time that it took to make, and for at most
	// ageMost. So estimates cost little even when the queue is long.
	//
	// newerFactor and newerMost apply to an analysis that is newer than the forecast. The
	// forecast must then have at least manyTasks tasks, so that one more makes no
	// difference.
	ageFactor, newerFactor = 20, 6
	ageMost, newerMost     = time.Second, 250 * time.Millisecond
	manyTasks              = 100
	// forecastLimit is the largest number of unfinished analyses in a forecast.
	forecastLimit = 5000
	// The speed comes from the latest measured first analyses of a video, among at most
	// measuredAmong completed ones.
	measured, measuredAmong = 32, 512
)

// Estimator forecasts when the work on queued analyses begins, from the durations of the
// latest completed ones. It keeps one forecast and the completed analyses for at most a second,
// and what never changes of the analyses in the forecast. It reads everything else from the tables.
type Estimator struct {
	Pool *pgxpool.Pool
	// Nodes counts the living nodes. Each node works on Slots analyses at once.
	Nodes func(ctx context.Context) (int, error)
	Slots int
	// StreamSlotsEach is the number of live streams that each node runs at once.
	StreamSlotsEach int
	Now             func() time.Time
	Log             *slog.Logger

	mu   sync.Mutex
	last timedForecast
	// facts has the analyses of the last forecast.
	facts map[string]facts
	// completed are the load periods of completed analyses at completedAt.
	completed   []queue.LoadPeriod
	completedAt time.Time
}

// timedForecast is a forecast with the time it took to make.
type timedForecast struct {
	queue.Forecast
	took time.Duration
}

// forecast returns a forecast that is new enough for an analysis. Concurrent callers share
// it.
func (e *Estimator) forecast(ctx context.Context, id string) (queue.Forecast, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	began := e.Now()
	if e.last.serves(id, began) {
		return e.last.Forecast, nil
	}
	made, err := e.makeForecast(ctx, began)
	if err != nil {
		return queue.Forecast{}, fmt.Errorf("estimate the queue: %w", err)
	}
	e.last = timedForecast{Forecast: made, took: e.Now().Sub(began)}
	return made, nil
}

// serves reports whether the forecast is new enough for an analysis. The zero value never is.
func (f timedForecast) serves(id string, now time.Time) bool {
	limit := min(ageFactor*f.took, ageMost)
	if !f.Has(id) {
		if limit = min(newerFactor*f.took, newerMost); f.Len() < manyTasks {
			return false
		}
	}
	age := now.Sub(f.At())
	return age >= 0 && age < limit
}

func (e *Estimator) makeForecast(ctx context.Context, now time.Time) (queue.Forecast, error) {
	turns, err := Turns(ctx, e.Pool)
	if err != nil {
		return queue.Forecast{}, err
	}
	open, err := e.open(ctx)
	if err != nil {
		return queue.Forecast{}, err
	}
	if age := now.Sub(e.completedAt); age < 0 || age >= ageMost {
		if e.completed, err = e.readCompleted(ctx); err != nil {
			return queue.Forecast{}, err
		}
		e.completedAt = now
	}
	running := open.measure(e.completed, now)
	nodes, err := e.Nodes(ctx)
	if err != nil { // the order is still known
		e.Log.WarnContext(ctx, "cannot estimate the queue", "error", err)
		return queue.NewForecast(open.tasks, turns, now), nil
	}
	fleet := queue.Fleet{Nodes: nodes, Slots: e.Slots, FramesPerS: queue.Speed(slices.Concat(e.completed, running))}
	return fleet.Forecast(open.tasks, turns, now), nil
}

// StreamSlots is the number of streams of a mode that the living nodes run at once, or 0 when it is not known.
func (e *Estimator) StreamSlots(ctx context.Context, livemode bool) int {
	nodes, err := e.Nodes(ctx)
	if err != nil {
		e.Log.WarnContext(ctx, "cannot estimate the queue for live streams", "error", err)
		return 0
	}
	if !livemode {
		return nodes * queue.TestSlots(e.StreamSlotsEach)
	}
	return nodes * e.StreamSlotsEach
}

// open reads the unfinished analyses, and forgets the facts of all others.
func (e *Estimator) open(ctx context.Context) (openAnalyses, error) {
	if e.facts == nil {
		e.facts = map[string]facts{}
	}
	open, err := unfinished(ctx, e.Pool, nil, e.facts)
	if err != nil {
		return open, err
	}
	current := make(map[string]facts, len(open.all))
	for _, p := range open.all {
		current[p.id] = p.facts
	}
	e.facts = current
	return open, nil
}

// readCompleted returns the load periods of the latest analyses that scanned a whole video in
// their first attempt. An analysis of a video that an earlier one had scanned is left out.
func (e *Estimator) readCompleted(ctx context.Context) ([]queue.LoadPeriod, error) {
	rows, err := e.Pool.Query(ctx, `
		select d.worker, d.started_at, d.completed_at, (d.result->>'video_duration_s')::float8,
			coalesce(d.usage->>'frames', d.result->'receipt'->>'frames', '0')::float8
		from (select * from analyses where status = 'completed' and livemode order by id desc limit $1) a
		cross join lateral json_to_record(a.doc) as d
			(worker text, started_at timestamptz, completed_at timestamptz, attempt int, result json, usage json)
		where d.attempt = 1 and d.worker is not null and d.result->>'video_duration_s' is not null and not exists (
			select from analyses b where b.video_id = a.video_id and b.model = a.model and b.status = 'completed'
			and b.livemode and (b.created_at, b.id) < (a.created_at, a.id))
		order by a.id desc limit $2`, measuredAmong, measured)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p queue.LoadPeriod, err error) {
		err = row.Scan(&p.Node, &p.From, &p.To, &p.VideoS, &p.Frames)
		return p, err
	})
}
