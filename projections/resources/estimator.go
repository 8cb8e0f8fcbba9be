package resources

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/query"
	"vqa/domain/video"
)

const (
	// restFactor is how many times as long as making it took a forecast is used, so that
	// estimates cost little however long the queue is, but at most restMost. For an analysis
	// that it does not know it is used for less, and only when it knows so many that one more
	// makes no difference.
	restFactor, newerFactor = 20, 6
	restMost, newerMost     = time.Second, 250 * time.Millisecond
	many                    = 100
	// forecastLimit bounds the unfinished analyses that a forecast knows.
	forecastLimit = 5000
	// measured is how many of the latest completed analyses tell how fast the service is, of
	// at most measuredAmong.
	measured, measuredAmong = 32, 512
)

// Estimator foretells when the work on queued analyses begins, from what the latest ones
// took. It holds nothing that is not in the tables but the forecast of a moment.
type Estimator struct {
	Pool *pgxpool.Pool
	// Nodes counts the living nodes; each works on Slots analyses at once.
	Nodes func(ctx context.Context) (int, error)
	Slots int
	Now   func() time.Time
	Log   *slog.Logger

	mu   sync.Mutex
	last forecast
}

// forecast is what was foretold at a moment.
type forecast struct {
	at time.Time
	// took is how long it took to make.
	took time.Duration
	// starts are the seconds until the work on the queued begins; end until it would on one
	// more.
	starts map[string]float64
	end    float64
	// queue has the same of the queued alone, in their order.
	queue []float64
}

// in returns the whole seconds from now until the work on an analysis begins; nil when
// that is not known. One that came after the forecast begins when all others have.
func (f forecast) in(id string, now time.Time) *int {
	start, ok := f.starts[id]
	if !ok {
		start = f.end
	}
	return f.left(start, now)
}

// room returns the whole seconds from now until the work on so many of the queued, at least
// 1, has begun; nil when that is not known.
func (f forecast) room(places int, now time.Time) *int {
	if places > len(f.queue) {
		return f.left(f.end, now)
	}
	return f.left(f.queue[places-1], now)
}

// left returns the whole seconds from now until a time of the forecast; nil for never.
func (f forecast) left(at float64, now time.Time) *int {
	if math.IsInf(at, 1) {
		return nil
	}
	return new(int(math.Round(max(at-now.Sub(f.at).Seconds(), 0))))
}

// forecast returns one that is new enough for an analysis. Callers that come together
// share it.
func (e *Estimator) forecast(ctx context.Context, id string) (forecast, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	began := e.Now()
	if e.last.serves(id, began) {
		return e.last, nil
	}
	made, err := e.foretell(ctx, began)
	if err != nil {
		return forecast{}, fmt.Errorf("estimating the queue: %w", err)
	}
	made.took = e.Now().Sub(began)
	e.last = made
	return made, nil
}

// serves says whether a forecast is new enough.
func (f forecast) serves(id string, now time.Time) bool {
	rest := min(restFactor*f.took, restMost)
	if _, known := f.starts[id]; !known {
		if rest = min(newerFactor*f.took, newerMost); len(f.starts) < many {
			return false
		}
	}
	age := now.Sub(f.at)
	return f.starts != nil && age >= 0 && age < rest
}

// foretell makes a forecast.
func (e *Estimator) foretell(ctx context.Context, now time.Time) (forecast, error) {
	ended, err := e.ended(ctx)
	if err != nil {
		return forecast{}, err
	}
	tasks, running, err := e.unfinished(ctx, now, ended)
	if err != nil {
		return forecast{}, err
	}
	nodes, err := e.Nodes(ctx)
	if err != nil {
		return forecast{}, err
	}
	made := forecast{at: now, starts: make(map[string]float64, len(tasks))}
	starts := fleet{nodes: nodes, slots: e.Slots, speed: speed(append(ended, running...))}.starts(tasks)
	for i, t := range tasks {
		made.starts[t.id] = starts[i]
		if !t.running {
			made.queue = append(made.queue, starts[i])
		}
	}
	made.end = starts[len(tasks)]
	return made, nil
}

