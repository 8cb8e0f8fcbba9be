package edge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/domain/rate"
	"vqa/handlers/command"
)

// class is a kind of request with its own rate limit (docs/contract.md#rates).
type class string

const (
	reads          class = "reads"
	writes         class = "writes"
	analysesCreate class = "analyses.create"
	parse          class = "parse"
	// registrations are those of programs at the authorization server. Each adds a client to the log.
	registrations class = "registrations"
	// exempt requests have the rate limit headers of reads and are never refused.
	exempt class = "exempt"
)

// classOf returns the class of an operation: the x-rate of the contract, or else the class
// of its method.
func classOf(method, named string) (class, error) {
	switch c := class(named); c {
	case analysesCreate, parse, exempt:
		return c, nil
	case "":
	default:
		return "", fmt.Errorf("unknown x-rate %q", named)
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return reads, nil
	default:
		return writes, nil
	}
}

// Rates are the numbers of requests of each class that a subject may send in a minute, each
// at least 1. A 0 stands for the limit of the contract.
type Rates struct{ Reads, Writes, AnalysesCreate, Parse int }

// byClass returns the limit of each class.
func (r Rates) byClass() map[class]int {
	or := func(n, contract int) int {
		if n == 0 {
			return contract
		}
		return n
	}
	return map[class]int{
		reads: or(r.Reads, 600), exempt: or(r.Reads, 600), writes: or(r.Writes, 300),
		analysesCreate: or(r.AnalysesCreate, 60), parse: or(r.Parse, 30), registrations: 20,
	}
}

// Windows counts the requests of all nodes.
type Windows interface {
	// Take counts one request of a subject that may send limit requests in a minute. It
	// returns the new count and whether the request is allowed.
	Take(ctx context.Context, subject string, limit int, now time.Time) (rate.Count, bool, error)
	// Allow permits one action of a subject in each period of length every. It returns the
	// time to wait, or 0 if the action is allowed now.
	Allow(ctx context.Context, subject string, every time.Duration, now time.Time) (time.Duration, error)
}

const (
	// maxLocalSubjects is the most subjects that a node counts locally.
	maxLocalSubjects = 10_000
	// localPeriod is how long a node counts locally after the shared windows failed.
	localPeriod = time.Second
)

// limiter counts requests in the shared windows, and locally while these are unavailable.
type limiter struct {
	windows Windows
	limits  map[class]int
	log     *slog.Logger

	mu    sync.Mutex
	local map[string]rate.Count
	// localUntil is when the shared windows are tried again.
	localUntil time.Time
}

func newLimiter(o Options) *limiter {
	return &limiter{windows: o.Windows, limits: o.Rates.byClass(), log: o.Log, local: map[string]rate.Count{}}
}

// take counts a request. While the database is down, no request waits for it: each node
// enforces the limits for the requests that it receives.
func (l *limiter) take(ctx context.Context, c class, client string, now time.Time) (rate.Count, bool) {
	subject := string(c) + "/" + client
	if c == exempt || l.isLocal(now) {
		return l.takeLocally(subject, l.limits[c], now)
	}
	count, granted, err := l.windows.Take(ctx, subject, l.limits[c], now)
	if err != nil {
		l.countLocally(ctx, now, err)
		return l.takeLocally(subject, l.limits[c], now)
	}
	return count, granted
}

func (l *limiter) isLocal(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.localUntil)
}

// countLocally starts a period of local counting. It logs once for all requests that failed
// together.
func (l *limiter) countLocally(ctx context.Context, now time.Time, err error) {
	l.mu.Lock()
	first := !now.Before(l.localUntil)
	l.localUntil = now.Add(localPeriod)
	l.mu.Unlock()
	if first {
		l.log.WarnContext(ctx, "shared rate limits unavailable, counting requests on this node only", "error", err.Error())
	}
}

func (l *limiter) takeLocally(subject string, limit int, now time.Time) (rate.Count, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.local[subject]; !known && len(l.local) >= maxLocalSubjects {
		l.removeIdle(now)
	}
	count, granted := l.local[subject].Take(1, limit, now)
	l.local[subject] = count
	return count, granted > 0
}

// removeIdle removes the subjects whose count is 0 again. If no subject is idle, it removes
// all of them.
func (l *limiter) removeIdle(now time.Time) {
	for subject, count := range l.local {
		if count.Remaining(1, now) > 0 {
			delete(l.local, subject)
		}
	}
	if len(l.local) >= maxLocalSubjects {
		clear(l.local)
	}
}

// admit counts a request, unless it was counted for the right subject, and sets the rate limit headers, which are
// on every response. Error: rate_limit_exceeded, with the exact time to wait.
func (e *Edge) admit(x *Exchange, r *http.Request, c class, early *counted) error {
	subject, now := e.subject(x, r, c), e.Service.Now()
	if early == nil || early.subject != subject {
		count, granted := e.limiter.take(r.Context(), c, subject, now)
		early = &counted{subject, count, granted, now}
	}
	count, granted, now := early.count, early.granted, early.at
	if !granted && x.operation != nil && x.operation.creates && looksLive(x.credential) {
		e.spenders.refused(e.spenders.who(x.credential, e.Address(r)), c, count)
	}
	return e.allow(x, c, count, granted, now)
}

// allow sets the rate limit headers. Error: rate_limit_exceeded for a request that is not granted.
func (e *Edge) allow(x *Exchange, c class, count rate.Count, granted bool, now time.Time) error {
	limit := e.limiter.limits[c]
	h := x.response.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(count.Remaining(limit, now)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(ceilSeconds(count.Reset(limit, now).Sub(time.Unix(0, 0))), 10))
	if granted || c == exempt {
		return nil
	}
	return tooMany(limit, count, now)
}

// tooMany returns rate_limit_exceeded with the exact time to wait.
func tooMany(limit int, count rate.Count, now time.Time) error {
	return fault.Newf(fault.RateLimitExceeded, "At most %d requests of this kind are allowed per minute.", limit).
		WithRetryAfter(int(ceilSeconds(count.Wait(limit, now))))
}

// subject returns the id that a request counts for: the API key (also for its client
// tokens), the grant of an agent, the account of a session, or the address of a client without a
// credential.
func (e *Edge) subject(x *Exchange, r *http.Request, c class) string {
	switch {
	case c == parse || x.Caller.AccountID == "":
		return e.Address(r)
	default:
		return spender(x.Caller)
	}
}

// spender returns the id that the requests of a caller count for.
func spender(c command.Caller) string { return cmp.Or(c.KeyID, c.GrantID, c.AccountID) }

// ceilSeconds returns a duration in whole seconds, rounded up.
func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
