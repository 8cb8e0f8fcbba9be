package signal

import (
	"context"
	"time"
)

// bucket limits the messages of a socket: burst at once, then rate a second.
type bucket struct {
	rate, burst, tokens float64
	at                  time.Time
}

func newBucket(rate float64, burst int, now time.Time) *bucket {
	return &bucket{rate: rate, burst: float64(burst), tokens: float64(burst), at: now}
}

// take reports whether another message is allowed.
func (b *bucket) take(now time.Time) bool {
	if d := now.Sub(b.at); d > 0 {
		b.tokens, b.at = min(b.burst, b.tokens+d.Seconds()*b.rate), now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// sleep waits and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
