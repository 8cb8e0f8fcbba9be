package credit

import (
	"time"

	"vqa/domain/fault"
)

// QuotaMeter is the meter of the monthly quota (api-v1.md, "Usage meters and credits").
const QuotaMeter = "seconds_processed.period"

// Period is a calendar month in UTC, such as "2026-03"; "" is none.
type Period string

// PeriodOf returns the period that a time lies in.
func PeriodOf(at time.Time) Period { return Period(at.UTC().Format("2006-01")) }

// PeriodStart is the first moment of the period that a time lies in.
func PeriodStart(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// PeriodEnd is the first moment of the next period.
func PeriodEnd(at time.Time) time.Time { return PeriodStart(at).AddDate(0, 1, 0) }

// UsedIn are the seconds that were settled in a period, if it is that of the latest
// debit or a later one.
func (s State) UsedIn(p Period) int64 {
	if s.Period != p {
		return 0
	}
	return s.PeriodSeconds
}

// checkQuota refuses a hold with which the month could end beyond its quota: all that is
// open counts in full, since it may be settled within the month.
func checkQuota(s State, c Hold, now time.Time) error {
	used := s.UsedIn(PeriodOf(now))
	if c.QuotaSeconds == 0 || c.Seconds == 0 || c.Seconds <= c.QuotaSeconds-used-s.HeldSeconds {
		return nil
	}
	wait := PeriodEnd(now).Sub(now)
	return fault.Newf(fault.QuotaExceeded, "The quota of %d seconds a month is used up.", c.QuotaSeconds).
		WithDetail("meter", QuotaMeter).
		WithDetail("limit", c.QuotaSeconds).
		WithDetail("used", used).
		WithRetryAfter(int((wait + time.Second - 1) / time.Second))
}

// Discounted is a price in seconds less pct percent of it (0 to 100), rounded up to a
// whole second (open-points.md, "Credits").
func Discounted(seconds int64, pct int) int64 {
	// In two parts, so that no product overflows.
	share := int64(100 - pct)
	return seconds/100*share + (seconds%100*share+99)/100
}
