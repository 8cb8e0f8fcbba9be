package credit

import (
	"math"
	"time"

	"vqa/domain/fault"
)

// QuotaMeter is the meter of the monthly quota (docs/contract.md#meters).
const QuotaMeter = "seconds_processed.period"

// Period is a calendar month in UTC, such as "2026-03". It is empty when there is none.
type Period string

// PeriodOf returns the period that contains a time.
func PeriodOf(at time.Time) Period { return Period(at.UTC().Format("2006-01")) }

// PeriodStart returns the first moment of the period that contains a time.
func PeriodStart(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// PeriodEnd returns the first moment of the next period.
func PeriodEnd(at time.Time) time.Time { return PeriodStart(at).AddDate(0, 1, 0) }

// UsedIn returns the seconds settled in a period. The period must be that of the latest
// debit or a later one.
func (s State) UsedIn(p Period) int64 {
	if s.Period != p {
		return 0
	}
	return s.PeriodSeconds
}

// checkQuota refuses to reserve seconds that could push the month over its quota. Every open hold
// counts in full, because it may be settled within the month.
func checkQuota(s State, seconds, quota int64, now time.Time) error {
	used := s.UsedIn(PeriodOf(now))
	if quota == 0 || seconds == 0 || seconds <= quota-used-s.HeldSeconds {
		return nil
	}
	wait := PeriodEnd(now).Sub(now)
	return fault.Newf(fault.QuotaExceeded, "The monthly quota of %d seconds is used up. It resets at the start of the next month (UTC).", quota).
		WithDetail("meter", QuotaMeter).
		WithDetail("limit", quota).
		WithDetail("used", used).
		WithRetryAfter(int((wait + time.Second - 1) / time.Second))
}

// GrantMeter is the meter of the spending limit of an agent (docs/contract.md#meters).
const GrantMeter = "agent.credit_seconds"

// grantRetryAfterS is the Retry-After, in seconds, of an agent at its limit. Only a person can raise the limit.
const grantRetryAfterS = 24 * 60 * 60

// SpentBy returns the seconds that a grant has settled and those that it holds.
func (s State) SpentBy(grantID string) (settled, held int64) {
	for h := range s.Holds.All() {
		if h.GrantID == grantID {
			held += h.Seconds
		}
	}
	return s.Grants[grantID], held
}

// grantRoom returns the seconds, >= 0, that a grant may still reserve beyond its open holds.
func (s State) grantRoom(grantID string, limit int64) int64 {
	if grantID == "" || limit == 0 {
		return math.MaxInt64 - MaxSeconds
	}
	settled, held := s.SpentBy(grantID)
	return max(0, limit-settled-held)
}

// checkGrant refuses to reserve seconds that could push an agent over its spending limit. Every open hold of
// its grant counts in full. Error: quota_exceeded.
func checkGrant(s State, seconds int64, grantID string, limit int64) error {
	if seconds == 0 || seconds <= s.grantRoom(grantID, limit) {
		return nil
	}
	settled, held := s.SpentBy(grantID)
	return fault.Newf(fault.QuotaExceeded, "This agent may spend %d credit-seconds, has spent %d and holds %d. This operation needs %d more. A person can authorize the agent again with a higher limit.",
		limit, settled, held, seconds).
		WithDetail("meter", GrantMeter).
		WithDetail("limit", limit).
		WithDetail("used", settled).
		WithRetryAfter(grantRetryAfterS)
}
