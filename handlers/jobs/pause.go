package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"vqa/eventstore"
)

const (
	// firstPause is the pause after the first attempt that ended early. Each further one
	// doubles it, up to longestPause.
	firstPause   = 2 * time.Second
	longestPause = time.Minute
)

// backoff is the pause before the next attempt when n attempts ended early, n >= 1. spread,
// 0..1, takes away up to half of it, so that the work of many jobs does not return at once.
func backoff(n int, spread float64) time.Duration {
	full := min(firstPause<<min(max(n-1, 0), 16), longestPause)
	return full - time.Duration(spread*float64(full)/2)
}

// spreadOf derives the spread of an attempt from its work, so that every node computes the
// same pause.
func spreadOf(id string, attempt int) float64 {
	h := fnv.New32a()
	h.Write([]byte(id + "." + strconv.Itoa(attempt)))
	return float64(h.Sum32()) / math.MaxUint32
}

// workLife is how long work is taken up again after faults of the infrastructure. It is the
// life of a hold of credits: after it, the credits are released and the analysis fails.
const workLife = 24 * time.Hour

// pausedError says that an attempt ended because a part of the infrastructure failed. The
// attempt does not count.
type pausedError struct {
	class class
	err   error
	// claimed is true when the attempt cannot be made again, because it claimed its work.
	claimed bool
}

func (e *pausedError) Error() string { return pausedPrefix + string(e.class) + ": " + e.err.Error() }
func (e *pausedError) Unwrap() error { return e.err }

// pausedPrefix begins the error of a canceled job whose attempt paused. The sweep recognizes
// such a job by it.
const pausedPrefix = "paused: "

// pausing marks the error of an attempt when the infrastructure is its cause.
func pausing(err error) error {
	if c := classify(err); err != nil && c.infrastructure() {
		return &pausedError{class: c, err: err}
	}
	return err
}

// wasPaused reports whether the last error of a job is that of a paused attempt.
func wasPaused(job *rivertype.JobRow) bool {
	return len(job.Errors) > 0 && strings.Contains(job.Errors[len(job.Errors)-1].Error, pausedPrefix)
}

// snoozed puts a job that paused back. Its attempt has claimed nothing and is made again.
func snoozed(log *slog.Logger, job *rivertype.JobRow, id string, err error) error {
	paused, found := errors.AsType[*pausedError](err)
	if !found || paused.claimed {
		return err
	}
	n := snoozesOf(job) + 1
	pause := backoff(n, spreadOf(id, n))
	log.Warn("work pauses: a part of the infrastructure failed", "kind", job.Kind, "id", id, "part", string(paused.class), "error", paused.err, "retry_in", pause)
	return river.JobSnooze(pause)
}

// snoozesOf is the number of times that a job was put back. River keeps it in the metadata.
func snoozesOf(job *rivertype.JobRow) int {
	var meta struct {
		Snoozes int `json:"snoozes"`
	}
	_ = json.Unmarshal(job.Metadata, &meta) // without a number, the job counts as new
	return meta.Snoozes
}

// cutOff cancels the job of an attempt that the end of Run or of a lease cut off, or that paused
// after its claim.
// River would run it again, but an attempt can claim its work only once. The sweep enqueues
// the next attempt. A canceled job does not count as lost; a job that failed with an error is
// discarded and counts. Only the text is passed on, because River inspects the wrapped cause.
func cutOff(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil && !is[*pausedError](err) && !errors.Is(err, eventstore.ErrLeaseOver) {
		return err
	}
	return river.JobCancel(errors.New(err.Error()))
}