// progress is what the estimate needs of an analysis.
type progress struct {
	id, subject, status string
	worker              *string
	startedAt           *time.Time
	percent             int
	query               query.Query
	film                video.State
}

// unfinished returns the unfinished analyses in the order in which they are worked on, and
// what is known of the speed from those that run. What the service asks itself comes last.
func (e *Estimator) unfinished(ctx context.Context, now time.Time, ended []span) ([]task, []span, error) {
	looked, err := e.looked(ctx)
	if err != nil {
		return nil, nil, err
	}
	rows, err := e.Pool.Query(ctx, `
		select a.id, a.video_id || ' ' || a.model, a.status, d.worker, d.started_at, coalesce(d.percent, 0), d.query, v.doc
		from analyses a join videos v on v.id = a.video_id
		cross join lateral json_to_record(a.doc) as d (worker text, started_at timestamptz, percent int, query json)
		where a.status in ('queued', 'preparing', 'analyzing', 'rendering') and a.livemode
		order by a.status = 'queued', a.account_id = $1, a.created_at, a.id limit $2`, account.SystemID, forecastLimit)
	if err != nil {
		return nil, nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p progress, err error) {
		var asked, film []byte
		if err := row.Scan(&p.id, &p.subject, &p.status, &p.worker, &p.startedAt, &p.percent, &asked, &film); err != nil {
			return p, err
		}
		if err := json.Unmarshal(asked, &p.query); err != nil {
			return p, err
		}
		return p, json.Unmarshal(film, &p.film)
	})
	if err != nil {
		return nil, nil, err
	}
	lengths := lengthsOf(all)
	tasks := make([]task, len(all))
	var spans []span
	for i, p := range all {
		t := task{id: p.id, subject: p.subject, running: p.status != string(analysis.Queued), done: float64(p.percent) / 100}
		t.kept, t.frames = looked[p.subject].covers(p.query), lengths[i]*density(ended, lengths[i])
		tasks[i] = t
		if t.running && !t.kept && p.startedAt != nil && p.worker != nil {
			spans = append(spans, span{node: *p.worker, from: *p.startedAt, to: now, frames: t.done * t.frames})
		}
	}
	return tasks, spans, nil
}

// lengthsOf are the lengths of the videos, in seconds; one that is not known is taken to be
// as long as the others are.
func lengthsOf(all []progress) []float64 {
	lengths := make([]float64, len(all))
	total, known := 0.0, 0
	for i, p := range all {
		if s := p.film.DurationS(); s != nil && *s > 0 {
			lengths[i], total, known = *s, total+*s, known+1
		}
	}
	usual := float64(unknownLengthS)
	if known > 0 {
		usual = total / float64(known)
	}
	for i := range lengths {
		lengths[i] = cmp.Or(lengths[i], usual)
	}
	return lengths
}

// look is what was looked at in a video.
type look struct{ taken, joints, lively bool }

// covers says whether a question needs no other look.
func (l look) covers(q query.Query) bool {
	return l.taken && (l.joints || !query.NeedsPose(q)) && (l.lively || !query.NeedsDenseSamples(q))
}

// looked returns what was looked at of the videos of unfinished analyses.
func (e *Estimator) looked(ctx context.Context) (map[string]look, error) {
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
	all := map[string]look{}
	var subject string
	var asked []byte
	_, err = pgx.ForEachRow(rows, []any{&subject, &asked}, func() error {
		var q query.Query
		if err := json.Unmarshal(asked, &q); err != nil {
			return err
		}
		if query.Assessable(q) { // any other was answered without a look
			l := all[subject]
			all[subject] = look{taken: true, joints: l.joints || query.NeedsPose(q), lively: l.lively || query.NeedsDenseSamples(q)}
		}
		return nil
	})
	return all, err
}

// ended returns what the latest analyses took that looked at a whole video in one go: not
// those about a video that another one had looked at.
func (e *Estimator) ended(ctx context.Context) ([]span, error) {
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
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s span, err error) {
		err = row.Scan(&s.node, &s.from, &s.to, &s.videoS, &s.frames)
		return s, err
	})
}
