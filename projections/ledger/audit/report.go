package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"vqa/domain/credit"
)

// Kind says what is wrong; the package documentation has the list.
type Kind string

// The kinds of mismatches.
const (
	Altered    Kind = "altered"
	Missing    Kind = "missing"
	Reordered  Kind = "reordered"
	Balance    Kind = "balance"
	Hold       Kind = "hold"
	Checkpoint Kind = "checkpoint"
)

// Mismatch is one place at which the ledger contradicts itself.
type Mismatch struct {
	AccountID string `json:"account_id"`
	Kind      Kind   `json:"kind"`
	Stream    string `json:"stream"`
	// Version is the place in the stream, the first one when several are missing; 0 when
	// there is none.
	Version int64 `json:"version"`
	// Position is that of the event in the log; of the last one before it when it is
	// missing, 0 when there is none.
	Position int64 `json:"position"`
	// Detail is for people.
	Detail string `json:"detail"`
}

// maxMismatches is how many mismatches a report lists; the rest is counted.
const maxMismatches = 10_000

// Report is the outcome of an audit.
type Report struct {
	// Accounts, Entries and Checkpoints are how many ledgers, credit events and checkpoints
	// were verified; Streams and Events include those and, if asked for, all others.
	Accounts    int64 `json:"accounts"`
	Entries     int64 `json:"entries"`
	Checkpoints int64 `json:"checkpoints"`
	Streams     int64 `json:"streams"`
	Events      int64 `json:"events"`
	// LedgerAccounts are the seconds in the accounts of the double entry: the platform's
	// by name, and those of all verified customers together.
	LedgerAccounts map[credit.LedgerAccount]int64 `json:"ledger_accounts"`
	// SumSeconds is the sum of all LedgerAccounts, which is 0 in a sound ledger.
	SumSeconds int64 `json:"sum_seconds"`
	// Counts are the mismatches by kind.
	Counts map[Kind]int64 `json:"counts"`
	// Mismatches are ordered by account, stream, version and kind. There are at most
	// 10,000; LeftOut more were counted only.
	Mismatches []Mismatch `json:"mismatches"`
	LeftOut    int64      `json:"left_out"`
}

// The ledger accounts of all customers together.
const (
	customersAvailable = credit.LedgerAccount("customers:available")
	customersHeld      = credit.LedgerAccount("customers:held")
)

// Sound reports that nothing contradicts anything.
func (r *Report) Sound() bool { return len(r.Counts) == 0 }

func newReport() Report {
	return Report{LedgerAccounts: map[credit.LedgerAccount]int64{}, Counts: map[Kind]int64{}, Mismatches: []Mismatch{}}
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

// merge adds what another part of the audit found.
func (r *Report) merge(part Report) {
	r.Accounts += part.Accounts
	r.Entries += part.Entries
	r.Checkpoints += part.Checkpoints
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

// finish orders the mismatches and draws the total.
func (r *Report) finish() {
	for _, seconds := range r.LedgerAccounts {
		r.SumSeconds += seconds
	}
	if r.SumSeconds != 0 {
		r.add(Mismatch{Kind: Balance, Detail: fmt.Sprintf("all ledger accounts together hold %d s instead of 0", r.SumSeconds)})
	}
	slices.SortFunc(r.Mismatches, func(a, b Mismatch) int {
		return cmp.Or(
			cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail),
		)
	})
}

// Kinds are those that were found, sorted.
func (r *Report) Kinds() []Kind { return slices.Sorted(maps.Keys(r.Counts)) }
