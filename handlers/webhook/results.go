package webhook

import (
	"sync"
	"time"

	"vqa/projections/deliveries"
)

// The batches of results.
const (
	// gatherFor is how long a batch waits for further results. Writing in batches of 5 ms took a
	// third of the time of writing each result by itself.
	gatherFor = 5 * time.Millisecond
	// maxResults bounds a batch.
	maxResults = 256
	// maxPause bounds the pause between attempts to write a batch.
	maxPause = 2 * time.Second
	// outcomeTries is how often the outcomes of a batch are appended before those that failed are
	// postponed, for a minute: after 15 s of errors.
	outcomeTries = 10
	postponed    = time.Minute
	forever      = 1 << 30
)

// write records results until the channel is closed.
func (w *worker) write() {
	var skipped []deliveries.Turn
	for {
		batch, open := w.gather(len(skipped) > 0)
		if len(batch) > 0 {
			w.record(batch)
		}
		results := make([]deliveries.Result, len(batch))
		for i, f := range batch {
			results[i] = f.Result
		}
		skipped = w.refresh(deliveries.Merge(skipped, deliveries.Turns(results)))
		w.busy.Add(-int64(len(batch)))
		select {
		case w.freed <- struct{}{}:
		default:
		}
		if !open {
			return
		}
	}
}

// gather returns the next results. With soon it returns without results, too, after a short wait.
// open is false when there are no further ones.
func (w *worker) gather(soon bool) (batch []finished, open bool) {
	var timeout <-chan time.Time
	if soon {
		timeout = time.After(gatherFor)
	}
	select {
	case f, ok := <-w.results:
		if !ok {
			return nil, false
		}
		batch = append(batch, f)
	case <-timeout:
		return nil, true
	}
	timeout = time.After(gatherFor)
	for len(batch) < maxResults {
		select {
		case f, ok := <-w.results:
			if !ok {
				return batch, false
			}
			batch = append(batch, f)
		case <-timeout:
			return batch, true
		}
	}
	return batch, true
}

// record appends the outcomes to the log and then ends the claims. It tries again until the lease is
// over.
func (w *worker) record(batch []finished) {
	if !w.insist("append the outcomes of deliveries", outcomeTries, func() error { return w.append(batch) }) {
		for i := range batch {
			batch[i].postpone(w.Now())
		}
	}
	results := make([]deliveries.Result, len(batch))
	for i, f := range batch {
		results[i] = f.Result
	}
	w.insist("record the results of deliveries", forever, func() error {
		accepted, err := w.Queue.Record(w.ctx, w.lease.Incarnation(), results)
		if err == nil && accepted < len(results) {
			w.Log.WarnContext(w.ctx, "results of deliveries came too late", "count", len(results)-accepted)
		}
		return err
	})
}

// postpone repeats the attempt of a delivery whose outcome could not be appended. One such outcome
// must not stop all others.
func (f *finished) postpone(now time.Time) {
	if f.ending != nil {
		f.Delivered, f.DeadReason, f.RetryAt = false, nil, new(now.Add(postponed))
	}
}

// append appends the outcomes of a batch. An outcome that was appended is marked, so that a
// repetition appends the others only.
func (w *worker) append(batch []finished) error {
	errs := make([]error, len(batch))
	var running sync.WaitGroup
	for i := range batch {
		f := &batch[i]
		if f.ending == nil {
			continue
		}
		running.Go(func() {
			if errs[i] = w.Outcomes.EndDelivery(w.ctx, *f.ending); errs[i] == nil {
				f.ending = nil
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// refresh updates the turns of targets. It returns those that must be tried again.
func (w *worker) refresh(turns []deliveries.Turn) []deliveries.Turn {
	skipped, err := w.Queue.Refresh(w.ctx, turns)
	if err != nil && w.ctx.Err() == nil {
		w.Log.WarnContext(w.ctx, "could not update the turns of webhook targets; trying again", "error", err)
	}
	return skipped
}

// insist repeats a step until it succeeds, or it failed so many times, or the lease is over.
func (w *worker) insist(what string, tries int, step func() error) bool {
	pause := retryPause
	for range tries {
		err := step()
		if err == nil {
			return true
		}
		if w.ctx.Err() != nil {
			break
		}
		w.Log.WarnContext(w.ctx, "could not "+what+"; trying again", "error", err)
		select {
		case <-w.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
	return false
}
