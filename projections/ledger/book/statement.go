package book

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"vqa/domain/credit"
)

// Statement lists the changes of one account's balance in a period.
type Statement struct {
	AccountID string `json:"account_id"`
	// From is inclusive and To exclusive. nil means no bound.
	From    *time.Time `json:"from"`
	To      *time.Time `json:"to"`
	Opening Account    `json:"opening"`
	// Transactions are the transactions that changed the posted balance, in order.
	Transactions []Line `json:"transactions"`
	// Totals are the sums of the transactions by kind, ordered by the name of the kind.
	Totals  []KindTotal `json:"totals"`
	Closing Account     `json:"closing"`
	// Holds are the holds open at the end, the oldest first.
	Holds []credit.OpenHold `json:"holds"`
	// Version and Chain belong to the last entry up to the end of the period, including
	// entries of holds. A checkpoint contains the same values.
	Version int64  `json:"version"`
	Chain   string `json:"chain"`
}

// Line is one transaction of a statement.
type Line struct {
	Version      int64             `json:"version"`
	At           time.Time         `json:"at"`
	ID           string            `json:"id"`
	Kind         Kind              `json:"kind"`
	SecondsDelta int64             `json:"seconds_delta"`
	BalanceAfter int64             `json:"balance_after_seconds"`
	SourceType   credit.SourceType `json:"source_type,omitempty"`
	SourceID     string            `json:"source_id,omitempty"`
	DiscountPct  int               `json:"discount_pct,omitempty"`
	Refunds      string            `json:"refunds,omitempty"`
	Reason       string            `json:"reason,omitempty"`
}

// KindTotal is the sum of the transactions of a kind.
type KindTotal struct {
	Kind    Kind  `json:"kind"`
	Count   int64 `json:"count"`
	Seconds int64 `json:"seconds"`
}

// Statement returns the statement of an account.
func (s *Snapshot) Statement(ctx context.Context, accountID string, p Period) (Statement, error) {
	return StatementOf(accountID, s.Entries(ctx, accountID), p)
}

// StatementOf returns the statement that the entries of an account give.
func StatementOf(accountID string, entries iter.Seq2[Entry, error], p Period) (Statement, error) {
	out := Statement{
		AccountID: accountID, Opening: Account{AccountID: accountID}, Closing: Account{AccountID: accountID},
		Transactions: []Line{}, Totals: []KindTotal{}, Holds: []credit.OpenHold{},
	}
	if !p.From.IsZero() {
		out.From = &p.From
	}
	if !p.To.IsZero() {
		out.To = &p.To
	}
	var after credit.State
	for e, err := range entries {
		if err != nil {
			return Statement{}, err
		}
		side := p.Side(e.Booked)
		if side > 0 {
			break
		}
		after, out.Version, out.Chain = e.After, e.Version, e.Chain
		if side < 0 {
			out.Opening = accountOf(accountID, after)
			continue
		}
		out.add(e)
	}
	out.Closing = accountOf(accountID, after)
	out.Holds = slices.AppendSeq(out.Holds, after.Holds.All())
	slices.SortFunc(out.Holds, compareHolds)
	return out, nil
}

// add adds a transaction to the statement. It ignores other entries.
func (s *Statement) add(e Entry) {
	delta, ok := e.Posted()
	if !ok {
		return
	}
	s.Transactions = append(s.Transactions, Line{
		Version: e.Version, At: e.At, ID: e.ID, Kind: e.Kind, SecondsDelta: delta, BalanceAfter: e.After.PostedSeconds,
		SourceType: e.SourceType, SourceID: e.SourceID, DiscountPct: e.DiscountPct, Refunds: e.Refunds, Reason: e.Reason,
	})
	i, found := slices.BinarySearchFunc(s.Totals, e.Kind, func(t KindTotal, k Kind) int { return cmp.Compare(t.Kind, k) })
	if !found {
		s.Totals = slices.Insert(s.Totals, i, KindTotal{Kind: e.Kind})
	}
	s.Totals[i].Count++
	s.Totals[i].Seconds += delta
}

// compareHolds orders holds by age, the oldest first.
func compareHolds(a, b credit.OpenHold) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}
