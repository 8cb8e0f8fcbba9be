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
	"vqa/domain/query"
	"vqa/domain/queue"
	"vqa/domain/video"
)

// QueueTasks returns the running analyses, and those of the given ids that wait.
func (r *Reader) QueueTasks(ctx context.Context, ids []string) ([]queue.Task, error) {
	open, err := unfinished(ctx, r.pool, ids)
	return open.tasks, err
}

// progress is the part of an unfinished analysis that the queue needs.
type progress struct {
	id, accountID, videoID, model, status string

	createdAt time.Time
	worker    *string
	startedAt *time.Time
	percent   int
	query     query.Query
	video     video.State
}

// openAnalyses are unfinished analyses, and the same as tasks.
type openAnalyses struct {
	all   []progress
	tasks []queue.Task
}

// unfinished reads the unfinished analyses. When ids is not nil, it leaves out analyses that
// wait and are not listed.
func unfinished(ctx context.Context, pool *pgxpool.Pool, ids []string) (openAnalyses, error) {
	rows, err := pool.Query(ctx, `
		select a.id, a.account_id, a.video_id, a.model, a.created_at, a.status, d.worker, d.started_at,
			greatest(d.percent, p.percent, 0), d.query, v.doc
		from analyses a join videos v on v.id = a.video_id
		left join analysis_progress p on p.analysis_id = a.id
		cross join lateral json_to_record(a.doc) as d (worker text, started_at timestamptz, percent int, query json)
		where a.status in ('queued', 'preparing', 'analyzing', 'rendering') and a.livemode
			and ($2::text[] is null or a.status <> 'queued' or a.id = any($2))
		order by a.status = 'queued', a.account_id = $1, a.created_at, a.id limit $3`, account.SystemID, ids, forecastLimit+len(ids))
	if err != nil {
		return openAnalyses{}, fmt.Errorf("read the unfinished analyses: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p progress, err error) {
		var compiled, film []byte
		if err := row.Scan(&p.id, &p.accountID, &p.videoID, &p.model, &p.createdAt, &p.status, &p.worker, &p.startedAt, &p.percent, &compiled, &film); err != nil {
			return p, err
		}
		if err := json.Unmarshal(compiled, &p.query); err != nil {
			return p, err
		}
		return p, json.Unmarshal(film, &p.video)
	})
	if err != nil {
		return openAnalyses{}, fmt.Errorf("read the unfinished analyses: %w", err)
	}
	surveyed, err := surveyedVideos(ctx, pool, all)
	if err != nil {
		return openAnalyses{}, fmt.Errorf("read which videos have a survey: %w", err)
	}
	known := make([]*float64, len(all))
	for i, p := range all {
		known[i] = p.video.DurationS()
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
			Running: p.status != string(analysis.Queued), StartedAt: started, Pose: query.NeedsPose(p.query), Background: p.accountID == account.SystemID,
			Seconds: lengths[i], Done: float64(p.percent) / 100, Surveyed: surveyed[subject].Covers(p.query),
		}
	}
	return openAnalyses{all, tasks}, nil
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
