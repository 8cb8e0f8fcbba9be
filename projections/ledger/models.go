package ledger

import (
	"time"

	"vqa/domain/credit"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// Projections are the tables of this package.
func Projections() []projections.Projection {
	return []projections.Projection{balances, transactions}
}

var balances = projections.Model[credit.State, credit.Event]{
	Name: "credit_balances", Of: fold.Credit, Revision: 2, AccountColumn: "id",
	Columns: []projections.Column{
		{Name: "posted_seconds", Type: "bigint"}, {Name: "held_seconds", Type: "bigint"},
		{Name: "grants_seconds", Type: "bigint"}, {Name: "card_grants_seconds", Type: "bigint"},
		{Name: "sales_seconds", Type: "bigint"}, {Name: "adjustments_seconds", Type: "bigint"},
		{Name: "analysis_usage_seconds", Type: "bigint"}, {Name: "stream_usage_seconds", Type: "bigint"},
		{Name: "next_expiry", Type: "timestamptz"},
	},
	States: func(id string, s credit.State) []projections.Row {
		var nextExpiry *time.Time
		// Truncated to the minute, so that most updates leave the value, and its index,
		// unchanged.
		if next := s.Holds.NextExpiry().Truncate(time.Minute); !next.IsZero() {
			nextExpiry = &next
		}
		t := s.Totals
		return []projections.Row{{
			ID: id, Doc: s,
			Values: []any{
				s.PostedSeconds, s.HeldSeconds, t.Grants, t.CardGrants, t.Sales, t.Adjustments,
				t.AnalysisUsage, t.StreamUsage, nextExpiry,
			},
		}}
	},
}

// Transaction is one change of a posted balance (docs/contract.md#credits).
type Transaction struct {
	ID        string      `json:"id"`
	AccountID string      `json:"account_id"`
	Kind      credit.Kind `json:"kind"`
	// SecondsDelta is negative for a debit.
	SecondsDelta int64              `json:"seconds_delta"`
	BalanceAfter int64              `json:"balance_after"`
	SourceType   *credit.SourceType `json:"source_type,omitempty"`
	SourceID     *string            `json:"source_id,omitempty"`
	DiscountPct  int                `json:"discount_pct,omitempty"`
	// Refunds is the transaction that this one reverses, fully or in part.
	Refunds   *string   `json:"refunds,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// Version is the version of the event in the account's credit stream.
	Version int64 `json:"version"`
}

var transactions = projections.Model[credit.State, credit.Event]{
	Name: "credit_transactions", Of: fold.Credit, Revision: 1, AccountColumn: "account_id",
	Columns: []projections.Column{
		{Name: "account_id", Type: "text"}, {Name: "kind", Type: "text"},
		{Name: "created_at", Type: "timestamptz"}, {Name: "version", Type: "bigint"},
	},
	Entries: func(version int64, event credit.Event) (projections.Row, bool) {
		t, ok := posted(version, event)
		if !ok {
			return projections.Row{}, false
		}
		return projections.Row{ID: t.ID, Values: []any{t.AccountID, string(t.Kind), &t.CreatedAt, t.Version}, Doc: t}, true
	},
}

// posted returns the transaction that an event records, and false when it records none.
func posted(version int64, event credit.Event) (Transaction, bool) {
	switch e := event.(type) {
	case credit.Granted:
		return Transaction{
			ID: e.TransactionID, AccountID: e.AccountID, Kind: e.Kind, SecondsDelta: e.Seconds,
			BalanceAfter: e.BalanceAfter, CreatedAt: e.At, Version: version,
		}, true
	case credit.Settled:
		return Transaction{
			ID: e.TransactionID, AccountID: e.AccountID, Kind: e.Kind, SecondsDelta: -e.Seconds,
			BalanceAfter: e.BalanceAfter, SourceType: &e.SourceType, SourceID: &e.SourceID,
			DiscountPct: e.DiscountPct, CreatedAt: e.At, Version: version,
		}, true
	case credit.Refunded:
		t := Transaction{
			ID: e.TransactionID, AccountID: e.AccountID, Kind: credit.Adjustment, SecondsDelta: e.Seconds,
			BalanceAfter: e.BalanceAfter, Refunds: &e.Refunds, CreatedAt: e.At, Version: version,
		}
		if e.SourceID != "" {
			t.SourceType, t.SourceID = &e.SourceType, &e.SourceID
		}
		return t, true
	}
	return Transaction{}, false
}
