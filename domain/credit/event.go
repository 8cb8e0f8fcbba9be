package credit

import "time"

// Kind is the kind of a transaction (docs/contract.md#credits).
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

// SourceType says which kind of work caused a hold or a debit.
type SourceType string

// The sources of holds and debits.
const (
	SourceAnalysis SourceType = "analysis"
	SourceStream   SourceType = "stream"
)

// debitKind is the kind of the transaction that settles a hold, by its source.
var debitKind = map[SourceType]Kind{SourceAnalysis: AnalysisDebit, SourceStream: StreamDebit}

// Event is a fact about a balance.
type Event interface {
	EventType() string
	isEvent()
}

// Granted says that seconds were added. An adjustment may also take seconds away.
type Granted struct {
	AccountID     string `json:"account_id"`
	TransactionID string `json:"transaction_id"`
	Kind          Kind   `json:"kind"`
	// Seconds is > 0. For an adjustment it is not 0.
	Seconds int64 `json:"seconds"`
	// BalanceAfter is the posted balance after this event.
	BalanceAfter int64 `json:"balance_after"`
	// Reason is the reason that the operator gave. It is absent for grants of the service
	// itself.
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
	// SourceID is the analysis or stream. A source has at most one hold in its life.
	SourceID string `json:"source_id"`
	// DiscountPct is the discount at settling, from 0 to 100 percent.
	DiscountPct int `json:"discount_pct,omitempty"`
	// ExpiresAt is the time from which the sweep may end the hold.
	ExpiresAt time.Time `json:"expires_at"`
	// GrantID is the grant of the agent that requested the work. It is absent when no agent did.
	GrantID string `json:"grant_id,omitempty"`
	// GrantLimitSeconds is the spending limit of the grant. It is absent when the grant has none.
	GrantLimitSeconds int64     `json:"grant_limit_seconds,omitempty"`
	At                time.Time `json:"at"`
}

// Extended says that more seconds were reserved for an open hold.
type Extended struct {
	AccountID  string     `json:"account_id"`
	HoldID     string     `json:"hold_id"`
	SourceType SourceType `json:"source_type"`
	SourceID   string     `json:"source_id"`
	// Seconds is the number of added seconds, >= 1.
	Seconds int64 `json:"seconds"`
	// HeldSeconds is the number of reserved seconds after this event.
	HeldSeconds int64 `json:"held_seconds"`
	// DiscountPct is the discount of the hold, from 0 to 100 percent.
	DiscountPct int `json:"discount_pct,omitempty"`
	// ExpiresAt is the new time from which the sweep may end the hold.
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
	// Seconds is the billed amount. HeldSeconds is the amount that was reserved.
	Seconds     int64 `json:"seconds"`
	HeldSeconds int64 `json:"held_seconds"`
	// DiscountPct is the discount in percent, from 0 to 100. It is already subtracted from
	// Seconds.
	DiscountPct int `json:"discount_pct,omitempty"`
	// BalanceAfter is the posted balance after this event.
	BalanceAfter int64     `json:"balance_after"`
	At           time.Time `json:"at"`
}

// ReleaseReason says why a hold ended without a debit.
type ReleaseReason string

// The reasons of releases.
const (
	// ByCommand means that the source of the hold released it.
	ByCommand ReleaseReason = "released"
	// ByExpiry means that the hold expired.
	ByExpiry ReleaseReason = "expired"
)

// Released says that a hold ended without a debit.
type Released struct {
	AccountID  string     `json:"account_id"`
	HoldID     string     `json:"hold_id"`
	SourceType SourceType `json:"source_type"`
	SourceID   string     `json:"source_id"`
	// Seconds is the amount that was reserved and is available again.
	Seconds int64         `json:"seconds"`
	Reason  ReleaseReason `json:"reason"`
	At      time.Time     `json:"at"`
}

// Refunded says that an earlier transaction was reversed, fully or in part.
type Refunded struct {
	AccountID     string `json:"account_id"`
	TransactionID string `json:"transaction_id"`
	// Refunds is the id of the reversed transaction. Kind, SourceType and SourceID are
	// copied from it.
	Refunds    string     `json:"refunds"`
	Kind       Kind       `json:"kind"`
	SourceType SourceType `json:"source_type,omitempty"`
	SourceID   string     `json:"source_id,omitempty"`
	// Seconds is > 0 when the account received seconds, and < 0 when it lost them.
	Seconds int64 `json:"seconds"`
	// BalanceAfter is the posted balance after this event.
	BalanceAfter int64 `json:"balance_after"`
	// Reason is the reason that the operator gave.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// EventType returns the stored name.
func (Granted) EventType() string { return "credit.granted" }

// EventType returns the stored name.
func (Held) EventType() string { return "credit.held" }

// EventType returns the stored name.
func (Extended) EventType() string { return "credit.extended" }

// EventType returns the stored name.
func (Settled) EventType() string { return "credit.settled" }

// EventType returns the stored name.
func (Released) EventType() string { return "credit.released" }

// EventType returns the stored name.
func (Refunded) EventType() string { return "credit.refunded" }

func (Granted) isEvent()  {}
func (Held) isEvent()     {}
func (Extended) isEvent() {}
func (Settled) isEvent()  {}
func (Released) isEvent() {}
func (Refunded) isEvent() {}

// TransactionOf returns the transaction that an event records, in the form that Refund
// needs. It returns false when the event records none.
func TransactionOf(event Event) (Original, bool) {
	switch e := event.(type) {
	case Granted:
		return Original{TransactionID: e.TransactionID, Kind: e.Kind, Seconds: e.Seconds}, true
	case Settled:
		return Original{
			TransactionID: e.TransactionID, Kind: e.Kind, SourceType: e.SourceType, SourceID: e.SourceID, Seconds: e.Seconds,
		}, true
	case Refunded:
		// The ledger shows a refund as an adjustment.
		return Original{
			TransactionID: e.TransactionID, Kind: Adjustment, SourceType: e.SourceType, SourceID: e.SourceID, Seconds: e.Seconds,
		}, true
	}
	return Original{}, false
}
