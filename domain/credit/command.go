package credit

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
	// Seconds is >= 0.
	Seconds    int64
	SourceType SourceType
	// SourceID is the analysis or stream; it has at most one hold, ever.
	SourceID string
	// DiscountPct is 0 to 100, for the record.
	DiscountPct int
}

// Settle ends a hold with a debit.
type Settle struct {
	SourceID      string
	TransactionID string
	// Seconds to bill, >= 0. What exceeds the hold plus the available balance is not
	// billed.
	Seconds int64
}

// Release ends a hold without a debit.
type Release struct{ SourceID string }

func (Grant) isCommand()   {}
func (Hold) isCommand()    {}
func (Settle) isCommand()  {}
func (Release) isCommand() {}
