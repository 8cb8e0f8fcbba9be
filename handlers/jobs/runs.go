package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"vqa/eventstore"
)

// rescueAfter is how long a job runs before River looks at its timeout.
const rescueAfter = 2 * time.Minute

// timeoutSlack is how much longer than its attempt a job may run, to record the end.
const timeoutSlack = time.Minute

// worker runs the jobs of one kind.
type worker[A river.JobArgs] struct {
	river.WorkerDefaults[A]
	timeout time.Duration
	lease   eventstore.Lease
	runs    *runs
	work    func(context.Context, *river.Job[A]) error
}

// addWorker adds a worker whose jobs end with the lease, and that starts no job after it. Its
// attempts bound themselves by timeout.
func addWorker[A river.JobArgs](
	to *river.Workers, lease eventstore.Lease, runs *runs, timeout time.Duration, work func(context.Context, *river.Job[A]) error,
) {
	river.AddWorker(to, &worker[A]{timeout: timeout + timeoutSlack, lease: lease, runs: runs, work: work})
}

// Timeout implements river.Worker. River never rescues a job before this time.
func (w *worker[A]) Timeout(*river.Job[A]) time.Duration { return w.timeout }

// Work implements river.Worker.
func (w *worker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	defer w.runs.ended(ctx, job.ID)
	defer w.runs.enter(job.ID)()
	if w.lease.Check() != nil {
		return river.JobSnooze(restartPause) // nothing was claimed, so any node may work it
	}
	ctx, cancel := eventstore.WithLease(ctx, w.lease)
	defer cancel()
	return w.work(ctx, job)
}

// idleFor is how long a job may be recorded as running on this node without running. River
// needs a moment to start a job and to record its end.
const idleFor = 30 * time.Second

// maxIdle bounds the memory for jobs that were seen between their end and its record.
const maxIdle = 1000

// runs knows the jobs that run on this node. When the database fails, River gives up recording
// the end of a job, and its row says forever that it runs.
type runs struct {
	mu sync.Mutex
	// incarnation is the name under which this node works.
	incarnation string
	// pilot chooses the analyses of this incarnation.
	pilot *turnPilot
	since map[int64]time.Time
	// idle is when a job was first seen as recorded and not running.
	idle map[int64]time.Time
}

func newRuns() *runs { return &runs{since: map[int64]time.Time{}, idle: map[int64]time.Time{}} }

// under sets the name under which this node works from now on, and the pilot that chooses its
// analyses.
func (r *runs) under(incarnation string, pilot *turnPilot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.incarnation, r.pilot = incarnation, pilot
}

// ended frees the slot of a job.
func (r *runs) ended(ctx context.Context, job int64) {
	r.mu.Lock()
	pilot := r.pilot
	r.mu.Unlock()
	if pilot != nil {
		pilot.ended(ctx, job)
	}
}

// unworked frees the slots of jobs that River ends without a worker, for example because their
// arguments do not decode.
type unworked struct{ runs *runs }

// HandleError implements river.ErrorHandler.
func (u unworked) HandleError(ctx context.Context, job *rivertype.JobRow, _ error) *river.ErrorHandlerResult {
	u.runs.ended(ctx, job.ID)
	return nil
}

// HandlePanic implements river.ErrorHandler.
func (u unworked) HandlePanic(ctx context.Context, job *rivertype.JobRow, _ any, _ string) *river.ErrorHandlerResult {
	u.runs.ended(ctx, job.ID)
	return nil
}

// own reports whether this node works under a name.
func (r *runs) own(incarnation string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return incarnation != "" && r.incarnation == incarnation
}

// enter notes that a job runs until leave is called.
func (r *runs) enter(job int64) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since[job] = time.Now()
	delete(r.idle, job)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.since, job)
	}
}

// forgotten reports whether a job that is recorded as running has not run for idleFor.
func (r *runs) forgotten(job int64, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, running := r.since[job]; running {
		return false
	}
	first, seen := r.idle[job]
	if !seen {
		if len(r.idle) >= maxIdle {
			clear(r.idle)
		}
		r.idle[job] = now
		return false
	}
	return now.Sub(first) >= idleFor
}
