package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// simBooks is a second implementation of the ledger, made from postings and holds only. It is
// compared with the folds of the domain.
type simBooks struct {
	ledger map[credit.LedgerAccount]int64
	// platform has the sums that each customer exchanged with the platform, by account of the
	// platform.
	platform map[string]map[credit.LedgerAccount]int64
	holds    map[string]simHold // by source, open and ended
	refunded map[string]int64   // by transaction
	billed   map[string]int64   // by source
	// touched has the analyses of the newest events. created and ended have those that these
	// events created and ended.
	touched, created, ended map[string]bool
}

type simHold struct {
	id, account, source string
	seconds             int64
	expires             time.Time
	ended               bool
}

func newSimBooks() *simBooks {
	return &simBooks{
		ledger: map[credit.LedgerAccount]int64{}, platform: map[string]map[credit.LedgerAccount]int64{},
		holds: map[string]simHold{}, refunded: map[string]int64{}, billed: map[string]int64{}, touched: map[string]bool{},
		created: map[string]bool{}, ended: map[string]bool{},
	}
}

// event processes one event. before and after are the states around it.
func (b *simBooks) event(o *oracle, r eventstore.Recorded, before, after any) error {
	switch e := r.Event.(type) {
	case credit.Event:
		was, _ := before.(credit.State)
		if err := b.credit(o, r, e, was); err != nil {
			return err
		}
		return b.balance(r.Stream.ID, after.(credit.State))
	case analysis.Event:
		was, _ := before.(analysis.State)
		return b.analysis(o, r, e, was, after.(analysis.State))
	case video.Event:
		was, _ := before.(video.State)
		return b.video(r, e, was, after.(video.State))
	case account.Event:
		if r.Stream.Category == fold.Account.Category() && r.Meta.AccountID != r.Stream.ID {
			return fmt.Errorf("law 9: an event of %s", r.Meta.AccountID)
		}
	case credit.LogSealed:
		return sealed(e, before)
	}
	return nil
}

// credit processes a ledger event and checks laws 1 to 3.
func (b *simBooks) credit(o *oracle, r eventstore.Recorded, event credit.Event, before credit.State) error {
	accountID := r.Stream.ID
	if r.Meta.AccountID != accountID {
		return fmt.Errorf("law 9: an entry of %s", r.Meta.AccountID)
	}
	if b.platform[accountID] == nil {
		b.platform[accountID] = map[credit.LedgerAccount]int64{}
	}
	sum := int64(0)
	for _, p := range credit.Postings(event) {
		sum += p.Seconds
		b.ledger[p.Account] += p.Seconds
		b.platform[accountID][p.Account] += p.Seconds
	}
	if sum != 0 {
		return fmt.Errorf("law 3: its postings sum to %d", sum)
	}
	switch e := event.(type) {
	case credit.Held:
		if _, held := b.holds[e.SourceID]; held {
			return errors.New("law 2: a source has a second hold")
		}
		b.holds[e.SourceID] = simHold{id: e.HoldID, account: accountID, source: e.SourceID, seconds: e.Seconds, expires: e.ExpiresAt}
		b.touched[e.SourceID] = true
	case credit.Settled:
		h, err := b.end(e.SourceID, e.HoldID)
		if err != nil {
			return err
		}
		if e.HeldSeconds != h.seconds || e.Seconds > h.seconds+before.AvailableSeconds() {
			return fmt.Errorf("law 2: settles %d of a hold of %d with %d available", e.Seconds, h.seconds, before.AvailableSeconds())
		}
		b.billed[e.SourceID] = e.Seconds
	case credit.Released:
		h, err := b.end(e.SourceID, e.HoldID)
		if err != nil {
			return err
		}
		if e.Seconds != h.seconds {
			return fmt.Errorf("law 2: releases %d of a hold of %d", e.Seconds, h.seconds)
		}
		if e.Reason == credit.ByExpiry && e.At.Before(h.expires) {
			return fmt.Errorf("law 2: expires %s before its time", h.expires.Sub(e.At))
		}
	case credit.Refunded:
		return b.refund(o, accountID, e)
	}
	return nil
}

func (b *simBooks) end(source, holdID string) (simHold, error) {
	h, held := b.holds[source]
	if !held || h.ended || h.id != holdID {
		return h, fmt.Errorf("law 2: the hold of %s is not open", source)
	}
	h.ended = true
	b.holds[source] = h
	b.touched[source] = true
	return h, nil
}

