package credit

import (
	"fmt"
	"maps"
)

// MaxSeconds is the largest balance: the largest whole number that every reader of
// JSON keeps exact. It also keeps the sums of this package far from overflow.
const MaxSeconds int64 = 1<<53 - 1

// State is one account's balance. The zero State is that of an account that never
// had a credit.
type State struct {
	AccountID string `json:"account_id"`
	// PostedSeconds is the sum of grants less settled debits, refunds considered.
	PostedSeconds int64 `json:"posted_seconds"`
	// HeldSeconds is the sum of the open holds.
	HeldSeconds int64 `json:"held_seconds"`
	// SignupGrantSeconds is the original signup grant, 0 when there was none.
	SignupGrantSeconds int64 `json:"signup_grant_seconds"`
	// UsedSeconds is the sum of settled debits less what was refunded of them.
	UsedSeconds int64 `json:"used_seconds"`
	// Period is the month of the latest debit and PeriodSeconds what was settled in it;
	// refunds leave it as it is, because a quota is on what was worked.
	Period        Period `json:"period,omitempty"`
	PeriodSeconds int64  `json:"period_seconds,omitempty"`
	// Totals say where the posted balance came from and went.
	Totals Totals `json:"totals"`
	// Refunded are the seconds given back or taken away so far, >= 1, by the id of the
	// refunded transaction. It is never changed in place.
	Refunded map[string]int64 `json:"refunded,omitempty"`
	// Holds are the open holds. The JSON encoder of eventstore/codec relies on this field
	// being the last one.
	Holds Holds `json:"holds,omitzero"`
}

// Totals are the seconds that an account exchanged with each account of the platform,
// refunds considered.
type Totals struct {
	Grants     int64 `json:"grants"`
	CardGrants int64 `json:"card_grants"`
	Sales      int64 `json:"sales"`
	// Adjustments alone may be negative.
	Adjustments   int64 `json:"adjustments"`
	AnalysisUsage int64 `json:"analysis_usage"`
	StreamUsage   int64 `json:"stream_usage"`
}

// PostedSeconds is the balance that the totals amount to.
func (t Totals) PostedSeconds() int64 {
	return t.Grants + t.CardGrants + t.Sales + t.Adjustments - t.AnalysisUsage - t.StreamUsage
}

// moved adds seconds that a transaction of a kind put into the account, or took from
// it when they are negative.
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

// AvailableSeconds is what new work may still reserve.
func (s State) AvailableSeconds() int64 { return s.PostedSeconds - s.HeldSeconds }

// RefundableSeconds is what earlier refunds left of a transaction.
func (s State) RefundableSeconds(of Original) int64 { return of.Seconds - s.Refunded[of.TransactionID] }

// OpenHolds counts the open holds of a source type.
func (s State) OpenHolds(of SourceType) int {
	n := 0
	for h := range s.Holds.All() {
		if h.SourceType == of {
			n++
		}
	}
	return n
}

// Evolve folds one event into the state. It panics on an event it does not know:
// a log that the program cannot read must stop it.
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
		})
	case Settled:
		s = s.post(e.Kind, -e.Seconds)
		s.PeriodSeconds = s.UsedIn(PeriodOf(e.At)) + e.Seconds
		s.Period = PeriodOf(e.At)
		s.HeldSeconds -= e.HeldSeconds
		s.Holds = s.Holds.without(e.SourceID)
	case Released:
		s.HeldSeconds -= e.Seconds
		s.Holds = s.Holds.without(e.SourceID)
	case Refunded:
		s = s.post(e.Kind, e.Seconds)
		s.Refunded = maps.Clone(s.Refunded)
		if s.Refunded == nil {
			s.Refunded = map[string]int64{}
		}
		s.Refunded[e.Refunds] += max(e.Seconds, -e.Seconds)
	default:
		panic(fmt.Sprintf("credit: unknown event %T", event))
	}
	return s
}

// post moves the posted balance and the totals together.
func (s State) post(kind Kind, seconds int64) State {
	s.PostedSeconds += seconds
	s.Totals = s.Totals.moved(kind, seconds)
	s.UsedSeconds = s.Totals.AnalysisUsage + s.Totals.StreamUsage
	return s
}
