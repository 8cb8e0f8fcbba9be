package rate

import "time"

// Window is the length of the sliding window, and of the fixed ones that it is told from.
const Window = time.Minute

// Count is what is remembered of a subject: the requests granted in the newest fixed
// window and in the one before it. The zero Count is that of a subject never seen.
type Count struct {
	// Start is when the newest fixed window began; a multiple of Window.
	Start             time.Time
	Current, Previous int
}

// Start is when the fixed window of a time began.
func Start(now time.Time) time.Time { return now.Truncate(Window) }

// Slide is the count as it is at now. A clock that lags behind Start changes nothing.
func (c Count) Slide(now time.Time) Count {
	start := Start(now)
	switch {
	case !start.After(c.Start):
		return c
	case start.Equal(c.Start.Add(Window)):
		return Count{Start: start, Previous: c.Current}
	default:
		return Count{Start: start}
	}
}

// free is how much of the limit is left at now, in requests times Window. It grows with
// time, without a jump where a fixed window begins.
func (c Count) free(limit int, now time.Time) time.Duration {
	c = c.Slide(now)
	passed := max(now.Sub(c.Start), 0)
	return time.Duration(limit-c.Current)*Window - time.Duration(c.Previous)*(Window-passed)
}

// Take asks for a number of requests at once. It returns the count after it, and how
// many of them are granted.
func (c Count) Take(requests, limit int, now time.Time) (Count, int) {
	granted := min(requests, c.Remaining(limit, now))
	c = c.Slide(now)
	c.Current += granted
	return c, granted
}

// Remaining is how many requests would be granted at now.
func (c Count) Remaining(limit int, now time.Time) int {
	return int(max(c.free(limit, now), 0) / Window)
}

// Reset is when the window is empty again if nothing more is asked: both fixed windows
// have wholly slid past.
func (c Count) Reset(now time.Time) time.Time {
	switch c = c.Slide(now); {
	case c.Current > 0:
		return c.Start.Add(2 * Window)
	case c.Previous > 0:
		return c.Start.Add(Window)
	default:
		return now
	}
}

// Wait is how long from now until the next request is granted, if nothing more is asked;
// 0 when it would be granted now. limit is at least 1.
func (c Count) Wait(limit int, now time.Time) time.Duration {
	if c.Remaining(limit, now) > 0 {
		return 0
	}
	c = c.Slide(now)
	if c.Current >= limit {
		// Nothing before the next window, in which these are the requests before.
		c = Count{Start: c.Start.Add(Window), Previous: c.Current}
	}
	// The least time at which (Window - passed) * Previous leaves one request free.
	allowed := time.Duration(limit-c.Current-1) * Window
	passed := Window - allowed/time.Duration(max(c.Previous, 1))
	return c.Start.Add(max(passed, 0)).Sub(now)
}
