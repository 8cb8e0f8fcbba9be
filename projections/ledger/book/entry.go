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

// Kind is the kind of an entry: the kind of its transaction, or what happened to a hold.
type Kind string

// The kinds in addition to those of credit.Kind.
const (
	Hold      Kind = "hold"
	Extension Kind = "extension"
	Release   Kind = "release"
	Expiry    Kind = "expiry"
	Refund    Kind = "refund"
)

// Entry is one entry of the ledger: a credit event with its double entry.
type Entry struct {
	Position  int64  `json:"position"`
	AccountID string `json:"account_id"`
	// Version is the number of the entry within the account, from 1.
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	// Booked is the time that decides the entry's period.
	Booked time.Time `json:"-"`
	Kind   Kind      `json:"kind"`
	// ID is the id of the transaction, or of the hold when there is no transaction.
	ID     string `json:"id"`
	HoldID string `json:"hold_id,omitempty"`
	// SourceType and SourceID name the work that a hold, a debit or a refund was for.
	SourceType  credit.SourceType `json:"source_type,omitempty"`
	SourceID    string            `json:"source_id,omitempty"`
	DiscountPct int               `json:"discount_pct,omitempty"`
	// Refunds is the transaction that a refund reverses.
	Refunds string `json:"refunds,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Actor made the request with RequestID, which caused the entry.
	Actor     string `json:"actor,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	// Postings sum to zero. An entry of 0 seconds has none.
	Postings []credit.Posting `json:"postings"`
	// Chain is the hash chain of the account's entries up to this one, in hexadecimal.
	Chain string `json:"chain"`
	// Event is the credit event.
	Event credit.Event `json:"-"`
	// After is the account's balance after the entry. InOrder leaves it empty.
	After credit.State `json:"-"`
}

// Posted returns the change of the posted balance, and false when the entry only reserved
// or released seconds.
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

// Entries reads the entries of an account in order. With an empty accountID it reads those
// of all accounts, one account after the other. It stops at the first error.
func (s *Snapshot) Entries(ctx context.Context, accountID string) iter.Seq2[Entry, error] {
	stored := s.storedCredits(ctx)
	if accountID != "" {
		stored = s.Stored(ctx, fold.Credit.Stream(accountID), 0)
	}
	return EntriesOf(s.codec, stored)
}

// EntriesOf returns the entries of stored ledger events. They must come in order, account by account. It stops
// at the first error.
func EntriesOf(c *codec.Codec, stored iter.Seq2[Stored, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var last Entry
		for raw, err := range stored {
			var e Entry
			if err == nil {
				e, err = entryOf(c, raw)
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

// InOrder reads the entries of all accounts in the order of the log. After is empty,
// because it would need the balances of all accounts in memory.
func (s *Snapshot) InOrder(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for raw, err := range s.storedInOrder(ctx) {
			var e Entry
			if err == nil {
				e, err = entryOf(s.codec, raw)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// entryOf decodes a stored event.
func entryOf(c *codec.Codec, raw Stored) (Entry, error) {
	event, err := c.Unmarshal(raw.Type, raw.Data)
	if err != nil {
		return Entry{}, fmt.Errorf("event at position %d: %w", raw.Position, err)
	}
	decided, ok := event.(credit.Event)
	if !ok {
		return Entry{}, fmt.Errorf("event at position %d: %s is not a ledger event", raw.Position, raw.Type)
	}
	meta, err := codec.UnmarshalMeta(raw.AccountID, raw.Meta)
	if err != nil {
		return Entry{}, fmt.Errorf("event at position %d: %w", raw.Position, err)
	}
	e := fromEvent(decided)
	e.Position, e.AccountID, e.Version, e.Chain = raw.Position, raw.Stream.ID, raw.Version, raw.Chain.String()
	e.Actor, e.RequestID = meta.Actor, meta.RequestID
	e.Booked, e.Event = e.At, decided
	if e.Postings = credit.Postings(decided); e.Postings == nil {
		e.Postings = []credit.Posting{}
	}
	return e, nil
}

// fromEvent returns the fields of an entry that the event contains.
func fromEvent(event credit.Event) Entry {
	switch v := event.(type) {
	case credit.Granted:
		return Entry{At: v.At, Kind: Kind(v.Kind), ID: v.TransactionID, Reason: v.Reason}
	case credit.Held:
		return Entry{
			At: v.At, Kind: Hold, ID: v.HoldID, HoldID: v.HoldID,
			SourceType: v.SourceType, SourceID: v.SourceID, DiscountPct: v.DiscountPct,
		}
	case credit.Extended:
		return Entry{
			At: v.At, Kind: Extension, ID: v.HoldID, HoldID: v.HoldID,
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

// Period is the time from From, inclusive, to To, exclusive. A zero time means no bound.
type Period struct{ From, To time.Time }

// Month returns the period of a month in UTC, such as "2026-11". Error: the name is not a
// month.
func Month(name string) (Period, error) {
	from, err := time.Parse("2006-01", name)
	if err != nil || strings.TrimSpace(name) != name {
		return Period{}, fmt.Errorf("%q is not a month such as 2026-11", name)
	}
	return Period{From: from, To: from.AddDate(0, 1, 0)}, nil
}

// Side returns -1 for a time before the period, 0 for one in it, and 1 for one after it.
func (p Period) Side(at time.Time) int {
	switch {
	case !p.From.IsZero() && at.Before(p.From):
		return -1
	case !p.To.IsZero() && !at.Before(p.To):
		return 1
	}
	return 0
}

// Counterparts returns the balances of the platform's accounts against a customer with
// these totals. Each has the sign of its postings.
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

// compareIDs orders accounts by the bytes of their ids, independent of the collation of the
// database.
func compareIDs(a, b Account) int { return cmp.Compare(a.AccountID, b.AccountID) }
