package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/query"
	"vqa/domain/queue"
	"vqa/domain/video"
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
// latest completed ones. It keeps one forecast for at most a second and reads everything
// else from the tables.
type Estimator struct {
	Pool *pgxpool.Pool
	// Nodes counts the living nodes. Each node works on Slots analyses at once.
	Nodes func(ctx context.Context) (int, error)
	Slots int
	Now   func() time.Time
	Log   *slog.Logger

	mu   sync.Mutex
	last timedForecast
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
	completed, err := e.completed(ctx)
	if err != nil {
		return queue.Forecast{}, err
	}
	tasks, running, err := e.unfinished(ctx, now, completed)
	if err != nil {
		return queue.Forecast{}, err
	}
	nodes, err := e.Nodes(ctx)
	if err != nil {
		return queue.Forecast{}, err
	}
	fleet := queue.Fleet{Nodes: nodes, Slots: e.Slots, FramesPerS: queue.Speed(append(completed, running...))}
	return fleet.Forecast(tasks, now), nil
}

// progress is the part of an unfinished analysis that the estimate needs.
type progress struct {
	id, subject, status string
	worker              *string
	startedAt           *time.Time
	percent             int
	query               query.Query
	video               video.State
}

// unfinished returns the unfinished analyses in the order in which nodes start them, and the
// load periods of those that run. Analyses of the system account come last.
func (e *Estimator) unfinished(ctx context.Context, now time.Time, completed []queue.LoadPeriod) ([]queue.Task, []queue.LoadPeriod, error) {
	surveyed, err := e.surveyed(ctx)
	if err != nil {
		return nil, nil, err
	}
	rows, err := e.Pool.Query(ctx, `
		select a.id, a.video_id || ' ' || a.model, a.status, d.worker, d.started_at,
			greatest(d.percent, p.percent, 0), d.query, v.doc
		from analyses a join videos v on v.id = a.video_id
		left join analysis_progress p on p.analysis_id = a.id
		cross join lateral json_to_record(a.doc) as d (worker text, started_at timestamptz, percent int, query json)
		where a.status in ('queued', 'preparing', 'analyzing', 'rendering') and a.livemode
		order by a.status = 'queued', a.account_id = $1, a.created_at, a.id limit $2`, account.SystemID, forecastLimit)
	if err != nil {
		return nil, nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p progress, err error) {
		var compiled, film []byte
		if err := row.Scan(&p.id, &p.subject, &p.status, &p.worker, &p.startedAt, &p.percent, &compiled, &film); err != nil {
			return p, err
		}
		if err := json.Unmarshal(compiled, &p.query); err != nil {
			return p, err
		}
		return p, json.Unmarshal(film, &p.video)
	})
	if err != nil {
		return nil, nil, err
	}
	known := make([]*float64, len(all))
	for i, p := range all {
		known[i] = p.video.DurationS()
	}
	lengths := queue.Lengths(known)
	tasks := make([]queue.Task, len(all))
	var running []queue.LoadPeriod
	for i, p := range all {
		t := queue.Task{
			ID: p.id, Subject: p.subject, Running: p.status != string(analysis.Queued),
			Frames: lengths[i] * queue.SamplingRate(completed, lengths[i]), Done: float64(p.percent) / 100,
			Surveyed: surveyed[p.subject].Covers(p.query),
		}
		tasks[i] = t
		if t.Running && !t.Surveyed && p.startedAt != nil && p.worker != nil {
			running = append(running, queue.LoadPeriod{Node: *p.worker, From: *p.startedAt, To: now, Frames: t.Done * t.Frames})
		}
	}
	return tasks, running, nil
}

// surveyed returns which queries the surveys of the videos of unfinished analyses can
// answer, by video and model.
func (e *Estimator) surveyed(ctx context.Context) (map[string]queue.Surveyed, error) {
	rows, err := e.Pool.Query(ctx, `
		select open.video_id || ' ' || open.model, done.query
		from (select distinct video_id, model from analyses
		      where status in ('queued', 'preparing', 'analyzing', 'rendering') and livemode limit $1) open
		cross join lateral (
			select doc->'query' as query from analyses a
			where a.video_id = open.video_id and a.model = open.model and a.status = 'completed' and a.livemode
			order by a.created_at desc, a.id desc limit 8) done`, forecastLimit)
	if err != nil {
		return nil, err
	}
	all := map[string]queue.Surveyed{}
	var subject string
	var compiled []byte
	_, err = pgx.ForEachRow(rows, []any{&subject, &compiled}, func() error {
		var q query.Query
		if err := json.Unmarshal(compiled, &q); err != nil {
			return err
		}
		all[subject] = all[subject].With(q)
		return nil
	})
	return all, err
}

// completed returns the load periods of the latest analyses that scanned a whole video in
// their first attempt. An analysis of a video that an earlier one had scanned is left out.
func (e *Estimator) completed(ctx context.Context) ([]queue.LoadPeriod, error) {
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