// refund checks that the refunds of a transaction never exceed it.
func (b *simBooks) refund(o *oracle, accountID string, e credit.Refunded) error {
	for _, t := range o.transactions[accountID] {
		if t.TransactionID != e.Refunds {
			continue
		}
		b.refunded[e.Refunds] += max(e.Seconds, -e.Seconds)
		if b.refunded[e.Refunds] > t.Seconds {
			return fmt.Errorf("%d of %d seconds are refunded", b.refunded[e.Refunds], t.Seconds)
		}
		return nil
	}
	return fmt.Errorf("%s was never recorded", e.Refunds)
}

// balance compares the fold of an account with the books (law 1).
func (b *simBooks) balance(accountID string, s credit.State) error {
	available, held := b.ledger[credit.Available(accountID)], b.ledger[credit.Reserved(accountID)]
	if available < 0 {
		return fmt.Errorf("law 1: %d seconds are available", available)
	}
	open := int64(0)
	for _, h := range b.holds {
		if h.account == accountID && !h.ended {
			open += h.seconds
		}
	}
	if s.AvailableSeconds() != available || s.HeldSeconds != held || held != open || s.PostedSeconds != available+held {
		return fmt.Errorf("law 1: posted %d, held %d; the books have %d available, %d held, %d in open holds",
			s.PostedSeconds, s.HeldSeconds, available, held, open)
	}
	with := b.platform[accountID]
	totals := credit.Totals{
		Grants: -with[credit.PlatformGrants], CardGrants: -with[credit.PlatformCardGrants], Sales: -with[credit.PlatformSales],
		Adjustments: -with[credit.PlatformAdjustments], AnalysisUsage: with[credit.PlatformAnalysisUsage],
		StreamUsage: with[credit.PlatformStreamUsage],
	}
	if s.Totals != totals {
		return fmt.Errorf("law 1: totals %+v, the books have %+v", s.Totals, totals)
	}
	return nil
}

// analysis checks law 5, and that no attempt overwrites a later one.
func (b *simBooks) analysis(o *oracle, r eventstore.Recorded, event analysis.Event, before, after analysis.State) error {
	b.touched[r.Stream.ID] = true
	expected, fills := filledIn(before, after, event)
	switch {
	case fills && difference(expected, after) != "":
		return fmt.Errorf("law 5: the event changes a terminal state (-before +after)\n%s", difference(expected, after))
	case fills:
		return nil
	case before.Status.Terminal():
		return fmt.Errorf("law 5: it was %s", before.Status)
	case after.Percent < before.Percent:
		return fmt.Errorf("law 5: percent falls from %d to %d", before.Percent, after.Percent)
	case after.AccountID != r.Meta.AccountID:
		return fmt.Errorf("law 9: an event of %s on an analysis of %s", r.Meta.AccountID, after.AccountID)
	}
	b.ended[r.Stream.ID] = after.Status.Terminal()
	if after.RerunOf != "" {
		o.met["re-run "+string(after.Status)]++
	}
	switch e := event.(type) {
	case analysis.Created:
		b.created[r.Stream.ID] = true
	case analysis.Started:
		if before.Status != analysis.Queued {
			return fmt.Errorf("started when it was %s", before.Status)
		}
	case analysis.Reclaimed:
		if e.Attempt <= before.Attempt {
			return fmt.Errorf("attempt %d follows %d", e.Attempt, before.Attempt)
		}
	case analysis.Completed:
		if e.Attempt != before.Attempt {
			return fmt.Errorf("attempt %d completes what attempt %d has", e.Attempt, before.Attempt)
		}
	}
	return nil
}

// filledIn returns the terminal state before, with the fields that the event may still set once. ok is
// false for an event that may not follow a terminal state.
func filledIn(before, after analysis.State, event analysis.Event) (expected analysis.State, ok bool) {
	switch event.(type) {
	case analysis.Repeated:
		ok = before.RerunEligible() && before.RerunID == ""
		before.RerunID = after.RerunID
	case analysis.Drawn:
		ok = before.Drawing
		before.Drawing, before.Artifacts = false, after.Artifacts
	case analysis.Narrated, analysis.NarrationFailed:
		ok = before.Narrating() && !after.Narrating()
		before.Narration = after.Narration
	}
	return before, ok
}

