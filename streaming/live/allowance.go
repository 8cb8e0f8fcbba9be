package live

import (
	"sync"
	"time"
)

// Offers and new questions cost work and space in the log, and a client can send 80 messages a second with its
// sockets. So each has an allowance: allowedAtOnce, then one a second.
const allowedAtOnce = 10

// allowance limits what a client may ask for. The zero value is full. It is safe for concurrent use.
type allowance struct {
	mu sync.Mutex
	// full is when the whole allowance is there again.
	full time.Time
}

// take reports whether another request is allowed.
func (a *allowance) take(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full.Before(now) {
		a.full = now
	}
	if a.full.Sub(now) > (allowedAtOnce-1)*time.Second {
		return false
	}
	a.full = a.full.Add(time.Second)
	return true
}
