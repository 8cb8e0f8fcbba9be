package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"

	"vqa/domain/queue"
	"vqa/projections/resources"
)

const (
	// takeTimeout bounds the choice of the next analyses.
	takeTimeout = 10 * time.Second
	// takeTries is how often the choice is made again when another node was faster.
	takeTries = 3
	// takeLock is the key of the lock under which one node at a time makes its choice.
	takeLock = "vqa.account_turns"
	// announceTimeout bounds the notification of a waiting analysis.
	announceTimeout = time.Second
)

// lockSQL lets one node choose at a time. A node that freezes meanwhile loses its transaction, so it
// does not stop the others.
const lockSQL = `select set_config('idle_in_transaction_session_timeout', '2s', true),
	pg_advisory_xact_lock(hashtextextended($1, 0))`

// Line reads the queue of analyses.
type Line interface {
	// QueueTasks returns the running analyses, and those of the given ids that wait.
	QueueTasks(ctx context.Context, ids []string) ([]queue.Task, error)
}

// turnPilot chooses the analyses that a node starts, by the turns of their accounts. River
// fetches other jobs itself, oldest first.
type turnPilot struct {
	riverpilot.StandardPilot

	pool *pgxpool.Pool
	line Line
	log  *slog.Logger

	// held is true when a slot stayed free although an analysis waits.
	held atomic.Bool

	mu   sync.Mutex
	room *queue.Room
	// taken are the analyses of this node that run, by job.
	taken map[int64]queue.Task
}

func newTurnPilot(o Options) *turnPilot {
	return &turnPilot{pool: o.Pool, line: o.Line, log: o.Log, room: queue.NewRoom(1, o.Analyses), taken: map[int64]queue.Task{}}
}

// JobGetAvailable implements riverpilot.Pilot. River calls it when a slot is free.
func (p *turnPilot) JobGetAvailable(
	ctx context.Context, exec riverdriver.Executor, state riverpilot.ProducerState, params *riverdriver.JobGetAvailableParams,
) (*riverdriver.JobGetAvailableResult, error) {
	if params.Queue != queueAnalyses {
		return p.StandardPilot.JobGetAvailable(ctx, exec, state, params)
	}
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	result := &riverdriver.JobGetAvailableResult{}
	for try := 0; len(result.Jobs) < params.MaxToLock && try < takeTries; try++ {
		ids, again, err := p.take(ctx, params, params.MaxToLock-len(result.Jobs))
		var jobs []*rivertype.JobRow
		if err == nil && len(ids) > 0 {
			if jobs, err = exec.JobGetByIDMany(ctx, &riverdriver.JobGetByIDManyParams{ID: ids, Schema: params.Schema}); err != nil {
				p.free(ids...)
			}
		}
		if err != nil && len(result.Jobs) == 0 {
			return nil, fmt.Errorf("take the next analyses: %w", err)
		}
		result.Jobs = append(result.Jobs, jobs...)
		if !again || err != nil { // jobs that were taken must run
			break
		}
	}
	return result, nil
}

// waitingJob is a job that may start. A further attempt of an analysis keeps its turn.
type waitingJob struct {
	id         int64
	analysisID string
	accountID  string
}

// take starts up to limit jobs and returns their ids. again is true when another node was
// faster.
func (p *turnPilot) take(ctx context.Context, params *riverdriver.JobGetAvailableParams, limit int) (ids []int64, again bool, err error) {
	waiting, err := p.waiting(ctx, params.Now, limit)
	if err != nil {
		return nil, false, err
	}
	if len(waiting) == 0 {
		return nil, false, resources.ForgetTurns(ctx, p.pool)
	}
	analyses := make([]string, len(waiting))
	for i, w := range waiting {
		analyses[i] = w.analysisID
	}
	tasks, err := p.line.QueueTasks(ctx, analyses)
	if err != nil {
		return nil, false, err
	}
	tx, err := p.pool.Begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, lockSQL, takeLock); err != nil {
		return nil, false, err
	}
	turns, err := resources.Turns(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	chosen := p.choose(waiting, tasks, turns, limit)
	if ids, err = start(ctx, tx, params, chosen); err == nil {
		err = resources.RecordTurns(ctx, tx, &turns, charged(chosen, ids))
	}
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		ids = nil
	}
	for _, c := range chosen {
		if !slices.Contains(ids, c.job) {
			p.free(c.job)
		}
	}
	return ids, len(ids) < len(chosen), err
}

