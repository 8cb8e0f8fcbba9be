package edge

import (
	"container/list"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"vqa/domain/account"
	"vqa/domain/admission"
	"vqa/domain/fault"
)

// Creates bounds the creates with live credentials that a node carries out at once
// (domain/admission). It is safe for concurrent use.
type Creates struct {
	log *slog.Logger

	mu   sync.Mutex
	gate *admission.Gate
	// line holds the creates that wait, the first one first: a chan struct{} each, which is closed
	// when the create may run.
	line *list.List
	shed map[string]int
	// quietAt is when the log reports a refusal again.
	quietAt time.Time
}

// The reasons for which a create is shed. With shedBusy more creates arrive than the node can
// record. With shedSlow a single create takes too long: something that the node needs is slow.
const (
	shedBusy = "busy"
	shedSlow = "slow"
)

const (
	// shedQuiet is the time without a refusal after which the next one is logged.
	shedQuiet = 10 * time.Second
	// longestInLine is the longest time in line, for when the node becomes slower than it was
	// when the create arrived.
	longestInLine = time.Second
)

// NewCreates returns a bound with a policy.
func NewCreates(p admission.Policy, log *slog.Logger) *Creates {
	return &Creates{gate: admission.New(p), line: list.New(), shed: map[string]int{shedBusy: 0, shedSlow: 0}, log: log}
}

// CreateStats are the figures of Creates.
type CreateStats struct {
	// Bound is the largest number of creates in service. Inside is the present one, and Waiting
	// the number in line.
	Bound, Inside, Waiting int
	// Mean is the latest mean time in service.
	Mean time.Duration
	// Shed counts the refused creates by reason, busy or slow.
	Shed map[string]int
}

// Stats returns the present figures.
func (c *Creates) Stats() CreateStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CreateStats{Bound: c.gate.Bound(), Inside: c.gate.Inside(), Waiting: c.gate.Waiting(), Mean: c.gate.Mean(), Shed: maps.Clone(c.shed)}
}

// enter takes a place for a create, and waits for one in line. Errors: capacity_exhausted, or
// that of ctx.
func (c *Creates) enter(ctx context.Context, now func() time.Time) (*admitted, error) {
	c.mu.Lock()
	arrived := now()
	switch c.gate.Enter(arrived) {
	case admission.Serve:
		c.mu.Unlock()
		return &admitted{creates: c, began: arrived}, nil
	case admission.Refuse:
		defer c.mu.Unlock()
		return nil, c.refuse(arrived)
	case admission.Wait:
	}
	turn := make(chan struct{})
	place := c.line.PushBack(turn)
	c.mu.Unlock()
	patience := time.NewTimer(longestInLine)
	defer patience.Stop()
	select {
	case <-turn:
		return &admitted{creates: c, began: now()}, nil
	case <-patience.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-turn: // its turn came at the same time
		return &admitted{creates: c, began: now()}, nil
	default:
	}
	c.line.Remove(place)
	c.gate.Abandon(now())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, c.refuse(now())
}

// refuse returns the error for a create without a place. The caller holds mu.
func (c *Creates) refuse(now time.Time) error {
	retryAfterS, reason := c.gate.Book(now), shedBusy
	if c.gate.Slow() {
		reason = shedSlow
	}
	c.shed[reason]++
	if now.After(c.quietAt) {
		c.log.Warn("refusing live creates: more arrive than this node can record in time",
			"reason", reason, "bound", c.gate.Bound(), "mean", c.gate.Mean(), "retry_after_s", retryAfterS)
	}
	c.quietAt = now.Add(shedQuiet)
	return fault.New(fault.CapacityExhausted, "The service is busy. Wait for the time in Retry-After, then try again.").WithRetryAfter(retryAfterS)
}

// leave returns a place, and lets the first creates of the line run.
func (c *Creates) leave(now time.Time, took time.Duration, counts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate.Leave(now, took, counts)
	for c.gate.Next(now) {
		close(c.line.Remove(c.line.Front()).(chan struct{}))
	}
}

