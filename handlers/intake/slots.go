package intake

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"vqa/domain/fault"
)

const (
	// maxWaitingProbes bounds the callers that wait for a slot on this node. Further callers
	// are refused at once.
	maxWaitingProbes = 256
	// probeRetryAfterS tells a refused caller when to try again, in seconds.
	probeRetryAfterS = 5
)

// Slots bounds the number of files that this node probes at once, in total and for one account.
// A probe may use hundreds of megabytes, so requests must not start any number of them. A
// caller waits for the share of its account first, so its queue never delays another account.
// A nil *Slots has no limit.
type Slots struct {
	node       *semaphore.Weighted
	perAccount int64

	mu       sync.Mutex
	accounts map[string]*share
	waiting  int
}

// share holds the slots of one account. It exists while callers use them or wait for them.
type share struct {
	slots *semaphore.Weighted
	users int
}

// NewSlots returns slots for a number of probes on this node, and for one account. Both are at
// least 1.
func NewSlots(node, perAccount int) *Slots {
	return &Slots{
		node: semaphore.NewWeighted(int64(max(node, 1))), perAccount: int64(max(perAccount, 1)), accounts: map[string]*share{},
	}
}

// Enter waits for a slot for at most patience, and returns the function that releases it. With a
// patience of 0 only ctx bounds the wait. Enter returns capacity_exhausted with a Retry-After
// after patience, or when too many callers wait already.
func (s *Slots) Enter(ctx context.Context, accountID string, patience time.Duration) (leave func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	own, err := s.join(accountID)
	if err != nil {
		return nil, err
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if patience > 0 {
		wait, cancel = context.WithTimeout(ctx, patience)
	}
	defer cancel()
	err = own.slots.Acquire(wait, 1)
	if err == nil {
		if err = s.node.Acquire(wait, 1); err != nil {
			own.slots.Release(1)
		}
	}
	s.mu.Lock()
	s.waiting--
	s.mu.Unlock()
	if err != nil {
		s.leave(accountID)
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return nil, probesBusy()
		}
		return nil, err
	}
	return func() {
		s.node.Release(1)
		own.slots.Release(1)
		s.leave(accountID)
	}, nil
}

func probesBusy() error {
	return fault.New(fault.CapacityExhausted, "Too many videos are being checked at the moment. Try again later.").WithRetryAfter(probeRetryAfterS)
}

// join counts a waiting caller and returns the share of its account.
func (s *Slots) join(accountID string) (*share, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting >= maxWaitingProbes {
		return nil, probesBusy()
	}
	s.waiting++
	own := s.accounts[accountID]
	if own == nil {
		own = &share{slots: semaphore.NewWeighted(s.perAccount)}
		s.accounts[accountID] = own
	}
	own.users++
	return own, nil
}

// leave removes the share of an account after its last user.
func (s *Slots) leave(accountID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.accounts[accountID]
	if own.users--; own.users == 0 {
		delete(s.accounts, accountID)
	}
}
