package account

import (
	"time"

	"vqa/domain/fault"
)

// SandboxWindow is the rolling window of the sandbox cap (api-v1.md, "Limits":
// 3 per day per client IP).
const SandboxWindow = 24 * time.Hour

// SandboxIssued says that an address opened a sandbox. Its stream is named by a
// keyed hash of the address, never by the address itself.
type SandboxIssued struct {
	// AddressHash is the id of the stream.
	AddressHash string `json:"address_hash"`
	// AccountID is the account that was opened.
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (SandboxIssued) EventType() string { return "sandbox.issued" }

// SandboxQuota is what one address has used of the cap.
type SandboxQuota struct {
	// IssuedAt are the times within the window before the last event, oldest first.
	IssuedAt []time.Time `json:"issued_at"`
}

// EvolveQuota folds one event into the quota.
func EvolveQuota(q SandboxQuota, e SandboxIssued) SandboxQuota {
	return SandboxQuota{IssuedAt: append(within(q.IssuedAt, SandboxWindow, e.At), e.At)}
}

// OpenSandbox asks for one more sandbox of an address.
type OpenSandbox struct {
	AddressHash string
	AccountID   string
	// Limit is how many an address may open within the window.
	Limit int
}

// DecideSandbox allows one more sandbox of an address, or refuses it with
// sandbox_limit_exceeded and the seconds until the oldest leaves the window.
func DecideSandbox(q SandboxQuota, c OpenSandbox, now time.Time) ([]SandboxIssued, error) {
	if used := within(q.IssuedAt, SandboxWindow, now); len(used) >= c.Limit {
		return nil, capReached(fault.SandboxLimitExceeded, "This address has used its %d sandbox keys per 24 hours.",
			c.Limit, now, secondsUntilRoom(used, SandboxWindow, now))
	}
	return []SandboxIssued{{AddressHash: c.AddressHash, AccountID: c.AccountID, At: now}}, nil
}

// capReached refuses what a cap does not allow: it names the limit and when it ends, as
// details.limit and details.resets_at.
func capReached(code fault.Code, message string, limit int, now time.Time, waitS int) *fault.Fault {
	ends := now.UTC().Add(time.Duration(waitS) * time.Second).Truncate(time.Second).Format(time.RFC3339)
	return fault.Newf(code, message+" The next one is possible at %s.", limit, ends).
		WithDetail("limit", limit).WithDetail("resets_at", ends).WithRetryAfter(waitS)
}

// within are the times that lie in a window which ends now, as a slice of its own.
func within(times []time.Time, window time.Duration, now time.Time) []time.Time {
	var kept []time.Time
	for _, t := range times {
		if now.Sub(t) < window {
			kept = append(kept, t)
		}
	}
	return kept
}

// secondsUntilRoom counts the seconds after which the oldest of the used times has left
// its window.
func secondsUntilRoom(used []time.Time, window time.Duration, now time.Time) int {
	if len(used) == 0 {
		return 1 // nothing is ever allowed
	}
	return secondsUntil(used[0].Add(window), now)
}

// secondsUntil counts whole seconds after which a time has passed.
func secondsUntil(t, now time.Time) int { return int(t.Sub(now)/time.Second) + 1 }
