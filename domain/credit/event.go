package credit

import "time"

// Kind is the kind of a transaction (open-points.md, "Credits").
type Kind string

// The kinds of transactions.
const (
	SignupGrant   Kind = "signup_grant"
	CardGrant     Kind = "card_grant"
	Purchase      Kind = "purchase"
	Adjustment    Kind = "adjustment"
	AnalysisDebit Kind = "analysis_debit"
	StreamDebit   Kind = "stream_debit"
)

// SourceType is what a hold or a debit was made for.
type SourceType string

// The sources of holds and debits.
const (
	SourceAnalysis SourceType = "analysis"
	SourceStream   SourceType = "stream"
)

// debitKind is the kind of the transaction that settles a hold of a source.
var debitKind = map[SourceType]Kind{SourceAnalysis: AnalysisDebit, SourceStream: StreamDebit}

// Event is a fact about a balance.
type Event interface {
	EventType() string
	isEvent()
}

// Granted says that seconds were added (or, by an adjustment, taken).
type Granted struct {
	AccountID     string `json:"account_id"`
	TransactionID string `json:"transaction_id"`
	Kind          Kind   `json:"kind"`
	// Seconds is > 0; of an adjustment it is not 0.
	Seconds int64 `json:"seconds"`
	// BalanceAfter is the posted balance after this event.
	BalanceAfter int64 `json:"balance_after"`
	// Reason is why an operator did it; absent for grants of the service itself.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// Held says that seconds were reserved.
type Held struct {
	AccountID string `json:"account_id"`
	HoldID    string `json:"hold_id"`
	// Seconds is >= 0.
	Seconds    int64      `json:"seconds"`
	SourceType SourceType `json:"source_type"`
	// SourceID is the analysis or stream; it has at most one hold, ever.
	SourceID string `json:"source_id"`
	// DiscountPct is 0 to 100: what settling takes off the price.
	DiscountPct int `json:"discount_pct,omitempty"`
	// ExpiresAt is when the sweep may end the hold.
	ExpiresAt time.Time `json:"expires_at"`
	At        time.Time `json:"at"`
}

// Settled says that a hold ended with a debit.
type Settled struct {
	AccountID     string     `json:"account_id"`
	HoldID        string     `json:"hold_id"`
	TransactionID string     `json:"transaction_id"`
	Kind          Kind       `json:"kind"`
	SourceType    SourceType `json:"source_type"`
	SourceID      string     `json:"source_id"`
	// Seconds were billed; HeldSeconds were reserved before.
	Seconds     int64 `json:"seconds"`
	HeldSeconds int64 `json:"held_seconds"`
	// DiscountPct is 0 to 100, and was taken off Seconds.
	DiscountPct int `json:"discount_pct,omitempty"`
	// BalanceAfter is the posted balance after this event.
	BalanceAfter int64     `json:"balance_after"`
	At           time.Time `json:"at"`
}

// ReleaseReason is why a hold ended without a debit.
type ReleaseReason string

// The reasons of releases.
const (
	// ByCommand is the end that the holder asked for.
	ByCommand ReleaseReason = "released"
	// ByExpiry is the end of a hold that nobody ended in time.
	ByExpiry ReleaseReason = "expired"
)

// Released says that a hold ended without a debit.
type Released struct {
	AccountID  string     `json:"account_id"`
	HoldID     string     `json:"hold_id"`
	SourceType SourceType `json:"source_type"`
	SourceID   string     `json:"source_id"`
	// Seconds were reserved and are available again.
	Seconds int64         `json:"seconds"`
	Reason  ReleaseReason `json:"reason"`
	At      time.Time     `json:"at"`
}

// Refunded says that an earlier transaction was undone, wholly or in part.
type Refunded struct {
	AccountID     string `json:"account_id"`
	TransactionID string `json:"transaction_id"`
	// Refunds is the id of the transaction that was undone; what follows tells of it.
	Refunds    string     `json:"refunds"`
	Kind       Kind       `json:"kind"`
	SourceType SourceType `json:"source_type,omitempty"`
	SourceID   string     `json:"source_id,omitempty"`
	// Seconds is > 0 when the account got seconds back, < 0 when it lost them.
	Seconds int64 `json:"seconds"`
	// BalanceAfter is the posted balance after this event.
	BalanceAfter int64 `json:"balance_after"`
	// Reason is why an operator did it.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// EventType returns the stored name.
func (Granted) EventType() string { return "credit.granted" }

// EventType returns the stored name.
func (Held) EventType() string { return "credit.held" }

// EventType returns the stored name.
func (Settled) EventType() string { return "credit.settled" }

// EventType returns the stored name.
func (Released) EventType() string { return "credit.released" }

// EventType returns the stored name.
func (Refunded) EventType() string { return "credit.refunded" }

func (Granted) isEvent()  {}
func (Held) isEvent()     {}
func (Settled) isEvent()  {}
func (Released) isEvent() {}
func (Refunded) isEvent() {}

// TransactionOf returns the transaction that an event records, in the form in which it
// could be refunded; false when the event records none.
func TransactionOf(event Event) (Original, bool) {
	switch e := event.(type) {
	case Granted:
		return Original{TransactionID: e.TransactionID, Kind: e.Kind, Seconds: e.Seconds}, true
	case Settled:
		return Original{
			TransactionID: e.TransactionID, Kind: e.Kind, SourceType: e.SourceType, SourceID: e.SourceID, Seconds: e.Seconds,
		}, true
	case Refunded:
		// In the ledger a refund is an adjustment.
		return Original{
			TransactionID: e.TransactionID, Kind: Adjustment, SourceType: e.SourceType, SourceID: e.SourceID, Seconds: e.Seconds,
		}, true
	}
	return Original{}, false
}
