package edge

import (
	"net/http"
	"sync"
	"time"

	"vqa/domain/account"
	"vqa/domain/rate"
)

// spenders remembers who has spent the rate of creates, so that a client that ignores Retry-After
// takes no place in Creates from others. It is safe for concurrent use.
type spenders struct {
	mu sync.Mutex
	// known has the hashes of credentials that were valid at a use on this node.
	known map[string]bool
	// counts has the counts of refused creates, by class and client.
	counts map[string]rate.Count
}

func newSpenders() *spenders {
	return &spenders{known: map[string]bool{}, counts: map[string]rate.Count{}}
}

// who names the client that a credential stands for before it is verified. That is its hash if it is
// known. Otherwise it may be invented, and the address counts.
func (s *spenders) who(credential, address string) string {
	hash := account.HashSecret(credential)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[hash] {
		return hash
	}
	return "address " + address
}

// verified notes a credential that is valid.
func (s *spenders) verified(credential string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxLocalSubjects {
		clear(s.known)
	}
	s.known[account.HashSecret(credential)] = true
}

// refused notes the count of a client whose create was refused.
func (s *spenders) refused(who string, c class, count rate.Count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.counts) >= maxLocalSubjects {
		clear(s.counts)
	}
	s.counts[string(c)+"/"+who] = count
}

// count returns the count of a client that must still wait.
func (s *spenders) count(who string, c class, limit int, now time.Time) (count rate.Count, spent bool) {
	key := string(c) + "/" + who
	s.mu.Lock()
	defer s.mu.Unlock()
	count, spent = s.counts[key]
	if spent && count.Wait(limit, now) <= 0 {
		delete(s.counts, key)
		spent = false
	}
	return count, spent
}

// stillSpent refuses a create of a client that was refused before and has not waited. It needs
// neither the database nor a place. Requests on other nodes only make the wait longer, so no request
// is refused too long. Error: rate_limit_exceeded.
func (e *Edge) stillSpent(x *Exchange, r *http.Request, credential string) error {
	c, now := x.operation.rate, e.Service.Now()
	count, spent := e.spenders.count(e.spenders.who(credential, e.Address(r)), c, e.limiter.limits[c], now)
	if !spent {
		return nil
	}
	return e.allow(x, c, count, false, now)
}
