package jobs

import (
	"context"
	"sync"
	"time"
)

// turns let one at a time work on something.
type turns struct {
	mu sync.Mutex
	// places hold what is worked on, with how many do or want to.
	byName map[string]*turn
}

type turn struct {
	free    chan struct{}
	waiting int
}

// turnEvery is how often one who waits for a turn is asked whether it still wants it.
const turnEvery = time.Second

// take waits for the turn at a name and returns the function that gives it back. waiting is
// called every second, and its error ends the wait.
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
