package webhook

import "time"

// Schedule has the pauses between the attempts of a delivery: the first is the pause after
// the first attempt.
type Schedule []time.Duration

const (
	// earliestPct and latestPct bound a pause with jitter, in percent of the planned one.
	earliestPct, latestPct = 80, 120
	// maxExtension is how much later than planned a receiver can ask for the next attempt.
	maxExtension = 2 * time.Hour
)

// Next returns when to try again after the failed attempt with a number, from 1. ok is false
// when the schedule has no further attempt.
//
// The pause is 80% to 120% of the planned one, chosen by random from [0, 1), so that the
// deliveries of an outage do not come back at the same time. retryAfter is the pause that the
// receiver asked for, or 0. A longer one is kept, up to the planned pause and 2 hours.
func (s Schedule) Next(attempt int, now time.Time, retryAfter time.Duration, random float64) (at time.Time, ok bool) {
	if attempt < 1 || attempt > len(s) {
		return time.Time{}, false
	}
	planned := s[attempt-1]
	earliest := planned * earliestPct / 100
	pause := earliest + time.Duration(random*float64(planned*(latestPct-earliestPct)/100))
	if retryAfter > pause {
		pause = max(pause, min(retryAfter, planned+maxExtension))
	}
	return now.Add(pause), true
}
