package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/queue"
	"vqa/domain/video"
)

// QueueTasks returns the running analyses, and those of the given ids that wait.
func (r *Reader) QueueTasks(ctx context.Context, ids []string) ([]queue.Task, error) {
	open, err := unfinished(ctx, r.pool, ids, map[string]facts{})
	return open.tasks, err
}

// facts are what the queue needs of an analysis and never changes. The length of its video is nil until it is
// known; a length that is measured later differs little.
type facts struct {
	query   query.Query
	pose    bool
	lengthS *float64
}

// progress is the part of an unfinished analysis that the queue needs.
type progress struct {
	id, accountID, videoID, model, status string

	createdAt time.Time
	worker    *string
	startedAt *time.Time
	percent   int
	facts     facts
}

// openAnalyses are unfinished analyses, and the same as tasks.
type openAnalyses struct {
	all   []progress
	tasks []queue.Task
}

// unfinished reads the unfinished analyses. When ids is not nil, it leaves out analyses that
// wait and are not listed. It takes facts from known and adds those that it reads. For a long
// queue, decoding them again for each forecast took half of the processor time of a node.
func unfinished(ctx context.Context, pool *pgxpool.Pool, ids []string, known map[string]facts) (openAnalyses, error) {
	rows, err := pool.Query(ctx, `
		select a.id, a.account_id, a.video_id, a.model, a.created_at, a.status, d.worker, d.started_at,
			greatest(d.percent, p.percent, 0)
		from analyses a left join analysis_progress p on p.analysis_id = a.id
		cross join lateral json_to_record(case when a.status = 'queued' then '{}' else a.doc end)
			as d (worker text, started_at timestamptz, percent int)
		where a.status in ('queued', 'preparing', 'analyzing', 'rendering') and a.livemode
			and ($2::text[] is null or a.status <> 'queued' or a.id = any($2))
		order by a.status = 'queued', a.account_id = $1, a.created_at, a.id limit $3`, account.SystemID, ids, forecastLimit+len(ids))
	if err != nil {
		return openAnalyses{}, fmt.Errorf("read the unfinished analyses: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p progress, err error) {
		err = row.Scan(&p.id, &p.accountID, &p.videoID, &p.model, &p.createdAt, &p.status, &p.worker, &p.startedAt, &p.percent)
		return p, err
	})
	if err == nil {
		err = learn(ctx, pool, all, known)
	}
	if err != nil {
		return openAnalyses{}, fmt.Errorf("read the unfinished analyses: %w", err)
	}
	surveyed, err := surveyedVideos(ctx, pool, all)
	if err != nil {
		return openAnalyses{}, fmt.Errorf("read which videos have a survey: %w", err)
	}
	return openAnalyses{all, tasksOf(all, surveyed)}, nil
}

// learn sets the facts of the analyses. It reads those that are not known yet, and those without a length.
func learn(ctx context.Context, pool *pgxpool.Pool, all []progress, known map[string]facts) error {
	var missing []string
	for _, p := range all {
		if f, found := known[p.id]; !found || f.lengthS == nil {
			missing = append(missing, p.id)
		}
	}
	if len(missing) > 0 {
		rows, err := pool.Query(ctx, `
			select a.id, a.doc->'query', v.doc from analyses a join videos v on v.id = a.video_id where a.id = any($1)`, missing)
		if err != nil {
			return err
		}
		var id string
		var compiled, film []byte
		_, err = pgx.ForEachRow(rows, []any{&id, &compiled, &film}, func() (err error) {
			known[id], err = readFacts(compiled, film)
			return err
		})
		if err != nil {
			return err
		}
	}
	for i := range all {
		all[i].facts = known[all[i].id]
	}
	return nil
}

func readFacts(compiled, film []byte) (f facts, err error) {
	var v video.State
	if err := json.Unmarshal(compiled, &f.query); err != nil {
		return f, err
	}
	if err := json.Unmarshal(film, &v); err != nil {
		return f, err
	}
	f.pose, f.lengthS = answer.NeedsPose(f.query), v.DurationS()
	return f, nil
}

// tasksOf returns the analyses as tasks.
func tasksOf(all []progress, surveyed map[string]queue.Surveyed) []queue.Task {
	known := make([]*float64, len(all))
	for i, p := range all {
		known[i] = p.facts.lengthS
	}
	lengths := queue.Lengths(known)
	tasks := make([]queue.Task, len(all))
	for i, p := range all {
		subject := p.videoID + " " + p.model
		started := time.Time{}
		if p.startedAt != nil {
			started = *p.startedAt
		}
		tasks[i] = queue.Task{
			ID: p.id, AccountID: p.accountID, CreatedAt: p.createdAt, Subject: subject,
			Running: p.status != string(analysis.Queued), StartedAt: started, Pose: p.facts.pose, Background: p.accountID == account.SystemID,
			Seconds: lengths[i], Done: float64(p.percent) / 100, Surveyed: surveyed[subject].Covers(p.facts.query),
		}
	}
	return tasks
}

// measure sets the frames of the tasks, and returns the load periods of those that run.
func (o openAnalyses) measure(completed []queue.LoadPeriod, now time.Time) (running []queue.LoadPeriod) {
	for i := range o.tasks {
		t, p := &o.tasks[i], o.all[i]
		t.Frames = t.Seconds * queue.SamplingRate(completed, t.Seconds)
		if t.Running && !t.Surveyed && p.startedAt != nil && p.worker != nil {
			running = append(running, queue.LoadPeriod{Node: *p.worker, From: *p.startedAt, To: now, Frames: t.Done * t.Frames})
		}
	}
	return running
}

// surveyedVideos returns which queries the surveys of the videos of some analyses can answer,
// by video and model.
func surveyedVideos(ctx context.Context, pool *pgxpool.Pool, of []progress) (map[string]queue.Surveyed, error) {
	videos, models := make([]string, len(of)), make([]string, len(of))
	for i, p := range of {
		videos[i], models[i] = p.videoID, p.model
	}
	rows, err := pool.Query(ctx, `
		select open.video_id || ' ' || open.model, done.query
		from (select distinct video_id, model from unnest($1::text[], $2::text[]) as o (video_id, model)) open
		cross join lateral (
			select doc->'query' as query from analyses a
			where a.video_id = open.video_id and a.model = open.model and a.status = 'completed' and a.livemode
			order by a.created_at desc, a.id desc limit 8) done`, videos, models)
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
