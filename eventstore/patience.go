package eventstore

import (
	"context"
	"sync"
	"time"
)

// CallerPatience is how long a caller waits for a store that does not respond before it receives
// db_unavailable. It leaves 2 s for the rest of a response within 5 s.
const CallerPatience = 3 * time.Second

// Patience bounds the time that one caller waits for a store that does not respond, over all its
// statements together. Every response, also an error, restores the full time: a slow store that
// responds may take as long as the caller's deadline allows. Work without a caller, such as a
// rebuild, has no Patience.
type Patience struct {
	limit time.Duration

	mu   sync.Mutex
	left time.Duration
}

type patienceKey struct{}

// WithPatience returns a context whose statements together wait at most limit, > 0, for a store that
// does not respond.
func WithPatience(ctx context.Context, limit time.Duration) (context.Context, *Patience) {
	p := &Patience{limit: limit, left: limit}
	return context.WithValue(ctx, patienceKey{}, p), p
}

// PatienceOf returns the Patience of a context, or nil.
func PatienceOf(ctx context.Context) *Patience {
	p, _ := ctx.Value(patienceKey{}).(*Patience)
	return p
}

// Left returns how long the next statement may wait.
func (p *Patience) Left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// Answered records that the store has responded.
func (p *Patience) Answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = p.limit
}

// Waited records that the store has not responded for d. It does nothing on a nil Patience.
func (p *Patience) Waited(d time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = max(p.left-d, 0)
}

// Over reports whether the time is used up. It is false for a nil Patience.
func (p *Patience) Over() bool { return p != nil && p.Left() == 0 }
