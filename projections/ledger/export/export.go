package export

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"vqa/domain/credit"
	"vqa/projections/ledger/book"
)

// Format is the name of an export format.
type Format string

// The formats of Write.
const (
	HLedger Format = "hledger"
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
)

// commodity is the unit of a journal.
const commodity = "SECS"

// form writes one format.
type form interface {
	// open starts an account that had the balance before when the period started at from.
	// When from is zero, the account starts empty.
	open(accountID string, before credit.State, from time.Time) error
	// entry writes an entry of the open account.
	entry(book.Entry) error
	// close ends an account with the balance after, at last, the booked time of its last
	// entry.
	close(accountID string, after credit.State, last time.Time) error
	// end finishes the file.
	end() error
}

// newForm creates the writer of each format.
var newForm = map[Format]func(io.Writer) form{
	HLedger: newHLedger, CSV: newCSV, JSONL: newJSONL,
}

// Formats returns the names of all formats.
func Formats() []Format { return []Format{HLedger, CSV, JSONL} }

// ParseFormat returns the format with a name. Error: the name is unknown.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	return "", fmt.Errorf("unknown format %q; known formats: %s", name, strings.Join(names(), ", "))
}

func names() []string {
	var out []string
	for _, f := range Formats() {
		out = append(out, string(f))
	}
	return out
}

// Summary counts the output of an export.
type Summary struct {
	Accounts int64 `json:"accounts"`
	Entries  int64 `json:"entries"`
}

// Write exports the entries of a period. They must come account by account, as from
// book.Snapshot.Entries. A journal starts with the balances before the period. progress is
// called after each entry, even one outside the period.
func Write(out io.Writer, f Format, entries iter.Seq2[book.Entry, error], p book.Period, progress func()) (Summary, error) {
	buffered := bufio.NewWriterSize(out, 1<<16)
	w := writing{form: newForm[f](buffered), period: p}
	for e, err := range entries {
		if err == nil {
			err = w.add(e)
		}
		if err != nil {
			return w.sum, err
		}
		progress()
	}
	if err := w.closeAccount(); err != nil {
		return w.sum, err
	}
	if err := w.form.end(); err != nil {
		return w.sum, err
	}
	return w.sum, buffered.Flush()
}

// writing splits the entries by account and period.
type writing struct {
	form   form
	period book.Period
	sum    Summary
	// account is the current account, and after its state.
	account string
	after   credit.State
	last    time.Time
	opened  bool
}

func (w *writing) add(e book.Entry) error {
	if e.AccountID != w.account {
		if err := w.closeAccount(); err != nil {
			return err
		}
		w.account, w.after, w.last, w.opened = e.AccountID, credit.State{}, time.Time{}, false
	}
	switch w.period.Side(e.Booked) {
	case -1:
		w.after = e.After
		return nil
	case 1:
		return nil
	}
	if err := w.openAccount(); err != nil {
		return err
	}
	w.after, w.last = e.After, e.Booked
	w.sum.Entries++
	return w.form.entry(e)
}

func (w *writing) openAccount() error {
	if w.opened {
		return nil
	}
	w.opened, w.last = true, w.period.From
	w.sum.Accounts++
	return w.form.open(w.account, w.after, w.period.From)
}

// closeAccount ends the current account, if it has any output.
func (w *writing) closeAccount() error {
	if w.account == "" || !w.opened && w.after.AccountID == "" {
		return nil
	}
	if err := w.openAccount(); err != nil {
		return err
	}
	return w.form.close(w.account, w.after, w.last)
}

// opening returns the balances of an account and of the platform's accounts against it.
func opening(accountID string, s credit.State) []credit.Posting {
	all := append(book.Counterparts(s.Totals),
		credit.Posting{Account: credit.Available(accountID), Seconds: s.AvailableSeconds()},
		credit.Posting{Account: credit.Reserved(accountID), Seconds: s.HeldSeconds})
	return slices.DeleteFunc(all, func(p credit.Posting) bool { return p.Seconds == 0 })
}

// platform adds up the postings to the platform's accounts.
type platform map[credit.LedgerAccount]int64

func (p platform) add(postings []credit.Posting) {
	for _, x := range postings {
		if isPlatform(x.Account) {
			p[x.Account] += x.Seconds
		}
	}
}

func isPlatform(a credit.LedgerAccount) bool { return strings.HasPrefix(string(a), "platform:") }

// platformAccounts returns the platform's accounts, in their order.
func platformAccounts() []credit.LedgerAccount {
	var out []credit.LedgerAccount
	for _, p := range book.Counterparts(credit.Totals{}) {
		out = append(out, p.Account)
	}
	return out
}

// plain turns text from a person into one line without the characters in not.
func plain(text, not string) string {
	unfit := func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' || strings.ContainsRune(not, r)
	}
	// Almost all texts are ids, which need no change.
	if strings.IndexFunc(text, unfit) >= 0 {
		text = strings.Join(strings.FieldsFunc(text, unfit), " ")
	}
	return strings.TrimSpace(text)
}
