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
	places map[string]*place
}

type place struct {
	free  chan struct{}
	wants int
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
			return func() { p.free <- struct{}{}; t.part(name) }, nil
		case <-tick.C:
			err = waiting()
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			t.part(name)
			return nil, err
		}
	}
}

func (t *turns) join(name string) *place {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.places == nil {
		t.places = map[string]*place{}
	}
	p := t.places[name]
	if p == nil {
		p = &place{free: make(chan struct{}, 1)}
		p.free <- struct{}{}
		t.places[name] = p
	}
	p.wants++
	return p
}

func (t *turns) part(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.places[name]; p.wants == 1 {
		delete(t.places, name)
	} else {
		p.wants--
	}
}
