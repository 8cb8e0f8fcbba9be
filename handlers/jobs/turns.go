package jobs

import (
	"context"
	"sync"
	"time"
)

// turns lets one caller at a time work under a name.
type turns struct {
	mu sync.Mutex
	// byName are the names in use, with the number of callers that work or wait.
	byName map[string]*turn
}

type turn struct {
	free    chan struct{}
	waiting int
}

// turnEvery is the time between two calls of waiting.
const turnEvery = time.Second

// take waits for the turn at a name and returns the function that ends it. waiting is
// called every second; an error of it ends the wait.
func (t *turns) take(ctx context.Context, name string, waiting func() error) (leave func(), err error) {
	p := t.join(name)
	tick := time.NewTicker(turnEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.free:
			return func() { p.free <- struct{}{}; t.leave(name) }, nil
		case <-tick.C:
			err = waiting()
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			t.leave(name)
			return nil, err
		}
	}
}

func (t *turns) join(name string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]*turn{}
	}
	p := t.byName[name]
	if p == nil {
		p = &turn{free: make(chan struct{}, 1)}
		p.free <- struct{}{}
		t.byName[name] = p
	}
	p.waiting++
	return p
}

func (t *turns) leave(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.byName[name]; p.waiting == 1 {
		delete(t.byName, name)
	} else {
		p.waiting--
	}
}
