package credit

import (
	"fmt"
	"maps"
)

// MaxSeconds is the largest balance. It is the largest integer that every JSON reader
// represents exactly, and it keeps the sums of this package far from overflow.
const MaxSeconds int64 = 1<<53 - 1

// State is the balance of one account. The zero value is the state before the first credit.
type State struct {
	AccountID string `json:"account_id"`
	// PostedSeconds is the sum of all grants minus all settled debits, after refunds.
	PostedSeconds int64 `json:"posted_seconds"`
	// HeldSeconds is the sum of the open holds.
	HeldSeconds int64 `json:"held_seconds"`
	// SignupGrantSeconds is the original signup grant, or 0 when there was none.
	SignupGrantSeconds int64 `json:"signup_grant_seconds"`
	// UsedSeconds is the sum of all settled debits, after refunds.
	UsedSeconds int64 `json:"used_seconds"`
	// Period is the month of the latest debit, and PeriodSeconds is the sum settled in it.
	// Refunds do not change PeriodSeconds, because a quota limits the work done.
	Period        Period `json:"period,omitempty"`
	PeriodSeconds int64  `json:"period_seconds,omitempty"`
	// Totals show where the posted balance came from and where it went.
	Totals Totals `json:"totals"`
	// Refunded are the seconds given back or taken away, >= 1, by the id of the refunded
	// transaction. The map is never changed in place.
	Refunded map[string]int64 `json:"refunded,omitempty"`
	// Grants are the seconds settled for the agents that requested work, by grant. Refunds do not change them,
	// because a spending limit bounds the work done. The map is never changed in place.
	Grants map[string]int64 `json:"grants,omitempty"`
	// Holds are the open holds. The JSON encoder of eventstore/codec relies on this field
	// being the last one.
	Holds Holds `json:"holds,omitzero"`
}

// Totals are the seconds that an account exchanged with each account of the platform, after
// refunds.
type Totals struct {
	Grants     int64 `json:"grants"`
	CardGrants int64 `json:"card_grants"`
	Sales      int64 `json:"sales"`
	// Only adjustments may be negative.
	Adjustments   int64 `json:"adjustments"`
	AnalysisUsage int64 `json:"analysis_usage"`
	StreamUsage   int64 `json:"stream_usage"`
}

// PostedSeconds returns the balance that results from the totals.
func (t Totals) PostedSeconds() int64 {
	return t.Grants + t.CardGrants + t.Sales + t.Adjustments - t.AnalysisUsage - t.StreamUsage
}

// moved adds the seconds of a transaction. They are negative when the transaction took them
// from the account.
func (t Totals) moved(kind Kind, seconds int64) Totals {
	switch kind {
	case SignupGrant:
		t.Grants += seconds
	case CardGrant:
		t.CardGrants += seconds
	case Purchase:
		t.Sales += seconds
	case Adjustment:
		t.Adjustments += seconds
	case AnalysisDebit:
		t.AnalysisUsage -= seconds
	case StreamDebit:
		t.StreamUsage -= seconds
	default:
		panic(fmt.Sprintf("credit: unknown kind %q", kind))
	}
	return t
}

// AvailableSeconds returns the seconds that new work can still reserve.
func (s State) AvailableSeconds() int64 { return s.PostedSeconds - s.HeldSeconds }

// RefundableSeconds returns the part of a transaction that is not refunded yet.
func (s State) RefundableSeconds(of Original) int64 { return of.Seconds - s.Refunded[of.TransactionID] }

// OpenHolds returns the number of open holds of a source type.
func (s State) OpenHolds(of SourceType) int {
	n := 0
	for h := range s.Holds.All() {
		if h.SourceType == of {
			n++
		}
	}
	return n
}

// Evolve folds one event into the state. It panics on an unknown event, because a program
// that cannot read the log must stop.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Granted:
		s.AccountID = e.AccountID
		s = s.post(e.Kind, e.Seconds)
		if e.Kind == SignupGrant {
			s.SignupGrantSeconds += e.Seconds
		}
	case Held:
		s.AccountID = e.AccountID
		s.HeldSeconds += e.Seconds
		s.Holds = s.Holds.with(OpenHold{
			ID: e.HoldID, Seconds: e.Seconds, SourceType: e.SourceType, SourceID: e.SourceID,
			DiscountPct: e.DiscountPct, CreatedAt: e.At, ExpiresAt: e.ExpiresAt,
			GrantID: e.GrantID, GrantLimitSeconds: e.GrantLimitSeconds,
		})
	case Extended:
		s.HeldSeconds += e.Seconds
		if h, open := s.Holds.Get(e.SourceID); open {
			h.Seconds, h.ExpiresAt = h.Seconds+e.Seconds, e.ExpiresAt
			s.Holds = s.Holds.with(h)
		}
	case Settled:
		s = s.post(e.Kind, -e.Seconds)
		s.PeriodSeconds = s.UsedIn(PeriodOf(e.At)) + e.Seconds
		s.Period = PeriodOf(e.At)
		s.HeldSeconds -= e.HeldSeconds
		if h, open := s.Holds.Get(e.SourceID); open && h.GrantID != "" && e.Seconds > 0 {
			s.Grants = added(s.Grants, h.GrantID, e.Seconds)
		}
		s.Holds = s.Holds.without(e.SourceID)
	case Released:
		s.HeldSeconds -= e.Seconds
		s.Holds = s.Holds.without(e.SourceID)
	case Refunded:
		s = s.post(e.Kind, e.Seconds)
		s.Refunded = added(s.Refunded, e.Refunds, max(e.Seconds, -e.Seconds))
	default:
		panic(fmt.Sprintf("credit: unknown event %T", event))
	}
	return s
}

// post changes the posted balance and the totals together.
func (s State) post(kind Kind, seconds int64) State {
	s.PostedSeconds += seconds
	s.Totals = s.Totals.moved(kind, seconds)
	s.UsedSeconds = s.Totals.AnalysisUsage + s.Totals.StreamUsage
	return s
}

// added returns a copy of sums in which seconds are added to one.
func added(sums map[string]int64, key string, seconds int64) map[string]int64 {
	sums = maps.Clone(sums)
	if sums == nil {
		sums = map[string]int64{}
	}
	sums[key] += seconds
	return sums
}
