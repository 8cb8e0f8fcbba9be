package jobs

import (
	"sync"
	"time"
)

const (
	// fetchesPerNode is the number of fetches that run at once on a node. They mostly wait
	// for other servers.
	fetchesPerNode = 16
	// fetchesPerAccount is the largest number of them for one account, so that the slow
	// servers of one account do not keep others waiting.
	fetchesPerAccount = 2
	// shareSnooze is the delay of a fetch whose account has no free share.
	shareSnooze = time.Second
)

// fetchPriority is River's priority of a fetch, 1 being the highest. It depends on the
// number of unfinished fetches of the account, including this one: the first fetches of an
// account go before the backlog of another.
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

// fetchShares counts the fetches that run on this node, by account.
type fetchShares struct {
	mu      sync.Mutex
	running map[string]int
}

// enter takes a share of an account; ok is false when all are in use.
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
