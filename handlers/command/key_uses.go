package command

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"vqa/domain/account"
)

const (
	// keyUseDepth bounds the uses that wait to be recorded. More are dropped. The next use of
	// the key is recorded instead.
	keyUseDepth = 256
	// keyUseTimeout bounds the recording of one use.
	keyUseTimeout = 10 * time.Second
)

// KeyUses records in the background that keys are used, so that no request waits for it. Only
// uses that are due are recorded (account.Key.UseDue). Uses that are still queued when the
// program ends are lost. The next use of the key is recorded instead.
type KeyUses struct {
	service *Service
	log     *slog.Logger
	queue   chan keyUse

	mu sync.Mutex
	// waiting has the keys in the queue, so that a busy key takes one place.
	waiting map[string]bool
}

type keyUse struct{ accountID, keyID, requestID string }

// NewKeyUses returns a recorder. Start Run, which does the work.
func NewKeyUses(s *Service, log *slog.Logger) *KeyUses {
	return &KeyUses{service: s, log: log, queue: make(chan keyUse, keyUseDepth), waiting: map[string]bool{}}
}

// Note queues the use of a key that has just authenticated a request. It never blocks.
func (u *KeyUses) Note(k account.Key, requestID string) {
	if !k.UseDue(u.service.Now()) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.waiting[k.ID] {
		return
	}
	select {
	case u.queue <- keyUse{k.AccountID, k.ID, requestID}:
		u.waiting[k.ID] = true
	default:
		u.log.Warn("the use of a key was not recorded because the queue is full", "key_id", k.ID)
	}
}

// Run records the queued uses until ctx ends.
func (u *KeyUses) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case use := <-u.queue:
			u.record(ctx, use)
		}
	}
}

func (u *KeyUses) record(ctx context.Context, use keyUse) {
	ctx, cancel := context.WithTimeout(ctx, keyUseTimeout)
	defer cancel()
	if err := u.service.useKey(ctx, use.accountID, use.keyID, use.requestID); err != nil && ctx.Err() == nil {
		u.log.ErrorContext(ctx, "recording the use of a key failed", "key_id", use.keyID, "error", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.waiting, use.keyID)
}
