package book

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"vqa/domain/credit"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// Kind says what an entry is: the kind of its transaction, or what became of a hold.
type Kind string

// The kinds beside those of credit.Kind.
const (
	Hold    Kind = "hold"
	Release Kind = "release"
	Expiry  Kind = "expiry"
	Refund  Kind = "refund"
)

// Entry is one entry of the ledger: a credit event with its double entry.
type Entry struct {
	Position  int64  `json:"position"`
	AccountID string `json:"account_id"`
	// Version is its place among the account's entries, from 1.
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	// Booked is the time that decides to which period it belongs.
	Booked time.Time `json:"-"`
	Kind   Kind      `json:"kind"`
	// ID is the transaction's, or the hold's where no transaction was made.
	ID     string `json:"id"`
	HoldID string `json:"hold_id,omitempty"`
	// SourceType and SourceID are what a hold, a debit or a refund was for.
	SourceType  credit.SourceType `json:"source_type,omitempty"`
	SourceID    string            `json:"source_id,omitempty"`
	DiscountPct int               `json:"discount_pct,omitempty"`
	// Refunds is the transaction that a refund undoes.
	Refunds string `json:"refunds,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Actor and RequestID are who did it, and the request that led to it.
	Actor     string `json:"actor,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	// Postings sum to zero; an entry that moves nothing has none.
	Postings []credit.Posting `json:"postings"`
	// Chain is the hash chain of the account's entries up to this one, in hexadecimal.
	Chain string `json:"chain"`
	// Event is what was decided.
	Event credit.Event `json:"-"`
	// After is the account's balance after the entry. The entries of InOrder have none.
	After credit.State `json:"-"`
}

// Posted is by how much the entry changed the posted balance; false when it only
// reserved seconds or set them free.
func (e Entry) Posted() (seconds int64, ok bool) {
	switch v := e.Event.(type) {
	case credit.Granted:
		return v.Seconds, true
	case credit.Settled:
		return -v.Seconds, true
	case credit.Refunded:
		return v.Seconds, true
	}
	return 0, false
}

// Entries reads the entries of an account in order, or those of all accounts, one
// account after the other, when accountID is empty. The first error ends it.
func (s *Snapshot) Entries(ctx context.Context, accountID string) iter.Seq2[Entry, error] {
	stored := s.storedCredits(ctx)
	if accountID != "" {
		stored = s.Stored(ctx, fold.Credit.Stream(accountID))
	}
	return func(yield func(Entry, error) bool) {
		var last Entry
		for raw, err := range stored {
			var e Entry
			if err == nil {
				e, err = s.entry(raw)
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if e.AccountID != last.AccountID {
				last = Entry{}
			}
			if e.Booked.Before(last.Booked) {
				e.Booked = last.Booked
			}
			e.After = credit.Evolve(last.After, e.Event)
			if last = e; !yield(e, nil) {
				return
			}
		}
	}
}

// InOrder reads the entries of all accounts in the order of the log. Their After is not
// known, because that would take the balances of all accounts at once.
func (s *Snapshot) InOrder(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for raw, err := range s.storedInOrder(ctx) {
			var e Entry
			if err == nil {
				e, err = s.entry(raw)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// entry reads a stored event.
func (s *Snapshot) entry(raw Stored) (Entry, error) {
	event, err := s.codec.Unmarshal(raw.Type, raw.Data)
	if err != nil {
		return Entry{}, fmt.Errorf("event at position %d: %w", raw.Position, err)
	}
	decided, ok := event.(credit.Event)
	if !ok {
		return Entry{}, fmt.Errorf("event at position %d: %s is no entry of a ledger", raw.Position, raw.Type)
	}
	meta, err := codec.UnmarshalMeta(raw.AccountID, raw.Meta)
	if err != nil {
		return Entry{}, fmt.Errorf("event at position %d: %w", raw.Position, err)
	}
	e := told(decided)
	e.Position, e.AccountID, e.Version, e.Chain = raw.Position, raw.Stream.ID, raw.Version, raw.Chain.String()
	e.Actor, e.RequestID = meta.Actor, meta.RequestID
	e.Booked, e.Event = e.At, decided
	if e.Postings = credit.Postings(decided); e.Postings == nil {
		e.Postings = []credit.Posting{}
	}
	return e, nil
}

// told is what an event itself says of its entry.
func told(event credit.Event) Entry {
	switch v := event.(type) {
	case credit.Granted:
		return Entry{At: v.At, Kind: Kind(v.Kind), ID: v.TransactionID, Reason: v.Reason}
	case credit.Held:
		return Entry{
			At: v.At, Kind: Hold, ID: v.HoldID, HoldID: v.HoldID,
			SourceType: v.SourceType, SourceID: v.SourceID, DiscountPct: v.DiscountPct,
		}
	case credit.Settled:
		return Entry{
			At: v.At, Kind: Kind(v.Kind), ID: v.TransactionID, HoldID: v.HoldID,
			SourceType: v.SourceType, SourceID: v.SourceID, DiscountPct: v.DiscountPct,
		}
	case credit.Released:
		e := Entry{At: v.At, Kind: Release, ID: v.HoldID, HoldID: v.HoldID, SourceType: v.SourceType, SourceID: v.SourceID}
		if v.Reason == credit.ByExpiry {
			e.Kind = Expiry
		}
		return e
	case credit.Refunded:
		return Entry{
			At: v.At, Kind: Refund, ID: v.TransactionID, SourceType: v.SourceType, SourceID: v.SourceID,
			Refunds: v.Refunds, Reason: v.Reason,
		}
	default:
		panic(fmt.Sprintf("book: unknown event %T", event))
	}
}

// Period is the time from From, inclusive, to To, exclusive. A zero time is no bound.
type Period struct{ From, To time.Time }

// Month is the period of a month in UTC, "2026-11". Error: it is not one.
func Month(name string) (Period, error) {
	from, err := time.Parse("2006-01", name)
	if err != nil || strings.TrimSpace(name) != name {
		return Period{}, fmt.Errorf("%q is not a month such as 2026-11", name)
	}
	return Period{From: from, To: from.AddDate(0, 1, 0)}, nil
}

// Side says where a time lies: -1 before the period, 0 in it, 1 after it.
func (p Period) Side(at time.Time) int {
	switch {
	case !p.From.IsZero() && at.Before(p.From):
		return -1
	case !p.To.IsZero() && !at.Before(p.To):
		return 1
	}
	return 0
}

// Counterparts are the balances that the platform's accounts have against a customer
// with these totals, each with the sign that its postings have.
func Counterparts(t credit.Totals) []credit.Posting {
	return []credit.Posting{
		{Account: credit.PlatformGrants, Seconds: -t.Grants},
		{Account: credit.PlatformCardGrants, Seconds: -t.CardGrants},
		{Account: credit.PlatformSales, Seconds: -t.Sales},
		{Account: credit.PlatformAdjustments, Seconds: -t.Adjustments},
		{Account: credit.PlatformAnalysisUsage, Seconds: t.AnalysisUsage},
		{Account: credit.PlatformStreamUsage, Seconds: t.StreamUsage},
	}
}

// compareIDs orders accounts as their bytes do, whatever the database does.
func compareIDs(a, b Account) int { return cmp.Compare(a.AccountID, b.AccountID) }
