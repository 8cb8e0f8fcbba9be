package account

import (
	"time"

	"vqa/domain/fault"
)

// SandboxWindow is the rolling window of the sandbox limit
// (docs/contract.md#limit-provisioning).
const SandboxWindow = 24 * time.Hour

// SandboxIssued says that an address opened a sandbox. A keyed hash of the address names
// the stream, never the address itself.
type SandboxIssued struct {
	// AddressHash is the id of the stream.
	AddressHash string `json:"address_hash"`
	// AccountID is the account that was opened.
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (SandboxIssued) EventType() string { return "sandbox.issued" }

// SandboxQuota is the use of the sandbox limit by one address.
type SandboxQuota struct {
	// IssuedAt are the times of the sandboxes, oldest first, within the window before the
	// last event.
	IssuedAt []time.Time `json:"issued_at"`
}

// EvolveQuota folds one event into the quota.
func EvolveQuota(q SandboxQuota, e SandboxIssued) SandboxQuota {
	return SandboxQuota{IssuedAt: append(within(q.IssuedAt, SandboxWindow, e.At), e.At)}
}

// OpenSandbox opens one more sandbox for an address.
type OpenSandbox struct {
	AddressHash string
	AccountID   string
	// Limit is the number of sandboxes that an address can open within the window.
	Limit int
}

// DecideSandbox allows one more sandbox for an address. At the limit it returns
// sandbox_limit_exceeded with the seconds until the oldest one leaves the window.
func DecideSandbox(q SandboxQuota, c OpenSandbox, now time.Time) ([]SandboxIssued, error) {
	if used := within(q.IssuedAt, SandboxWindow, now); len(used) >= c.Limit {
		return nil, capReached(fault.SandboxLimitExceeded, "This address has opened %d sandboxes in 24 hours, the maximum.",
			c.Limit, now, secondsUntilRoom(used, SandboxWindow, now))
	}
	return []SandboxIssued{{AddressHash: c.AddressHash, AccountID: c.AccountID, At: now}}, nil
}

// capReached returns the fault for a limit. It names the limit and the time of the next
// attempt in the message, details.limit and details.resets_at.
func capReached(code fault.Code, message string, limit int, now time.Time, waitS int) *fault.Fault {
	ends := now.UTC().Add(time.Duration(waitS) * time.Second).Truncate(time.Second).Format(time.RFC3339)
	return fault.Newf(code, message+" Try again at %s.", limit, ends).
		WithDetail("limit", limit).WithDetail("resets_at", ends).WithRetryAfter(waitS)
}

// within returns a new slice of the times in the window that ends now.
func within(times []time.Time, window time.Duration, now time.Time) []time.Time {
	var kept []time.Time
	for _, t := range times {
		if now.Sub(t) < window {
			kept = append(kept, t)
		}
	}
	return kept
}

// secondsUntilRoom returns the seconds after which the oldest time has left its window.
func secondsUntilRoom(used []time.Time, window time.Duration, now time.Time) int {
	if len(used) == 0 {
		return 1 // the limit is 0, so no wait helps
	}
	return secondsUntil(used[0].Add(window), now)
}

// secondsUntil returns the whole seconds after which a time has passed.
func secondsUntil(t, now time.Time) int { return int(t.Sub(now)/time.Second) + 1 }