func (b *simBooks) video(r eventstore.Recorded, event video.Event, before, after video.State) error {
	switch e := event.(type) {
	case video.AnalysisOpened:
		b.touched[e.AnalysisID] = true
		if before.Status != video.ReadyStatus {
			return fmt.Errorf("law 5: an analysis of a video that is %s", before.Status)
		}
	case video.AnalysisClosed:
		b.touched[e.AnalysisID] = true
	case video.Deleted:
		if len(before.OpenAnalyses) > 0 {
			return errors.New("a video is removed under an analysis")
		}
	}
	if _, purged := event.(video.Purged); before.Status == video.Removed && !purged {
		return errors.New("law 5: a removed video changes")
	}
	if after.AccountID != r.Meta.AccountID {
		return fmt.Errorf("law 9: an event of %s on a video of %s", r.Meta.AccountID, after.AccountID)
	}
	return nil
}

// join compares the aggregates with each other between appends. An unfinished analysis has an open
// hold and is open for its video. A finished one has neither, and its usage equals the debit.
// during are the moments of the newest append.
func (b *simBooks) join(o *oracle, during moments) error {
	for id := range b.touched {
		a := latest(o, fold.Analysis, id)
		v := latest(o, fold.Video, a.VideoID)
		h, held := b.holds[id]
		working := held && !a.Status.Terminal()
		switch {
		case !a.Exists():
			return fmt.Errorf("law 2: credits are held for %s, which does not exist", id)
		case held && !a.Livemode:
			return fmt.Errorf("law 8: test mode moved credits for %s", id)
		case !held && !a.Status.Terminal():
			return fmt.Errorf("law 2: %s is %s without a hold", id, a.Status)
		case working == h.ended && held:
			return fmt.Errorf("law 2: %s is %s, its hold has ended: %t", id, a.Status, h.ended)
		case v.OpenAnalyses[id] != working:
			return fmt.Errorf("%s is %s, its video has it open: %t", id, a.Status, !working)
		case v.AccountID != a.AccountID || v.Livemode != a.Livemode || held && h.account != a.AccountID:
			return fmt.Errorf("law 9: %s is about a video or on the bill of another account", id)
		case a.RerunID != "" && latest(o, fold.Analysis, a.RerunID).RerunOf != id:
			return fmt.Errorf("%s was repeated by %s, which does not know", id, a.RerunID)
		case a.RerunOf != "" && (a.Usage != nil || h.seconds != 0 || b.billed[id] != 0 || latest(o, fold.Analysis, a.RerunOf).RerunID != id):
			return fmt.Errorf("%s is a free re-run of %s; %d seconds were held and %d billed", id, a.RerunOf, h.seconds, b.billed[id])
		case a.RerunOf == "" && a.Status.Terminal() && a.Usage.BilledSeconds != b.billed[id]:
			return fmt.Errorf("%s says that %d seconds were billed, %d were", id, a.Usage.BilledSeconds, b.billed[id])
		case a.Status != analysis.CompletedStatus && b.billed[id] != 0:
			return fmt.Errorf("%s is %s and was billed", id, a.Status)
		}
		if err := b.read(during, id, a); err != nil {
			return err
		}
	}
	clear(b.touched)
	clear(b.created)
	clear(b.ended)
	return nil
}

// read checks that the states which an analysis was decided on, without changing them, were current
// when it was recorded. One append may have several commands, so any version within it counts.
func (b *simBooks) read(during moments, id string, a analysis.State) error {
	if b.created[id] && !sometime(during, fold.Video, a.VideoID, ready) {
		return fmt.Errorf("%s is about a video that is not ready", id)
	}
	if !b.ended[id] || a.Usage == nil || a.Usage.BalanceAfter == nil {
		return nil
	}
	said := *a.Usage.BalanceAfter
	if _, held := b.holds[id]; !held && said == 0 {
		return nil // a missing ledger is not asserted, because there is no row to lock
	}
	if !sometime(during, fold.Credit, a.AccountID, func(s credit.State) bool { return s.PostedSeconds == said }) {
		return fmt.Errorf("%s says that %d seconds were left, which they were not", id, said)
	}
	return nil
}

// sealed checks that a seal covers one leaf more than the seal before it.
func sealed(e credit.LogSealed, before any) error {
	last, _ := before.(credit.LogState)
	if e.Log != 1 || e.Size != last.Last.Size+1 {
		return fmt.Errorf("law 4: a seal of %d leaves follows one of %d", e.Size, last.Last.Size)
	}
	return nil
}

// openHolds returns the open holds in the order of their sources.
func (o *oracle) openHolds() []simHold {
	var open []simHold
	for _, h := range o.books.holds {
		if !h.ended {
			open = append(open, h)
		}
	}
	slices.SortFunc(open, func(a, b simHold) int { return cmp.Compare(a.source, b.source) })
	return open
}
