package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vqa/domain/credit"
	"vqa/eventstore/fold"
)

// Kind is the kind of a mismatch. The package documentation lists the kinds.
type Kind string

// The kinds of mismatches.
const (
	Altered Kind = "altered"
	// Checkpoint means that the log outside the database contradicts it. The caller of the audit adds it.
	Checkpoint Kind = "checkpoint"
	Missing    Kind = "missing"
	Balance    Kind = "balance"
	Forged     Kind = "forged"
	Position   Kind = "position"
	ReadModel  Kind = "read_model"
)

// Mismatch is one place at which the ledger contradicts itself.
type Mismatch struct {
	AccountID string `json:"account_id"`
	Kind      Kind   `json:"kind"`
	Stream    string `json:"stream"`
	// Version is the version in the stream, or the first one when several are missing. It
	// is 0 when there is none.
	Version int64 `json:"version"`
	// Position is the position of the event in the log. For a missing event it is that of
	// the last event before it, or 0.
	Position int64 `json:"position"`
	// Detail is an explanation for a person.
	Detail string `json:"detail"`
}

// maxMismatches is the largest number of mismatches in a report. Further ones are only
// counted.
const maxMismatches = 10_000

// Report is the outcome of an audit.
type Report struct {
	// Accounts and Entries are the numbers of verified ledgers and credit events. Streams and
	// Events include those and all other verified streams.
	Accounts int64 `json:"accounts"`
	Entries  int64 `json:"entries"`
	Streams  int64 `json:"streams"`
	Events   int64 `json:"events"`
	// LedgerAccounts are the balances of the double-entry accounts. The platform's accounts
	// have their names. The accounts of all verified customers are added up.
	LedgerAccounts map[credit.LedgerAccount]int64 `json:"ledger_accounts"`
	// SumSeconds is the sum of all LedgerAccounts. It is 0 in a sound ledger.
	SumSeconds int64 `json:"sum_seconds"`
	// Counts are the numbers of mismatches by kind.
	Counts map[Kind]int64 `json:"counts"`
	// Mismatches are ordered by account, stream, version and kind. There are at most
	// 10,000. LeftOut is the number of further ones.
	Mismatches []Mismatch `json:"mismatches"`
	LeftOut    int64      `json:"left_out"`
	// Log describes the whole log. It is nil unless all streams were verified.
	Log *LogFacts `json:"log"`
}

// The ledger accounts of all customers together.
const (
	customersAvailable = credit.LedgerAccount("customers:available")
	customersHeld      = credit.LedgerAccount("customers:held")
)

// Sound reports whether the audit found no mismatch.
func (r *Report) Sound() bool { return len(r.Counts) == 0 }

func newReport() Report {
	return Report{LedgerAccounts: map[credit.LedgerAccount]int64{}, Counts: map[Kind]int64{}, Mismatches: []Mismatch{}}
}

// Add adds a mismatch that was found outside the audit.
func (r *Report) Add(kind Kind, stream string, version, position int64, detail string) {
	m := Mismatch{Kind: kind, Stream: stream, Version: version, Position: position, Detail: detail}
	if strings.HasPrefix(stream, fold.Credit.Category()+"/") {
		m.AccountID = accountOf(stream)
	}
	r.add(m)
	r.sort()
}

func (r *Report) add(found ...Mismatch) {
	for _, m := range found {
		r.Counts[m.Kind]++
		if len(r.Mismatches) == maxMismatches {
			r.LeftOut++
			continue
		}
		r.Mismatches = append(r.Mismatches, m)
	}
}

// merge adds the findings of another part of the audit.
func (r *Report) merge(part Report) {
	r.Accounts += part.Accounts
	r.Entries += part.Entries
	r.Streams += part.Streams
	r.Events += part.Events
	for name, seconds := range part.LedgerAccounts {
		r.LedgerAccounts[name] += seconds
	}
	for _, m := range part.Mismatches {
		if len(r.Mismatches) == maxMismatches {
			r.LeftOut++
			continue
		}
		r.Mismatches = append(r.Mismatches, m)
	}
	for kind, n := range part.Counts {
		r.Counts[kind] += n
	}
	r.LeftOut += part.LeftOut
}

// finish orders the mismatches and computes the sum.
func (r *Report) finish() {
	for _, seconds := range r.LedgerAccounts {
		r.SumSeconds += seconds
	}
	if r.SumSeconds != 0 {
		r.add(Mismatch{Kind: Balance, Detail: fmt.Sprintf("all ledger accounts together have %d s instead of 0", r.SumSeconds)})
	}
	r.sort()
}

func (r *Report) sort() {
	slices.SortFunc(r.Mismatches, func(a, b Mismatch) int {
		return cmp.Or(
			cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail),
		)
	})
}

// Kinds returns the kinds that were found, sorted.
func (r *Report) Kinds() []Kind { return slices.Sorted(maps.Keys(r.Counts)) }
