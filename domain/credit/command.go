package credit

import "time"

// Command is a request to change a balance.
type Command interface{ isCommand() }

// Grant adds seconds: a signup or card grant, a purchase, or an operator's adjustment. Only
// an adjustment may be negative.
type Grant struct {
	AccountID     string
	TransactionID string
	Kind          Kind
	// Seconds is > 0. For an adjustment it is not 0.
	Seconds int64
	// Reason is the reason that the operator gave. It is empty for grants of the service
	// itself.
	Reason string
}

// Hold reserves seconds for work that is about to start.
type Hold struct {
	AccountID string
	HoldID    string
	// Seconds is >= 0, after any discount. Work that is never billed holds 0.
	Seconds    int64
	SourceType SourceType
	// SourceID is the analysis or stream. A source has at most one hold in its life.
	SourceID string
	// DiscountPct is the discount at settling, from 0 to 100 percent.
	DiscountPct int
	// ExpiresAt is the time from which Expire may end the hold. A time that is not after
	// now makes the hold due at once.
	ExpiresAt time.Time
	// QuotaSeconds is the limit of settled seconds in a month. 0 means that there is no
	// quota.
	QuotaSeconds int64
	// GrantID is the grant of the agent that requests the work, or empty. GrantLimitSeconds is the number of
	// credit-seconds that the grant may spend in all. 0 means that the grant has no limit.
	GrantID           string
	GrantLimitSeconds int64
}

// Extend reserves more seconds for an open hold.
type Extend struct {
	SourceID string
	// Seconds is the number of seconds to add, >= 1, after any discount.
	Seconds int64
	// ExpiresAt is the new time from which Expire may end the hold.
	ExpiresAt time.Time
	// QuotaSeconds is the limit of settled seconds in a month. 0 means that there is no
	// quota.
	QuotaSeconds int64
}

// Settle ends a hold with a debit.
type Settle struct {
	SourceID      string
	TransactionID string
	// Seconds is the work done, >= 0, before the hold's discount. Seconds beyond the hold
	// and the available balance are not billed.
	Seconds int64
}

// Release ends a hold without a debit.
type Release struct{ SourceID string }

// Expire releases a hold after its ExpiresAt, because its source did not end it.
type Expire struct{ SourceID string }

// Refund reverses a transaction, fully or in part. The refund of a debit gives seconds
// back. The refund of a grant or a purchase takes seconds away.
type Refund struct {
	TransactionID string
	// Original is the refunded transaction, read from the log.
	Original Original
	// Seconds is >= 1 and at most the part of the original that is not refunded yet.
	Seconds int64
	// Reason is the reason that the operator gave.
	Reason string
}

// Original describes a transaction that is to be refunded.
type Original struct {
	TransactionID string
	Kind          Kind
	// SourceType and SourceID are empty for a grant or a purchase.
	SourceType SourceType
	SourceID   string
	// Seconds is the amount of the transaction. It is negative only for an adjustment,
	// which cannot be refunded.
	Seconds int64
}

func (Grant) isCommand()   {}
func (Hold) isCommand()    {}
func (Extend) isCommand()  {}
func (Settle) isCommand()  {}
func (Release) isCommand() {}
func (Expire) isCommand()  {}
func (Refund) isCommand()  {}
