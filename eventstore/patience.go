package eventstore

import (
	"context"
	"sync"
	"time"
)

// CallerPatience is how long a caller waits for a store that does not answer before it is told
// db_unavailable. It leaves room for what else a response within 5 s needs.
const CallerPatience = 3 * time.Second

// Patience bounds how long one caller waits for a store that is silent, over all statements that
// the caller needs. An answer, also a refusal, restores it: a store that is slow but alive may take
// as long as the caller's own deadline allows. Work without a caller, such as a rebuild, has none.
type Patience struct {
	limit time.Duration

	mu   sync.Mutex
	left time.Duration
}

type patienceKey struct{}

// WithPatience returns a context whose statements together wait at most limit, > 0, for a silent
// store.
func WithPatience(ctx context.Context, limit time.Duration) (context.Context, *Patience) {
	p := &Patience{limit: limit, left: limit}
	return context.WithValue(ctx, patienceKey{}, p), p
}

// PatienceOf returns the patience of a context, or nil.
func PatienceOf(ctx context.Context) *Patience {
	p, _ := ctx.Value(patienceKey{}).(*Patience)
	return p
}

// Left is how long the next statement may wait.
func (p *Patience) Left() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// Answered says that the store has answered.
func (p *Patience) Answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = p.limit
}

// Waited says that the store was silent for that long. It does nothing to the patience of a context
// without any.
func (p *Patience) Waited(d time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = max(p.left-d, 0)
}

// Over reports whether the store was silent for too long. The patience of a context without any is
// never over.
func (p *Patience) Over() bool { return p != nil && p.Left() == 0 }
