package webhook

import "time"

// The rule of automatic disabling (docs/contract.md#webhook-events).
const (
	// failingWindow is how long every delivery must fail before an endpoint is disabled.
	failingWindow = 72 * time.Hour
	// warnAfter is how long every delivery must fail before the owner is warned.
	warnAfter = failingWindow / 2
	// lastDay is the end of a window in which there must be a failure. An endpoint that
	// failed once and then had no traffic is not disabled.
	lastDay = 24 * time.Hour
)

// Health has the failures of an endpoint since its last success. The zero Health has none.
type Health struct {
	// FirstFailureAt and LastFailureAt bound the failures that count. Both are nil or set.
	FirstFailureAt *time.Time `json:"first_failure_at,omitempty"`
	LastFailureAt  *time.Time `json:"last_failure_at,omitempty"`
	// Warned is true once the owner was warned about these failures.
	Warned bool `json:"warned,omitempty"`
}

// Verdict is what the failures of an endpoint mean.
type Verdict int

// The verdicts.
const (
	// Healthy means that there is nothing to do.
	Healthy Verdict = iota
	// Warn means that the owner must be warned. The caller then sets Warned.
	Warn
	// GiveUp means that the endpoint must be disabled.
	GiveUp
)

// Failed returns the health after a failed attempt. Failures may come in any order, because
// several attempts run at once. Failures before Endpoint.FailuresSince must be left out. A
// success ends the count: the health is then Health{}.
func (h Health) Failed(at time.Time) Health {
	switch {
	case h.FirstFailureAt == nil:
		return Health{FirstFailureAt: &at, LastFailureAt: &at}
	case at.Before(*h.FirstFailureAt):
		h.FirstFailureAt = &at
		return h
	case !at.After(*h.LastFailureAt):
		return h
	case h.expired(at):
		return h.restarted(at)
	}
	h.LastFailureAt = &at
	return h
}

// expired reports whether the window passed without a failure on its last day.
func (h Health) expired(now time.Time) bool {
	end := h.FirstFailureAt.Add(failingWindow)
	return now.After(end) && h.LastFailureAt.Before(end.Add(-lastDay))
}

// restarted returns the health whose window begins with the previous failure, or with this
// one when the window of the previous failure is over, too.
func (h Health) restarted(at time.Time) Health {
	first := *h.LastFailureAt
	if at.Sub(first) > failingWindow {
		first = at
	}
	return Health{FirstFailureAt: &first, LastFailureAt: &at}
}

// Verdict says what to do now. An endpoint is given up when a failure was followed by
// failures only, for 72 hours, and the last 24 of these hours had one. The owner is warned
// after half of that, by the same rule.
func (h Health) Verdict(now time.Time) Verdict {
	switch {
	case h.FirstFailureAt == nil:
		return Healthy
	case h.lasted(failingWindow, now):
		return GiveUp
	case !h.Warned && h.lasted(warnAfter, now):
		return Warn
	}
	return Healthy
}

func (h Health) lasted(window time.Duration, now time.Time) bool {
	end := h.FirstFailureAt.Add(window)
	return !now.Before(end) && !h.LastFailureAt.Before(end.Add(-lastDay))
}
