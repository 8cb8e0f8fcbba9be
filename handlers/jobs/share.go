package jobs

import (
	"sync"
	"time"
)

const (
	// fetchesPerNode is how many fetches run at once on a node. They mostly wait for
	// other servers.
	fetchesPerNode = 16
	// fetchesPerAccount is how many of them may be one account's, so that no account
	// keeps the others waiting with slow servers.
	fetchesPerAccount = 2
	// shareSnooze is when a fetch comes again that found its account's share in use.
	shareSnooze = time.Second
)

// fetchPriority is River's priority of a fetch, 1 being the first, for an account with so
// many unfinished fetches, this one included: the first ones of an account go before the
// backlog of another.
func fetchPriority(unfinished int) int {
	switch {
	case unfinished <= fetchesPerAccount:
		return 1
	case unfinished <= 4*fetchesPerAccount:
		return 2
	case unfinished <= 16*fetchesPerAccount:
		return 3
	default:
		return lastPriority
	}
}

// fetchShares counts the fetches that run on this node by account.
type fetchShares struct {
	mu      sync.Mutex
	running map[string]int
}

// enter takes a place of an account, or reports false when its share is in use.
func (s *fetchShares) enter(accountID string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[accountID] >= fetchesPerAccount {
		return nil, false
	}
	s.running[accountID]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[accountID]--; s.running[accountID] == 0 {
			delete(s.running, accountID)
		}
	}, true
}
