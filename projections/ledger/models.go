package ledger

import (
	"time"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/projections"
)

// Projections are the tables of this package.
func Projections() []projections.Projection {
	return []projections.Projection{balances, transactions}
}

var balances = projections.Model[credit.State]{
	Name:    "credit_balances",
	Columns: []string{"posted_seconds", "held_seconds"},
	Key: func(r eventstore.Recorded) (string, bool) {
		_, ok := r.Event.(credit.Event)
		return r.Stream.ID, ok
	},
	Fold: func(s credit.State, r eventstore.Recorded) credit.State {
		return credit.Evolve(s, r.Event.(credit.Event))
	},
	Values: func(s credit.State) []any { return []any{s.PostedSeconds, s.HeldSeconds} },
}

// Transaction is one change of a posted balance (api-v1.md, "Usage meters and
// credits").
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
	CreatedAt    time.Time          `json:"created_at"`
	// Position is that of the event in the log.
	Position int64 `json:"position"`
}

var transactions = projections.Model[Transaction]{
	Name:    "credit_transactions",
	Columns: []string{"account_id", "kind", "created_at", "position"},
	Key: func(r eventstore.Recorded) (string, bool) {
		switch e := r.Event.(type) {
		case credit.Granted:
			return e.TransactionID, true
		case credit.Settled:
			return e.TransactionID, true
		}
		return "", false
	},
	Born: func(eventstore.Recorded) bool { return true },
	Fold: func(_ Transaction, r eventstore.Recorded) Transaction { return posted(r) },
	Values: func(t Transaction) []any {
		return []any{t.AccountID, string(t.Kind), t.CreatedAt, t.Position}
	},
}

// posted is the transaction that an event records.
func posted(r eventstore.Recorded) Transaction {
	switch e := r.Event.(type) {
	case credit.Granted:
		return Transaction{
			ID: e.TransactionID, AccountID: e.AccountID, Kind: e.Kind, SecondsDelta: e.Seconds,
			BalanceAfter: e.BalanceAfter, CreatedAt: e.At, Position: r.Position,
		}
	case credit.Settled:
		return Transaction{
			ID: e.TransactionID, AccountID: e.AccountID, Kind: e.Kind, SecondsDelta: -e.Seconds,
			BalanceAfter: e.BalanceAfter, SourceType: &e.SourceType, SourceID: &e.SourceID,
			DiscountPct: e.DiscountPct, CreatedAt: e.At, Position: r.Position,
		}
	default:
		panic("ledger: " + r.Event.EventType() + " posts nothing")
	}
}
