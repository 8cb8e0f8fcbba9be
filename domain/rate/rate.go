package rate

import "time"

// Window is the length of the sliding window and of the fixed windows.
const Window = time.Minute

// Count is the stored state of a subject: the requests granted in the newest fixed window and
// in the one before it. The zero Count belongs to a subject without requests.
type Count struct {
	// Start is the start of the newest fixed window, a multiple of Window.
	Start             time.Time
	Current, Previous int
}

// Start is the start of the fixed window that contains now.
func Start(now time.Time) time.Time { return now.Truncate(Window) }

// slide returns the count as it is at now. It changes nothing when now is up to one window before
// Start, as on a node whose clock is late. A count that is further ahead was made by a wrong clock.
// It is dropped, because it would refuse requests until its time comes.
func (c Count) slide(now time.Time) Count {
	start := Start(now)
	switch {
	case c.Start.Sub(start) > Window:
		return Count{Start: start}
	case !start.After(c.Start):
		return c
	case start.Equal(c.Start.Add(Window)):
		return Count{Start: start, Previous: c.Current}
	default:
		return Count{Start: start}
	}
}

// free is the unused part of the limit at now, in requests times Window. It grows with time,
// without a jump at the start of a fixed window.
func (c Count) free(limit int, now time.Time) time.Duration {
	c = c.slide(now)
	passed := max(now.Sub(c.Start), 0)
	return time.Duration(limit-c.Current)*Window - time.Duration(c.Previous)*(Window-passed)
}

// Take asks for a number of requests at once. It returns the new count and the number of
// granted requests.
func (c Count) Take(requests, limit int, now time.Time) (Count, int) {
	granted := min(requests, c.Remaining(limit, now))
	c = c.slide(now)
	c.Current += granted
	return c, granted
}

// Remaining is the number of requests that Take would grant at now.
func (c Count) Remaining(limit int, now time.Time) int {
	return int(max(c.free(limit, now), 0) / Window)
}

// Reset is the time at which the window is empty, when no further request comes. Both fixed
// windows have then ended.
func (c Count) Reset(now time.Time) time.Time {
	switch c = c.slide(now); {
	case c.Current > 0:
		return c.Start.Add(2 * Window)
	case c.Previous > 0:
		return c.Start.Add(Window)
	default:
		return now
	}
}

// Wait is the time from now until the next request is granted, when no other request comes. It
// is 0 when a request would be granted now. limit is at least 1.
func (c Count) Wait(limit int, now time.Time) time.Duration {
	if c.Remaining(limit, now) > 0 {
		return 0
	}
	c = c.slide(now)
	if c.Current >= limit {
		// No request is granted in this window. In the next one these requests are the previous
		// ones.
		c = Count{Start: c.Start.Add(Window), Previous: c.Current}
	}
	// passed is the least time at which (Window - passed) * Previous leaves one request free.
	allowed := time.Duration(limit-c.Current-1) * Window
	passed := Window - allowed/time.Duration(max(c.Previous, 1))
	return c.Start.Add(max(passed, 0)).Sub(now)
}