// waiting returns the jobs that may start. Those are the first few of each account, because only
// that many can start now.
func (p *turnPilot) waiting(ctx context.Context, now *time.Time, perAccount int) ([]waitingJob, error) {
	rows, err := p.pool.Query(ctx, `
		select id, analysis, account from (
			select id, coalesce(args->>'analysis_id', '') as analysis, coalesce(args->>'account_id', '') as account,
				row_number() over (partition by args->>'account_id' order by scheduled_at, id) as n
			from river_job
			where state = 'available' and queue = $1 and scheduled_at <= coalesce($2, now())) waiting
		where n <= $3`, queueAnalyses, now, perAccount)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w waitingJob, err error) {
		err = row.Scan(&w.id, &w.analysisID, &w.accountID)
		return w, err
	})
}

// choice is a job that gets a slot.
type choice struct {
	queue.Place
	job int64
	// charged is true when the job takes a turn of its account.
	charged bool
}

// choose gives free slots to jobs. Further attempts come first. A job without an open analysis
// also runs, and finds that its work has ended.
func (p *turnPilot) choose(waiting []waitingJob, tasks []queue.Task, turns queue.Turns, limit int) (chosen []choice) {
	jobs := map[string]waitingJob{}
	for _, w := range waiting {
		jobs[w.analysisID] = w
	}
	var line []choice
	for _, place := range turns.Line(tasks) {
		line = append(line, choice{place, jobs[place.ID].id, true})
		delete(jobs, place.ID)
	}
	running := map[string]queue.Task{}
	for _, t := range tasks {
		running[t.ID] = t
	}
	for _, w := range slices.Backward(waiting) {
		if _, left := jobs[w.analysisID]; left {
			t := running[w.analysisID]
			t.ID, t.AccountID = w.analysisID, w.accountID
			line = slices.Insert(line, 0, choice{queue.Place{Task: t}, w.id, false})
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range line {
		if len(chosen) < limit && p.room.Admits(c.Task) {
			p.room.Enter(c.Task)
			p.taken[c.job] = c.Task
			chosen = append(chosen, c)
		}
	}
	p.held.Store(len(chosen) < min(limit, len(line)))
	return chosen
}

// start sets the chosen jobs to running, as River does, and returns the ids of those that
// still waited.
func start(ctx context.Context, tx pgx.Tx, params *riverdriver.JobGetAvailableParams, chosen []choice) ([]int64, error) {
	ids := make([]int64, len(chosen))
	for i, c := range chosen {
		ids[i] = c.job
	}
	rows, err := tx.Query(ctx, `
		update river_job set state = 'running', attempt = attempt + 1, attempted_at = coalesce($2, now()),
			attempted_by = array_append(attempted_by[greatest(1, cardinality(attempted_by) + 2 - $4):], $3)
		where id = any($1) and state = 'available' returning id`, ids, params.Now, params.ClientID, params.MaxAttemptedBy)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// charged are the places of the started jobs that take a turn of their account.
func charged(chosen []choice, started []int64) (places []queue.Place) {
	for _, c := range chosen {
		if c.charged && slices.Contains(started, c.job) {
			places = append(places, c.Place)
		}
	}
	return places
}

// free gives back the slots of jobs that did not start or have ended. It reports whether they had any.
func (p *turnPilot) free(jobs ...int64) (had bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, job := range jobs {
		if t, found := p.taken[job]; found {
			delete(p.taken, job)
			p.room.Leave(t)
			had = true
		}
	}
	return had
}

// ended frees the slot of a job at its end. River fetches by itself only when all slots were
// taken, so an analysis that was held back is announced again.
func (p *turnPilot) ended(ctx context.Context, job int64) {
	if !p.free(job) || !p.held.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), announceTimeout)
	defer cancel()
	payload, err := json.Marshal(map[string]string{"queue": queueAnalyses})
	if err == nil {
		_, err = p.pool.Exec(ctx, "select pg_notify(current_schema() || '.river_insert', $1)", string(payload))
	}
	if err != nil {
		p.log.WarnContext(ctx, "could not announce the next analysis; it starts within a second", "error", err)
	}
}
