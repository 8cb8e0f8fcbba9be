package book

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"vqa/domain/credit"
)

// Bill is the cost of some work.
type Bill struct {
	Seconds int64           `json:"billed_seconds"`
	Cents   decimal.Decimal `json:"cents"`
}

// Comparison is the bill of the same work under two pricings.
type Comparison struct {
	// Now is the bill as it was. Then is the bill under the other pricing. Both are after
	// refunds.
	Now  Bill `json:"now"`
	Then Bill `json:"then"`
	// Difference is Then minus Now.
	Difference Bill `json:"difference"`
}

// Repriced is an account's history under another pricing.
type Repriced struct {
	AccountID string `json:"account_id"`
	Comparison
	// LowestSeconds is the lowest available balance at any moment.
	LowestSeconds int64 `json:"lowest_available_seconds"`
	// RanOutAt is the first time at which the available balance would have been negative,
	// or nil. From then on, work would have been refused or billed in part.
	RanOutAt *time.Time `json:"ran_out_at"`
}

// WhatIf is the whole history under another pricing.
type WhatIf struct {
	// NowPricing and ThenPricing are the compared pricings.
	NowPricing  Pricing `json:"now_pricing"`
	ThenPricing Pricing `json:"then_pricing"`
	// Accounts are the accounts with a bill under either pricing, ordered by id.
	Accounts []Repriced `json:"accounts"`
	Total    Comparison `json:"total"`
	// RanOut is the number of accounts with a RanOutAt.
	RanOut int `json:"accounts_that_ran_out"`
}

// WhatIf folds the history of an account under both pricings. An empty accountID means all
// accounts. Grants and purchases have the same seconds in both. progress is called after
// each entry.
func (s *Snapshot) WhatIf(ctx context.Context, now, then Pricing, accountID string, progress func()) (WhatIf, error) {
	out := WhatIf{NowPricing: now, ThenPricing: then, Accounts: []Repriced{}}
	refunded, err := s.refunded(ctx)
	if err != nil {
		return out, err
	}
	var fold *repricing
	finish := func() {
		if fold != nil {
			out.add(fold.result())
		}
	}
	for e, err := range s.Entries(ctx, accountID) {
		if err != nil {
			return out, err
		}
		progress()
		if fold == nil || fold.accountID != e.AccountID {
			finish()
			fold = newRepricing(e.AccountID, now, then, refunded)
		}
		fold.entry(e)
	}
	finish()
	return out, nil
}

func (w *WhatIf) add(r Repriced) {
	if r.RanOutAt != nil {
		w.RanOut++
	}
	if r.Now.Seconds == 0 && r.Then.Seconds == 0 && r.RanOutAt == nil {
		return
	}
	w.Accounts = append(w.Accounts, r)
	w.Total.Now, w.Total.Then = w.Total.Now.plus(r.Now), w.Total.Then.plus(r.Then)
	w.Total.Difference = w.Total.Difference.plus(r.Difference)
}

func (b Bill) plus(c Bill) Bill { return Bill{b.Seconds + c.Seconds, b.Cents.Add(c.Cents)} }

// refunded returns the ids of all refunded transactions. The fold needs to remember the
// cost of these few only.
func (s *Snapshot) refunded(ctx context.Context) (map[string]bool, error) {
	rows, err := s.tx.Query(ctx, `select data->>'refunds' from events
		where stream like 'credit/%' and (type = 'credit.refunded' or type like 'credit.refunded@%')`)
	if err != nil {
		return nil, fmt.Errorf("read the refunds: %w", err)
	}
	ids := map[string]bool{}
	var id string
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { ids[id] = true; return nil })
	if err != nil {
		return nil, fmt.Errorf("read the refunds: %w", err)
	}
	return ids, nil
}

// repricing folds one account under another pricing.
type repricing struct {
	accountID    string
	nowP, thenP  Pricing
	refunded     map[string]bool
	now, then    int64
	posted, held int64 // under the other pricing
	holds        map[string]int64
	debits       map[string]*debit
	lowest       int64
	ranOut       *time.Time
	began        bool
}

// debit is a debit that was refunded later.
type debit struct{ now, then, refundedNow, refundedThen int64 }

func newRepricing(accountID string, now, then Pricing, refunded map[string]bool) *repricing {
	return &repricing{
		accountID: accountID, nowP: now, thenP: then, refunded: refunded,
		holds: map[string]int64{}, debits: map[string]*debit{},
	}
}

func (r *repricing) entry(e Entry) {
	switch v := e.Event.(type) {
	case credit.Granted:
		r.posted += v.Seconds
	case credit.Held:
		r.holds[v.HoldID] = r.thenP.Seconds(v.SourceType, v.Seconds, v.DiscountPct)
		r.held += r.holds[v.HoldID]
	case credit.Extended:
		more := r.thenP.Seconds(v.SourceType, v.Seconds, v.DiscountPct)
		r.holds[v.HoldID] += more
		r.held += more
	case credit.Released:
		r.end(v.HoldID)
	case credit.Settled:
		r.end(v.HoldID)
		then := r.thenP.Seconds(v.SourceType, v.Seconds, v.DiscountPct)
		if r.refunded[v.TransactionID] {
			r.debits[v.TransactionID] = &debit{now: v.Seconds, then: then}
		}
		r.now, r.then, r.posted = r.now+v.Seconds, r.then+then, r.posted-then
	case credit.Refunded:
		r.refund(v)
	}
	available := r.posted - r.held
	if !r.began || available < r.lowest {
		r.lowest, r.began = available, true
	}
	if available < 0 && r.ranOut == nil {
		at := e.At
		r.ranOut = &at
	}
}

func (r *repricing) end(holdID string) {
	r.held -= r.holds[holdID]
	delete(r.holds, holdID)
}

// refund refunds the same share of the repriced debit. A full refund stays a full refund.
func (r *repricing) refund(v credit.Refunded) {
	d := r.debits[v.Refunds]
	if d == nil || d.now == 0 {
		r.posted += v.Seconds // the refund of a grant or a purchase is the same in both
		return
	}
	d.refundedNow += v.Seconds
	share, _ := decimal.NewFromInt(d.then).Mul(decimal.NewFromInt(d.refundedNow)).QuoRem(decimal.NewFromInt(d.now), 0)
	back := share.IntPart() - d.refundedThen
	d.refundedThen += back
	r.now, r.then, r.posted = r.now-v.Seconds, r.then-back, r.posted+back
}

func (r *repricing) result() Repriced {
	now, then := Bill{r.now, r.nowP.Cents(r.now)}, Bill{r.then, r.thenP.Cents(r.then)}
	return Repriced{
		AccountID: r.accountID,
		Comparison: Comparison{
			Now: now, Then: then, Difference: Bill{then.Seconds - now.Seconds, then.Cents.Sub(now.Cents)},
		},
		LowestSeconds: r.lowest, RanOutAt: r.ranOut,
	}
}