// admitted is the place of a request in Creates. A nil admitted is that of a request that needs none.
type admitted struct {
	creates *Creates
	began   time.Time

	mu   sync.Mutex
	left bool
	// apart is the time in which the request waited for something that is not the node, away the
	// number of such waits that run, and since the start of the first of them.
	apart time.Duration
	away  int
	since time.Time
}

// leave returns the place. Only the first call has an effect.
func (a *admitted) leave(now time.Time, counts bool) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left {
		return
	}
	a.left = true
	a.creates.leave(now, now.Sub(a.began)-a.apart, counts)
}

// goAway stops the clock of the request until comeBack. Calls may overlap.
func (a *admitted) goAway(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away == 0 {
		a.since = now
	}
	a.away++
}

func (a *admitted) comeBack(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away--; a.away == 0 {
		a.apart += now.Sub(a.since)
	}
}

// Elsewhere says that the request now waits for another service, until back is called. The time of
// the wait says nothing about this node. It can be called on any goroutine.
func (x *Exchange) Elsewhere() (back func()) {
	if x.admitted == nil {
		return func() {}
	}
	x.admitted.goAway(x.edge.Service.Now())
	return func() { x.admitted.comeBack(x.edge.Service.Now()) }
}

// Recorded says that the create is recorded and that the request only waits for its result. It
// needs no place any more, and a request with the same Idempotency-Key gets resource at once. The
// final response replaces it.
func (x *Exchange) Recorded(ctx context.Context, status int, resource any) {
	if x.admitted != nil {
		x.admitted.leave(x.edge.Service.Now(), true)
	}
	if x.claim == nil {
		return
	}
	x.stopRenewals()
	body, err := json.Marshal(resource)
	if err == nil {
		err = x.keep(ctx, status, body)
	}
	if err != nil { // until its lock expires, the key is busy
		x.log.WarnContext(ctx, "cannot store the response for replays", "request_id", x.RequestID, "error", err.Error())
	}
}

// keep stores a response for replays, and unlocks the Idempotency-Key.
func (x *Exchange) keep(ctx context.Context, status int, body []byte) error {
	body, err := x.seal(body)
	if err != nil {
		return err
	}
	return x.edge.Service.SaveResponse(ctx, x.Caller, status, body)
}

// enterLive takes a place for a create with a live credential. Creates with a test key need none.
// It is called before authentication, because a refusal must not use the database, and after it,
// because the mode of some credentials is stored there. Errors: capacity_exhausted,
// validation_failed for a body that does not arrive.
func (e *Edge) enterLive(x *Exchange, r *http.Request, live bool) (err error) {
	if !live || !x.operation.creates || x.admitted != nil {
		return nil
	}
	// A client that sends its body slowly must not occupy a place. check returns the other errors.
	if _, err := x.body(r); fault.Has(err, fault.ValidationFailed) {
		_ = e.admit(x, r, exempt, nil) // for the headers
		return err
	}
	if x.admitted, err = e.Creates.enter(r.Context(), e.Service.Now); err != nil {
		x.shed = true
		_ = e.admit(x, r, exempt, nil) // for the headers
	}
	return err
}

// looksLive reports whether a credential certainly is a live one. It is not verified: a wrong one
// that is refused here gets 401 at its next attempt.
func looksLive(credential string) bool {
	return account.LooksLikeLiveKey(credential) || looksLikeSession(credential)
}

// leave returns the place of a create. Its time counts if the operation ran and succeeded, or if it
// failed for a reason of the service.
func (x *Exchange) leave() {
	if x.admitted == nil {
		return
	}
	ok := x.response.status >= 200 && x.response.status < 300
	failed := x.code == fault.DBUnavailable || x.code == fault.InternalError
	x.admitted.leave(x.edge.Service.Now(), x.ran && (ok || failed))
}
