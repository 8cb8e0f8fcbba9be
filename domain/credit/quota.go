package credit

import (
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
