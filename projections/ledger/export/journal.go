package export

import (
	"fmt"
	"io"
	"strconv"
	"strings"
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

// beancount writes a file of Beancount 2 or newer. It asserts balances on the day after the
// last transaction, because Beancount asserts at the start of a day.
type beancount struct {
	lines
	totals platform
	last   time.Time
}

// firstDay is the day on which accounts are opened. It is before every entry.
const firstDay = "1970-01-01"

// beanPlatform maps the accounts of the platform to the five roots of Beancount, from the
// customers' point of view.
var beanPlatform = map[credit.LedgerAccount]string{
	credit.PlatformGrants: "Income:Platform:Grants", credit.PlatformCardGrants: "Income:Platform:Card-Grants",
	credit.PlatformSales: "Income:Platform:Sales", credit.PlatformAdjustments: "Equity:Platform:Adjustments",
	credit.PlatformAnalysisUsage: "Expenses:Platform:Analysis-Usage", credit.PlatformStreamUsage: "Expenses:Platform:Stream-Usage",
}

func newBeancount(out io.Writer) form {
	b := &beancount{lines: lines{out: out}, totals: platform{}}
	b.printf("option \"title\" \"The ledger of credits, in whole credit-seconds\"\noption \"operating_currency\" %q\n\n", commodity)
	b.printf("%s commodity %s\n  name: \"credit-seconds\"\n\n", firstDay, commodity)
	for _, a := range platformAccounts() {
		b.printf("%s open %s %s\n", firstDay, beanPlatform[a], commodity)
	}
	return b
}

// name converts acct_01J…:available to Assets:Customers:ACCT-01J…:Available.
func (b *beancount) name(a credit.LedgerAccount) string {
	if isPlatform(a) {
		return beanPlatform[a]
	}
	id, side, _ := strings.Cut(string(a), ":")
	id = strings.Map(func(r rune) rune {
		if r < '0' || r > '9' && r < 'A' || r > 'Z' {
			return '-'
		}
		return r
	}, strings.ToUpper(id))
	return "Assets:Customers:" + id + ":" + strings.ToUpper(side[:1]) + side[1:]
}

// quote writes a string in the syntax of Beancount.
func (b *beancount) quote(text string) string {
	return `"` + beanEscapes.Replace(plain(text, "")) + `"`
}

var beanEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (b *beancount) open(accountID string, before credit.State, from time.Time) error {
	b.printf("\n%s open %s %s\n", firstDay, b.name(credit.Available(accountID)), commodity)
	b.printf("%s open %s %s\n", firstDay, b.name(credit.Reserved(accountID)), commodity)
	if before.AccountID != "" {
		b.printf("\n%s * \"opening balances\"\n", from.UTC().Format(time.DateOnly))
		b.postings(opening(accountID, before))
	}
	return b.err
}

func (b *beancount) entry(e book.Entry) error {
	b.printf("\n%s * %s %s\n", e.Booked.UTC().Format(time.DateOnly), b.quote(string(e.Kind)), b.quote(e.Reason))
	for _, t := range tags(e) {
		b.printf("  %s: %s\n", t.name, b.quote(t.value))
	}
	b.postings(e.Postings)
	return b.err
}

func (b *beancount) postings(sides []credit.Posting) {
	b.totals.add(sides)
	for _, p := range sides {
		b.printf("  %s  %d %s\n", b.name(p.Account), p.Seconds, commodity)
	}
}

func (b *beancount) close(accountID string, after credit.State, last time.Time) error {
	if last.After(b.last) {
		b.last = last
	}
	b.printf("\n")
	b.assert(b.name(credit.Available(accountID)), after.AvailableSeconds(), last)
	b.assert(b.name(credit.Reserved(accountID)), after.HeldSeconds, last)
	return b.err
}

func (b *beancount) assert(account string, seconds int64, last time.Time) {
	b.printf("%s balance %s %d %s\n", last.UTC().AddDate(0, 0, 1).Format(time.DateOnly), account, seconds, commodity)
}

func (b *beancount) end() error {
	if b.last.IsZero() {
		return b.err
	}
	b.printf("\n")
	for _, a := range platformAccounts() {
		b.assert(beanPlatform[a], b.totals[a], b.last)
	}
	return b.err
}
