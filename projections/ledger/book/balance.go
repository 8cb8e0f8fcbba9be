package book

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/credit"
)

// Account has the balances of one customer, in seconds.
type Account struct {
	AccountID        string        `json:"account_id"`
	PostedSeconds    int64         `json:"posted_seconds"`
	AvailableSeconds int64         `json:"available_seconds"`
	HeldSeconds      int64         `json:"held_seconds"`
	Totals           credit.Totals `json:"totals"`
}

func accountOf(id string, s credit.State) Account {
	return Account{
		AccountID: id, PostedSeconds: s.PostedSeconds, AvailableSeconds: s.AvailableSeconds(),
		HeldSeconds: s.HeldSeconds, Totals: s.Totals,
	}
}

// Balances are the balances of all ledger accounts at one moment.
type Balances struct {
	// At is the time of the balances, or nil for now.
	At *time.Time `json:"at"`
	// Accounts are the customers, ordered by id.
	Accounts []Account `json:"accounts"`
	// Platform are the balances of the platform's accounts, from entries with these
	// customers.
	Platform []credit.Posting `json:"platform"`
	// SumSeconds is the sum of all balances. Double entry makes it 0.
	SumSeconds int64 `json:"sum_seconds"`
}

// Balances reads the balances of the named accounts, or of all, from the read model.
func (s *Snapshot) Balances(ctx context.Context, accountIDs ...string) (Balances, error) {
	rows, err := s.tx.Query(ctx, `
		select id, posted_seconds, posted_seconds - held_seconds, held_seconds, grants_seconds, card_grants_seconds,
		       sales_seconds, adjustments_seconds, analysis_usage_seconds, stream_usage_seconds
		  from credit_balances where $1::text[] is null or id = any($1)`, named(accountIDs))
	if err != nil {
		return Balances{}, fmt.Errorf("read the balances: %w", err)
	}
	accounts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Account, error) {
		var a Account
		t := &a.Totals
		return a, row.Scan(&a.AccountID, &a.PostedSeconds, &a.AvailableSeconds, &a.HeldSeconds,
			&t.Grants, &t.CardGrants, &t.Sales, &t.Adjustments, &t.AnalysisUsage, &t.StreamUsage)
	})
	if err != nil {
		return Balances{}, fmt.Errorf("read the balances: %w", err)
	}
	return balancesOf(nil, accounts, accountIDs), nil
}

// named returns nil for all accounts.
func named(accountIDs []string) []string {
	if len(accountIDs) == 0 {
		return nil
	}
	return accountIDs
}

// Fold computes the balances of the named accounts, or of all, from the log. at limits it
// to the entries booked at that time or before. progress is called after each entry and may
// be nil.
func (s *Snapshot) Fold(ctx context.Context, at *time.Time, progress func(), accountIDs ...string) (Balances, error) {
	ranges := named(accountIDs)
	if ranges == nil {
		ranges = []string{""}
	}
	var accounts []Account
	for _, id := range ranges {
		for e, err := range s.Entries(ctx, id) {
			if err != nil {
				return Balances{}, err
			}
			if progress != nil {
				progress()
			}
			if at != nil && e.Booked.After(*at) {
				continue
			}
			now := accountOf(e.AccountID, e.After)
			if n := len(accounts); n > 0 && accounts[n-1].AccountID == e.AccountID {
				accounts[n-1] = now
			} else {
				accounts = append(accounts, now)
			}
		}
	}
	return balancesOf(at, accounts, accountIDs), nil
}

// balancesOf adds up the accounts. A named account without an entry has a balance of 0.
func balancesOf(at *time.Time, accounts []Account, named []string) Balances {
	for _, id := range named {
		if !slices.ContainsFunc(accounts, func(a Account) bool { return a.AccountID == id }) {
			accounts = append(accounts, Account{AccountID: id})
		}
	}
	slices.SortFunc(accounts, compareIDs)
	b := Balances{At: at, Accounts: accounts, Platform: Counterparts(credit.Totals{})}
	if b.Accounts == nil {
		b.Accounts = []Account{}
	}
	for _, a := range b.Accounts {
		b.SumSeconds += a.AvailableSeconds + a.HeldSeconds
		for i, p := range Counterparts(a.Totals) {
			b.Platform[i].Seconds += p.Seconds
			b.SumSeconds += p.Seconds
		}
	}
	return b
}

// Difference is an account whose balances in the read model differ from the log.
type Difference struct {
	AccountID string `json:"account_id"`
	// ReadModel or Log is nil where the account is missing.
	ReadModel *Account `json:"read_model"`
	Log       *Account `json:"log"`
}

// Differences compares the balances of the read model with those of the log. Both are
// ordered by account.
func Differences(readModel, log Balances) []Difference {
	out := []Difference{}
	a, b := readModel.Accounts, log.Accounts
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].AccountID < b[0].AccountID:
			out = append(out, Difference{AccountID: a[0].AccountID, ReadModel: &a[0]})
			a = a[1:]
		case len(a) == 0 || b[0].AccountID < a[0].AccountID:
			out = append(out, Difference{AccountID: b[0].AccountID, Log: &b[0]})
			b = b[1:]
		default:
			if a[0] != b[0] {
				out = append(out, Difference{AccountID: a[0].AccountID, ReadModel: &a[0], Log: &b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// HeldBy is an open hold with its account.
type HeldBy struct {
	AccountID string `json:"account_id"`
	credit.OpenHold
}

// Holds reads the open holds of an account from the read model, the oldest first. An empty
// accountID means all accounts.
func (s *Snapshot) Holds(ctx context.Context, accountID string) ([]HeldBy, error) {
	rows, err := s.tx.Query(ctx, `select id, doc from credit_balances
		where next_expiry is not null and ($1 = '' or id = $1)`, accountID)
	if err != nil {
		return nil, fmt.Errorf("read the holds: %w", err)
	}
	out := []HeldBy{}
	var id string
	var doc []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &doc}, func() error {
		var state credit.State
		if err := json.Unmarshal(doc, &state); err != nil {
			return err
		}
		for h := range state.Holds.All() {
			out = append(out, HeldBy{AccountID: id, OpenHold: h})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the holds: %w", err)
	}
	slices.SortFunc(out, func(a, b HeldBy) int { return compareHolds(a.OpenHold, b.OpenHold) })
	return out, nil
}
