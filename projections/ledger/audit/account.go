package audit

import (
	"fmt"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// account folds the ledger of one account and compares it with the laws of domain/credit,
// and with the read models.
type account struct {
	*history
	id    string
	state credit.State
	// posted are the balances of the double-entry accounts, from the postings alone.
	posted map[credit.LedgerAccount]int64
	// left and reserved are the two ledger accounts of this customer.
	left, reserved credit.LedgerAccount
	// postedFix and heldFix correct the balances of state after a wrong event, so that only
	// this event is reported and not every later one.
	postedFix, heldFix int64
	// unposted is set after a difference between the state and the postings was found.
	unposted bool

	// opened are the events of the open holds, by source.
	opened map[string]place
	// refunds are the last refunds, by the id of the refunded transaction.
	refunds map[string]place

	rows *loaded
}

func newAccount(h head, rows *loaded) *account {
	a := &account{
		history: &history{head: h, account: accountOf(h.stream)}, id: accountOf(h.stream),
		left: credit.Available(accountOf(h.stream)), reserved: credit.Reserved(accountOf(h.stream)),
		posted: map[credit.LedgerAccount]int64{}, opened: map[string]place{}, refunds: map[string]place{}, rows: rows,
	}
	a.apply, a.details = a.entry, a.openHolds
	return a
}

// entry verifies the next event of the ledger.
func (a *account) entry(e stored) {
	event, ok := e.event.(credit.Event)
	switch {
	case e.unreadable != "":
		a.find(Altered, fromChain, e.version, e.position, "the event cannot be read: %s", e.unreadable)
		return
	case !ok:
		a.find(Altered, fromChain, e.version, e.position, "%s is not a ledger event", e.event.EventType())
		return
	}
	if problem := malformed(a.id, event); problem != "" {
		a.find(Altered, fromChain, e.version, e.position, "%s", problem)
		return
	}
	a.book(e, event)
	before, available := a.state, a.available()
	a.state = fold.Credit.Evolve(a.state, event)
	if !a.holds(e, before.Holds, available, event) {
		a.overdrawn(e, available)
	}
	a.balance(e, event)
	if _, moves := credit.TransactionOf(event); moves { // only transactions have their own rows
		a.rows.entry(a.history, fold.Credit.Category(), a.recorded(e))
	}
}

// malformed returns the problem of an event that is invalid in any ledger, or "".
func malformed(id string, event credit.Event) string {
	owner, seconds, kind := id, int64(0), credit.Kind("")
	switch e := event.(type) {
	case credit.Granted:
		owner, seconds, kind = e.AccountID, e.Seconds, e.Kind
		if e.Kind != credit.Adjustment && e.Seconds < 0 {
			return fmt.Sprintf("the event is a %s of %d s", e.Kind, e.Seconds)
		}
	case credit.Held:
		owner, seconds = e.AccountID, e.Seconds
		if e.Seconds < 0 {
			return fmt.Sprintf("the event is a hold of %d s", e.Seconds)
		}
	case credit.Extended:
		owner, seconds = e.AccountID, max(e.Seconds, e.HeldSeconds)
		if e.Seconds < 1 || e.HeldSeconds < e.Seconds {
			return fmt.Sprintf("the event extends a hold by %d s to %d s", e.Seconds, e.HeldSeconds)
		}
	case credit.Settled:
		owner, seconds, kind = e.AccountID, max(e.Seconds, e.HeldSeconds), e.Kind
		if e.Seconds < 0 || e.HeldSeconds < 0 {
			return fmt.Sprintf("the event is a debit of %d s from a hold of %d s", e.Seconds, e.HeldSeconds)
		}
	case credit.Released:
		owner, seconds = e.AccountID, e.Seconds
		if e.Seconds < 0 {
			return fmt.Sprintf("the event releases a hold of %d s", e.Seconds)
		}
	case credit.Refunded:
		owner, seconds, kind = e.AccountID, e.Seconds, e.Kind
	}
	switch kind {
	case "", credit.SignupGrant, credit.CardGrant, credit.Purchase, credit.Adjustment, credit.AnalysisDebit, credit.StreamDebit:
	default:
		return fmt.Sprintf("the event has the unknown transaction kind %q", kind)
	}
	switch _, moves := credit.TransactionOf(event); {
	case owner != id:
		return fmt.Sprintf("the event names the account %s", owner)
	case moves && kind == "":
		return "the event has no transaction kind"
	case max(seconds, -seconds) > credit.MaxSeconds || seconds == -seconds && seconds != 0:
		return fmt.Sprintf("the event has %d s, more than an account can have", seconds)
	}
	return ""
}

// book posts the ledger entry of an event.
func (a *account) book(e stored, event credit.Event) {
	var sum int64
	for _, p := range credit.Postings(event) {
		a.posted[p.Account] += p.Seconds
		sum += p.Seconds
	}
	if sum != 0 {
		a.find(Balance, fromEntry, e.version, e.position, "the postings sum to %d s instead of 0", sum)
	}
}

// available returns the available seconds before the next event.
func (a *account) available() int64 {
	return a.state.AvailableSeconds() + a.postedFix - a.heldFix
}

// holds checks that each hold starts once and ends once, with the values it started with.
// It reports whether this event breaks that. It also records what can be checked only at
// the end.
func (a *account) holds(e stored, open credit.Holds, available int64, event credit.Event) (wrong bool) {
	switch x := event.(type) {
	case credit.Held:
		h, twice := open.Get(x.SourceID)
		if twice {
			a.find(Hold, fromFold, e.version, e.position, "%s already has the open hold %s", x.SourceID, h.ID)
			a.heldFix -= h.Seconds
		}
		a.opened[x.SourceID] = place{e.version, e.position}
		return twice
	case credit.Extended:
		return a.extended(e, open, x)
	case credit.Settled:
		held, ok := a.ended(e, open, x.SourceID, x.HoldID, x.HeldSeconds)
		if ok && x.Seconds > held+available {
			a.find(Hold, fromFold, e.version, e.position, "%d s were billed, but only %d s were held and available", x.Seconds, held+available)
			return true
		}
		return !ok
	case credit.Released:
		_, ok := a.ended(e, open, x.SourceID, x.HoldID, x.Seconds)
		return !ok
	case credit.Refunded:
		a.refunds[x.Refunds] = place{e.version, e.position}
	}
	return false
}

// extended checks that an event extends the open hold of its source. It reports whether it does not.
func (a *account) extended(e stored, open credit.Holds, x credit.Extended) (wrong bool) {
	h, ok := open.Get(x.SourceID)
	switch {
	case !ok:
		a.find(Hold, fromFold, e.version, e.position, "the hold %s of %s is not open: it has already ended, or it never started", x.HoldID, x.SourceID)
		a.heldFix -= x.Seconds
	case h.ID != x.HoldID:
		a.find(Hold, fromFold, e.version, e.position, "the event extends the hold %s, but %s is the open hold of %s", x.HoldID, h.ID, x.SourceID)
	case h.Seconds+x.Seconds != x.HeldSeconds:
		a.find(Hold, fromFold, e.version, e.position, "the hold %s has %d s after its extension, but %d s with it", x.HoldID, x.HeldSeconds, h.Seconds+x.Seconds)
	default:
		return false
	}
	return true
}

// ended checks the end of a hold. It returns the held seconds, and false when the hold did
// not end as it started.
func (a *account) ended(e stored, open credit.Holds, sourceID, holdID string, seconds int64) (int64, bool) {
	h, ok := open.Get(sourceID)
	delete(a.opened, sourceID)
	switch {
	case !ok:
		a.find(Hold, fromFold, e.version, e.position, "the hold %s of %s is not open: it has already ended, or it never started", holdID, sourceID)
	case h.ID != holdID:
		a.find(Hold, fromFold, e.version, e.position, "the event ends the hold %s, but %s is the open hold of %s", holdID, h.ID, sourceID)
	case h.Seconds != seconds:
		a.find(Hold, fromFold, e.version, e.position, "the hold %s ends with %d s, but it started with %d s", holdID, seconds, h.Seconds)
	default:
		return h.Seconds, true
	}
	a.heldFix += seconds - h.Seconds
	return h.Seconds, false
}

// overdrawn checks that the available balance did not fall below zero.
func (a *account) overdrawn(e stored, before int64) {
	if available := a.available(); available < 0 && before >= 0 {
		a.find(Balance, fromFold, e.version, e.position, "%d s are available", available)
	}
}

// balance checks the balance in an event, and that the postings and the state agree.
func (a *account) balance(e stored, event credit.Event) {
	if said, ok := balanceAfter(event); ok && said != a.state.PostedSeconds+a.postedFix {
		a.find(Balance, fromFold, e.version, e.position, "the event contains a balance of %d s, but the entries sum to %d s", said, a.state.PostedSeconds+a.postedFix)
		a.postedFix = said - a.state.PostedSeconds
	}
	held, available := a.posted[a.reserved], a.posted[a.left]
	if same := held == a.state.HeldSeconds && available == a.state.AvailableSeconds(); !same && !a.unposted {
		a.find(Balance, fromFold, e.version, e.position, "the postings have %d s held and %d s available, but the state has %d s and %d s",
			held, available, a.state.HeldSeconds, a.state.AvailableSeconds())
		a.unposted = true
	}
}

// together returns the name under which the report adds up a ledger account.
func (a *account) together(name credit.LedgerAccount) credit.LedgerAccount {
	if name == a.left {
		return customersAvailable
	}
	if name == a.reserved {
		return customersHeld
	}
	return name
}

// balanceAfter returns the posted balance that an event contains.
func balanceAfter(event credit.Event) (int64, bool) {
	switch e := event.(type) {
	case credit.Granted:
		return e.BalanceAfter, true
	case credit.Settled:
		return e.BalanceAfter, true
	case credit.Refunded:
		return e.BalanceAfter, true
	}
	return 0, false
}

// recorded converts an event to the form that read models need.
func (a *account) recorded(e stored) eventstore.Recorded {
	return eventstore.Recorded{
		Position: e.position, Stream: fold.Credit.Stream(a.id), Version: e.version, Event: e.event, Chain: e.chain,
	}
}
