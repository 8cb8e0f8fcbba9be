package history

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Job is a row of River: one attempt of a job.
type Job struct {
	ID    int64  `json:"id"`
	Kind  string `json:"kind"`
	State string `json:"state"`
	// Attempt is the attempt that the arguments of the job name, or else River's own.
	Attempt     int        `json:"attempt"`
	Queue       string     `json:"queue"`
	CreatedAt   time.Time  `json:"created_at"`
	AttemptedAt *time.Time `json:"attempted_at"`
	// Node is the incarnation of the node that works or worked the job, or empty.
	Node string `json:"node,omitempty"`
	// Lost is true for a job in the state running whose node is dead: nothing works on it. River ends
	// the row later.
	Lost        bool       `json:"lost,omitempty"`
	FinalizedAt *time.Time `json:"finalized_at"`
	Errors      []JobError `json:"errors,omitempty"`

	// causation is the cause in the job's arguments. object is the object that the job
	// removes.
	causation, object string
}

// JobError is the error of one run of a job.
type JobError struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

// Each part of the union uses River's index of arguments.
const jobsSQL = `
select distinct on (j.id) j.id, j.kind, j.state::text, j.attempt, j.queue, j.created_at, j.attempted_at, j.finalized_at,
       j.errors, j.args, j.node, j.state = 'running' and not exists (select from living_nodes l where l.incarnation = j.node)
  from unnest($1::jsonb[]) as part
 cross join lateral (select *, coalesce(attempted_by[cardinality(attempted_by)], '') as node
                       from river_job where args @> part offset 0) as j
 order by j.id limit $2`

// jobs returns the jobs with a correlation, and those that remove one of the objects.
func (r *Reader) jobs(ctx context.Context, correlation string, objects []string) ([]Job, error) {
	parts := []any{map[string]any{"cause": map[string]string{"correlation_id": correlation}}}
	for _, o := range objects {
		parts = append(parts, map[string]string{"key": o})
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("find jobs: %w", err)
		}
		texts[i] = string(text)
	}
	rows, err := r.pool.Query(ctx, jobsSQL, texts, maxFound)
	if err != nil {
		return nil, fmt.Errorf("find jobs: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, scanJob)
	if err != nil {
		return nil, fmt.Errorf("find jobs: %w", err)
	}
	return jobs, nil
}

func scanJob(row pgx.CollectableRow) (Job, error) {
	var j Job
	var args []byte
	if err := row.Scan(&j.ID, &j.Kind, &j.State, &j.Attempt, &j.Queue, &j.CreatedAt, &j.AttemptedAt, &j.FinalizedAt, &j.Errors, &args, &j.Node, &j.Lost); err != nil {
		return j, err
	}
	var named struct {
		Attempt int    `json:"attempt"`
		Key     string `json:"key"`
		Cause   struct {
			CausationID string `json:"causation_id"`
		} `json:"cause"`
	}
	if err := json.Unmarshal(args, &named); err != nil {
		return j, fmt.Errorf("job %d: %w", j.ID, err)
	}
	if named.Attempt > 0 {
		j.Attempt = named.Attempt
	}
	j.causation, j.object = named.Cause.CausationID, named.Key
	j.CreatedAt = j.CreatedAt.UTC()
	for _, at := range []*time.Time{j.AttemptedAt, j.FinalizedAt} {
		if at != nil {
			*at = at.UTC()
		}
	}
	return j, nil
}
