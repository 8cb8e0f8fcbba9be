package edge

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/domain/rate"
)

// class is a kind of request with a limit of its own (api-v1.md, "Limits").
type class string

const (
	reads          class = "reads"
	writes         class = "writes"
	analysesCreate class = "analyses.create"
	parse          class = "parse"
	// exempt requests carry the headers of reads and are never refused.
	exempt class = "exempt"
)

// classOf is the class of an operation: the one that the contract names, or that of its
// method.
func classOf(method, named string) (class, error) {
	switch c := class(named); c {
	case analysesCreate, parse, exempt:
		return c, nil
	case "":
	default:
		return "", fmt.Errorf("x-rate %q is no class", named)
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return reads, nil
	default:
		return writes, nil
	}
}

// Rates are how many requests of a class a subject may make in a minute, each at least 1;
// 0 is the contract's value.
type Rates struct{ Reads, Writes, AnalysesCreate, Parse int }

// byClass is the limit of each class.
func (r Rates) byClass() map[class]int {
	or := func(n, contract int) int {
		if n == 0 {
			return contract
		}
		return n
	}
	return map[class]int{
		reads: or(r.Reads, 600), exempt: or(r.Reads, 600), writes: or(r.Writes, 300),
		analysesCreate: or(r.AnalysesCreate, 60), parse: or(r.Parse, 30),
	}
}

// Windows counts requests for all nodes.
type Windows interface {
	// Take asks for one request of a subject, of which a minute takes limit, and returns
	// the count after it and whether it was granted.
	Take(ctx context.Context, subject string, limit int, now time.Time) (rate.Count, bool, error)
	// Allow lets a subject do something once in every, and returns how long it still has
	// to wait: 0 when it may do it now.
	Allow(ctx context.Context, subject string, every time.Duration, now time.Time) (time.Duration, error)
}

const (
	// aloneSubjects bounds the subjects that a node counts by itself.
	aloneSubjects = 10_000
	// alonePause is how long a node counts by itself after the shared counts failed.
	alonePause = time.Second
)

// limiter counts requests in the shared windows, and by itself while they are away.
type limiter struct {
	windows Windows
	limits  map[class]int
	log     *slog.Logger

	mu    sync.Mutex
	alone map[string]rate.Count
	// until is when the shared windows are tried again.
	until time.Time
}

func newLimiter(o Options) *limiter {
	return &limiter{windows: o.Windows, limits: o.Rates.byClass(), log: o.Log, alone: map[string]rate.Count{}}
}

// take counts a request. A lost database lets nobody wait and nobody in who would not be
// let in by this node.
func (l *limiter) take(ctx context.Context, c class, who string, now time.Time) (rate.Count, bool) {
	subject := string(c) + "/" + who
	if c == exempt || l.isAlone(now) {
		return l.takeAlone(subject, l.limits[c], now)
	}
	count, granted, err := l.windows.Take(ctx, subject, l.limits[c], now)
	if err != nil {
		l.goAlone(ctx, now, err)
		return l.takeAlone(subject, l.limits[c], now)
	}
	return count, granted
}

func (l *limiter) isAlone(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.until)
}

// goAlone is told once for all requests that failed together.
func (l *limiter) goAlone(ctx context.Context, now time.Time, err error) {
	l.mu.Lock()
	first := !now.Before(l.until)
	l.until = now.Add(alonePause)
	l.mu.Unlock()
	if first {
		l.log.WarnContext(ctx, "requests are counted by this node alone", "error", err.Error())
	}
}

func (l *limiter) takeAlone(subject string, limit int, now time.Time) (rate.Count, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.alone[subject]; !known && len(l.alone) >= aloneSubjects {
		l.forgetIdle(now)
	}
	count, granted := l.alone[subject].Take(1, limit, now)
	l.alone[subject] = count
	return count, granted > 0
}

// forgetIdle makes room: for want of idle subjects it forgets all of them.
func (l *limiter) forgetIdle(now time.Time) {
	for subject, count := range l.alone {
		if count.Reset(now).Equal(now) {
			delete(l.alone, subject)
		}
	}
	if len(l.alone) >= aloneSubjects {
		clear(l.alone)
	}
}

// admit counts a request and sets the headers that say so, which every response carries.
// Errors: rate_limit_exceeded, with the exact time to wait.
func (e *Edge) admit(x *Exchange, r *http.Request, c class) error {
	now := e.Service.Now()
	count, granted := e.limiter.take(r.Context(), c, e.subject(x, r, c), now)
	limit := e.limiter.limits[c]
	h := x.response.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(count.Remaining(limit, now)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(ceilSeconds(count.Reset(now).Sub(time.Unix(0, 0))), 10))
	if granted || c == exempt {
		return nil
	}
	return fault.Newf(fault.RateLimitExceeded, "At most %d requests of this kind are taken in a minute.", limit).
		WithRetryAfter(int(ceilSeconds(count.Wait(limit, now))))
}

// subject is who a request counts for: the API key, for a client token the key that made
// it; the account of a session; or the address of a client that has not shown who it is.
func (e *Edge) subject(x *Exchange, r *http.Request, c class) string {
	switch {
	case c == parse || x.Caller.AccountID == "":
		return e.Address(r)
	case x.Caller.KeyID != "":
		return x.Caller.KeyID
	default:
		return x.Caller.AccountID
	}
}

// ceilSeconds is a time in whole seconds, rounded up.
func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
