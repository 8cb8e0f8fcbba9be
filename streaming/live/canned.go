package live

import (
	"context"
	"sync"
	"time"

	"vqa/streaming/assemble"
)

// cannedEvery is the time between two results of test mode.
const cannedEvery = 500 * time.Millisecond

// pace keeps the time of the newest picture. It is safe for concurrent use.
type pace struct {
	mu    sync.Mutex
	at    time.Time
	fresh chan struct{} // has a token when at is new
}

func newPace() *pace { return &pace{fresh: make(chan struct{}, 1)} }

func (p *pace) push(f assemble.Picture) {
	p.mu.Lock()
	p.at = f.At
	p.mu.Unlock()
	notify(p.fresh)
}

func (p *pace) newest() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// runCanned reports the canned result while pictures arrive, until ctx ends. It asks no engine.
func (w *watcher) runCanned(ctx context.Context, p *pace) {
	var asked *question
	for {
		select {
		case <-p.fresh:
		case <-ctx.Done():
			return
		}
		q, at := w.question.Load(), p.newest()
		r := w.host.options.Canned(q.query)
		r.AtS = digits(w.clock.at(at).Seconds())
		if !q.narrative || asked == q {
			r.NarrativeUpdate = nil // a sentence comes once
		}
		asked = q
		w.report(ctx, finding{result: r, sampledAt: at})
		sleep(ctx, cannedEvery)
	}
}
