package rate

import "time"

const (
	// Window is the length of the sliding window.
	Window = time.Minute
	// Bucket is the time whose requests are counted together.
	Bucket = time.Second
	// Buckets is how many of them count: those of a window, and the one that has just begun.
	Buckets = int(Window/Bucket) + 1
)

// Count has the granted requests of a subject. The zero Count belongs to a subject without requests.
type Count struct {
	// Start is the start of the newest bucket, a multiple of Bucket.
	Start time.Time
	// Granted has the requests of each bucket, the newest first.
	Granted [Buckets]int32
}

// Start is the start of the bucket that contains now.
func Start(now time.Time) time.Time { return now.Truncate(Bucket) }

// slide returns the count as it is at now. It changes nothing when now is up to one window before
// Start, as on a node whose clock is late. A count that is further ahead was made by a wrong clock.
// It is dropped, because it would refuse requests until its time comes.
func (c Count) slide(now time.Time) Count {
	start := Start(now)
	passed := start.Sub(c.Start)
	switch {
	case passed < -Window || passed >= Bucket*time.Duration(Buckets):
		return Count{Start: start}
	case passed <= 0:
		return c
	}
	slid := Count{Start: start}
	copy(slid.Granted[passed/Bucket:], c.Granted[:])
	return slid
}

// total is the number of requests that count.
func (c Count) total() (total int) {
	for _, n := range c.Granted {
		total += int(n)
	}
	return total
}

// Take asks for a number of requests at once. It returns the new count and the number of
// granted requests.
func (c Count) Take(requests, limit int, now time.Time) (Count, int) {
	c = c.slide(now)
	granted := min(requests, max(limit-c.total(), 0))
	c.Granted[0] += int32(granted) //nolint:gosec // a limit is far below two billion
	return c, granted
}

// Remaining is the number of requests that Take would grant at now.
func (c Count) Remaining(limit int, now time.Time) int {
	return max(limit-c.slide(now).total(), 0)
}

// Reset is the time at which Remaining grows next, when no other request comes. It is now when
// Remaining is the limit. limit is at least 1.
func (c Count) Reset(limit int, now time.Time) time.Time {
	c = c.slide(now)
	kept := max(c.total()-limit, 0) // more than the limit, if that was higher before
	for age := Buckets - 1; age >= 0; age-- {
		if kept -= int(c.Granted[age]); kept < 0 {
			return c.Start.Add(time.Duration(Buckets-age) * Bucket)
		}
	}
	return now
}

// Wait is the time from now until the next request is granted, when no other request comes. It
// is 0 when a request would be granted now.
func (c Count) Wait(limit int, now time.Time) time.Duration {
	if c.Remaining(limit, now) > 0 {
		return 0
	}
	return c.Reset(limit, now).Sub(now)
}
