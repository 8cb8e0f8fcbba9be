package export

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"vqa/domain/credit"
	"vqa/projections/ledger/book"
)

// lines writes text and keeps the first error, so that the code of a journal is easy to
// read.
type lines struct {
	out io.Writer
	err error
}

func (l *lines) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.out, format, args...)
	}
}

// tag is a name and a value that an entry has beside its postings.
type tag struct{ name, value string }

// tags returns the tags that are not empty.
func tags(e book.Entry) []tag {
	all := []tag{
		{"id", e.ID}, {"version", strconv.FormatInt(e.Version, 10)}, {"position", strconv.FormatInt(e.Position, 10)},
		{"at", e.At.UTC().Format(time.RFC3339Nano)}, {"source", e.SourceID}, {"refunds", e.Refunds},
		{"actor", e.Actor}, {"request", e.RequestID}, {"chain", e.Chain},
	}
	var out []tag
	for _, t := range all {
		if t.value != "" {
			out = append(out, t)
		}
	}
	return out
}

// hledger writes a journal of hledger 1.25 or newer. Each posting to a customer's account
// has an assertion of its balance. The end has assertions for the platform's accounts.
type hledger struct {
	lines
	totals platform
	last   time.Time
}

func newHLedger(out io.Writer) form {
	h := &hledger{lines: lines{out: out}, totals: platform{}}
	h.printf("; The ledger of credits, in whole credit-seconds.\n\ncommodity 1. %s\n\n", commodity)
	for _, a := range platformAccounts() {
		h.printf("account %s\n", a)
	}
	return h
}

func (h *hledger) name(a credit.LedgerAccount) string {
	if isPlatform(a) {
		return string(a)
	}
	return "customers:" + plain(string(a), ";")
}

func (h *hledger) open(accountID string, before credit.State, from time.Time) error {
	h.printf("\naccount %s\naccount %s\n", h.name(credit.Available(accountID)), h.name(credit.Reserved(accountID)))
	if before.AccountID != "" {
		h.printf("\n%s * opening balances\n", from.UTC().Format(time.DateOnly))
		h.postings(opening(accountID, before), before)
	}
	return h.err
}

func (h *hledger) entry(e book.Entry) error {
	text := plain(string(e.Kind)+" "+e.Reason, ";|")
	h.printf("\n%s * %s\n", e.Booked.UTC().Format(time.DateOnly), text)
	for _, t := range tags(e) {
		h.printf("    ; %s:%s\n", t.name, plain(t.value, ",;"))
	}
	h.postings(e.Postings, e.After)
	return h.err
}

// postings writes the sides of a transaction. after is the customer's balance after it.
func (h *hledger) postings(sides []credit.Posting, after credit.State) {
	h.totals.add(sides)
	for _, p := range sides {
		h.printf("    %s  %d %s", h.name(p.Account), p.Seconds, commodity)
		if p.Account == credit.Available(after.AccountID) {
			h.printf(" = %d %s", after.AvailableSeconds(), commodity)
		} else if p.Account == credit.Reserved(after.AccountID) {
			h.printf(" = %d %s", after.HeldSeconds, commodity)
		}
		h.printf("\n")
	}
}

func (h *hledger) close(_ string, _ credit.State, last time.Time) error {
	if last.After(h.last) {
		h.last = last
	}
	return h.err
}

func (h *hledger) end() error {
	if h.last.IsZero() {
		return h.err
	}
	h.printf("\n%s * closing balances of the platform\n", h.last.UTC().Format(time.DateOnly))
	for _, a := range platformAccounts() {
		h.printf("    %s  0 %s = %d %s\n", a, commodity, h.totals[a], commodity)
	}
	return h.err
}
