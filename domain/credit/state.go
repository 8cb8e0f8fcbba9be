package credit

import (
	"fmt"
	"maps"
	"time"
)

// MaxSeconds is the largest balance: the largest whole number that every reader of
// JSON keeps exact. It also keeps the sums of this package far from overflow.
const MaxSeconds int64 = 1<<53 - 1

// State is one account's balance. The zero State is that of an account that never
// had a credit.
type State struct {
	AccountID string `json:"account_id"`
	// PostedSeconds is the sum of grants less settled debits.
	PostedSeconds int64 `json:"posted_seconds"`
	// HeldSeconds is the sum of the open holds.
	HeldSeconds int64 `json:"held_seconds"`
	// SignupGrantSeconds is the original signup grant, 0 when there was none.
	SignupGrantSeconds int64 `json:"signup_grant_seconds"`
	// UsedSeconds is the sum of settled debits.
	UsedSeconds int64 `json:"used_seconds"`
	// Holds are the open holds by the id of their source. It is never changed in
	// place: folding an event makes a new map.
	Holds map[string]OpenHold `json:"holds,omitempty"`
}

// OpenHold is a reservation that has not ended.
type OpenHold struct {
	ID          string     `json:"id"`
	Seconds     int64      `json:"seconds"`
	SourceType  SourceType `json:"source_type"`
	SourceID    string     `json:"source_id"`
	DiscountPct int        `json:"discount_pct,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
}

// AvailableSeconds is what new work may still reserve.
func (s State) AvailableSeconds() int64 { return s.PostedSeconds - s.HeldSeconds }

// OpenHolds counts the open holds of a source type.
func (s State) OpenHolds(of SourceType) int {
	n := 0
	for _, h := range s.Holds {
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
		s.PostedSeconds += e.Seconds
		if e.Kind == SignupGrant {
			s.SignupGrantSeconds += e.Seconds
		}
	case Held:
		s.AccountID = e.AccountID
		s.HeldSeconds += e.Seconds
		s.Holds = withHold(s.Holds, OpenHold{
			ID: e.HoldID, Seconds: e.Seconds, SourceType: e.SourceType, SourceID: e.SourceID,
			DiscountPct: e.DiscountPct, CreatedAt: e.At,
		})
	case Settled:
		s.PostedSeconds -= e.Seconds
		s.UsedSeconds += e.Seconds
		s.HeldSeconds -= e.HeldSeconds
		s.Holds = withoutHold(s.Holds, e.SourceID)
	case Released:
		s.HeldSeconds -= e.Seconds
		s.Holds = withoutHold(s.Holds, e.SourceID)
	default:
		panic(fmt.Sprintf("credit: unknown event %T", event))
	}
	return s
}

func withHold(holds map[string]OpenHold, h OpenHold) map[string]OpenHold {
	next := make(map[string]OpenHold, len(holds)+1)
	maps.Copy(next, holds)
	next[h.SourceID] = h
	return next
}

func withoutHold(holds map[string]OpenHold, sourceID string) map[string]OpenHold {
	next := maps.Clone(holds)
	delete(next, sourceID)
	if len(next) == 0 {
		return nil
	}
	return next
}
