package credit

import "time"

// Command is a request to change a balance.
type Command interface{ isCommand() }

// Grant adds seconds: a signup or card grant, a purchase, or an operator's
// adjustment, which alone may be negative.
type Grant struct {
	AccountID     string
	TransactionID string
	Kind          Kind
	// Seconds is > 0; for an adjustment it is not 0.
	Seconds int64
	// Reason is why an operator did it; empty for grants of the service itself.
	Reason string
}

// Hold reserves seconds for work that is about to begin.
type Hold struct {
	AccountID string
	HoldID    string
	// Seconds is >= 0, any discount taken off. Work that is never billed holds 0.
	Seconds    int64
	SourceType SourceType
	// SourceID is the analysis or stream; it has at most one hold, ever.
	SourceID string
	// DiscountPct is 0 to 100: what settling takes off the price.
	DiscountPct int
	// ExpiresAt is when Expire may end it. A time that is not after now makes it due at
	// once.
	ExpiresAt time.Time
	// QuotaSeconds is the most that may be settled in a month; 0 is no quota.
	QuotaSeconds int64
}

// Settle ends a hold with a debit.
type Settle struct {
	SourceID      string
	TransactionID string
	// Seconds of work, >= 0, before the hold's discount. What exceeds the hold plus the
	// available balance is not billed.
	Seconds int64
}

// Release ends a hold without a debit.
type Release struct{ SourceID string }

// Expire releases a hold whose time is over, because whoever made it never ended it.
type Expire struct{ SourceID string }

// Refund undoes a transaction, wholly or in part: a debit gives seconds back, a grant
// or a purchase takes seconds away.
type Refund struct {
	TransactionID string
	// Original is the refunded transaction as the log tells it.
	Original Original
	// Seconds is >= 1 and at most what earlier refunds left of the original.
	Seconds int64
	// Reason is why an operator did it.
	Reason string
}

// Original are the facts of a transaction that is refunded.
type Original struct {
	TransactionID string
	Kind          Kind
	// SourceType and SourceID are empty for a grant or a purchase.
	SourceType SourceType
	SourceID   string
	// Seconds were moved by it; negative only for an adjustment, which cannot be refunded.
	Seconds int64
}

func (Grant) isCommand()   {}
func (Hold) isCommand()    {}
func (Settle) isCommand()  {}
func (Release) isCommand() {}
func (Expire) isCommand()  {}
func (Refund) isCommand()  {}
