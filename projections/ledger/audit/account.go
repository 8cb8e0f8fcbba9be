package audit

import (
	"fmt"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// account folds the ledger of one account and holds it against the laws of
// domain/credit, the read models and the checkpoints.
type account struct {
	*history
	id    string
	state credit.State
	// posted are the seconds in each account of the double entry, by the postings alone.
	posted map[credit.LedgerAccount]int64
	// left and reserved are the account's own two in there.
	left, reserved credit.LedgerAccount
	// postedFix and heldFix put the balances of state right after a wrong event, so that it
	// is named and not all that come after it.
	postedFix, heldFix int64
	// unposted is set once the state was found to differ from the postings.
	unposted bool

	// opened are the events that the open holds began with, by their sources.
	opened map[string]place
	// refunds are the last refunds of transactions, by the ids of those.
	refunds map[string]place

	rows  *loaded
	seals *seals
}

func newAccount(h head, rows *loaded, s *seals) *account {
	a := &account{
		history: &history{head: h, account: accountOf(h.stream)}, id: accountOf(h.stream),
		left: credit.Available(accountOf(h.stream)), reserved: credit.Reserved(accountOf(h.stream)),
		posted: map[credit.LedgerAccount]int64{}, opened: map[string]place{}, refunds: map[string]place{}, rows: rows, seals: s,
	}
	a.apply, a.details = a.entry, a.openHolds
	return a
}

// entry verifies the next event of the ledger.
func (a *account) entry(e stored) {
	event, ok := e.event.(credit.Event)
	switch {
	case e.unreadable != "":
		a.find(Altered, fromChain, e.version, e.position, "it cannot be read: %s", e.unreadable)
		return
	case !ok:
		a.find(Altered, fromChain, e.version, e.position, "a %s does not belong into a ledger", e.event.EventType())
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
	if _, moves := credit.TransactionOf(event); moves { // nothing else has rows of its own
		a.rows.entry(a.history, fold.Credit.Category(), a.recorded(e))
	}
	a.seals.compare(a, e)
}

// malformed says what is wrong with an event that no ledger can hold, whatever its
// state.
func malformed(id string, event credit.Event) string {
	owner, seconds, kind := id, int64(0), credit.Kind("")
	switch e := event.(type) {
	case credit.Granted:
		owner, seconds, kind = e.AccountID, e.Seconds, e.Kind
		if e.Kind != credit.Adjustment && e.Seconds < 0 {
			return fmt.Sprintf("a %s of %d s", e.Kind, e.Seconds)
		}
	case credit.Held:
		owner, seconds = e.AccountID, e.Seconds
		if e.Seconds < 0 {
			return fmt.Sprintf("a hold of %d s", e.Seconds)
		}
	case credit.Settled:
		owner, seconds, kind = e.AccountID, max(e.Seconds, e.HeldSeconds), e.Kind
		if e.Seconds < 0 || e.HeldSeconds < 0 {
			return fmt.Sprintf("a debit of %d s from a hold of %d s", e.Seconds, e.HeldSeconds)
		}
	case credit.Released:
		owner, seconds = e.AccountID, e.Seconds
		if e.Seconds < 0 {
			return fmt.Sprintf("the release of a hold of %d s", e.Seconds)
		}
	case credit.Refunded:
		owner, seconds, kind = e.AccountID, e.Seconds, e.Kind
	}
	switch kind {
	case "", credit.SignupGrant, credit.CardGrant, credit.Purchase, credit.Adjustment, credit.AnalysisDebit, credit.StreamDebit:
	default:
		return fmt.Sprintf("%q is not a kind of transaction", kind)
	}
	switch _, moves := credit.TransactionOf(event); {
	case owner != id:
		return fmt.Sprintf("it names the account %s", owner)
	case moves && kind == "":
		return "it names no kind of transaction"
	case max(seconds, -seconds) > credit.MaxSeconds || seconds == -seconds && seconds != 0:
		return fmt.Sprintf("%d s are more than an account can hold", seconds)
	}
	return ""
}

// book posts the entry that an event makes.
func (a *account) book(e stored, event credit.Event) {
	var sum int64
	for _, p := range credit.Postings(event) {
		a.posted[p.Account] += p.Seconds
		sum += p.Seconds
	}
	if sum != 0 {
		a.find(Balance, fromEntry, e.version, e.position, "its postings sum to %d s instead of 0", sum)
	}
}

// available is what was left to reserve before the next event.
func (a *account) available() int64 {
	return a.state.AvailableSeconds() + a.postedFix - a.heldFix
}

// holds checks that a hold begins once and ends once, as it began, and reports whether
// one did not. It also notes what can be judged at the end only.
func (a *account) holds(e stored, open credit.Holds, available int64, event credit.Event) (wrong bool) {
	switch x := event.(type) {
	case credit.Held:
		h, twice := open.Get(x.SourceID)
		if twice {
			a.find(Hold, fromFold, e.version, e.position, "%s has the open hold %s already", x.SourceID, h.ID)
			a.heldFix -= h.Seconds
		}
		a.opened[x.SourceID] = place{"", e.version, e.position}
		return twice
	case credit.Settled:
		held, ok := a.ended(e, open, x.SourceID, x.HoldID, x.HeldSeconds)
		if ok && x.Seconds > held+available {
			a.find(Hold, fromFold, e.version, e.position, "%d s were billed, %d s were held and available", x.Seconds, held+available)
			return true
		}
		return !ok
	case credit.Released:
		_, ok := a.ended(e, open, x.SourceID, x.HoldID, x.Seconds)
		return !ok
	case credit.Refunded:
		a.refunds[x.Refunds] = place{"", e.version, e.position}
	}
	return false
}

// ended checks the end of a hold. It returns what it held, and false when it did not end
// as it began.
func (a *account) ended(e stored, open credit.Holds, sourceID, holdID string, seconds int64) (int64, bool) {
	h, ok := open.Get(sourceID)
	delete(a.opened, sourceID)
	switch {
	case !ok:
		a.find(Hold, fromFold, e.version, e.position, "the hold %s of %s is not open: it ended before, or never began", holdID, sourceID)
	case h.ID != holdID:
		a.find(Hold, fromFold, e.version, e.position, "it ends the hold %s, but %s is open for %s", holdID, h.ID, sourceID)
	case h.Seconds != seconds:
		a.find(Hold, fromFold, e.version, e.position, "the hold %s ends with %d s, it began with %d s", holdID, seconds, h.Seconds)
	default:
		return h.Seconds, true
	}
	a.heldFix += seconds - h.Seconds
	return h.Seconds, false
}

// overdrawn checks that an event left nothing below zero.
func (a *account) overdrawn(e stored, before int64) {
	if available := a.available(); available < 0 && before >= 0 {
		a.find(Balance, fromFold, e.version, e.position, "%d s are available", available)
	}
}

// balance checks the balance that an event states, and that postings and state say the
// same.
func (a *account) balance(e stored, event credit.Event) {
	if said, ok := balanceAfter(event); ok && said != a.state.PostedSeconds+a.postedFix {
		a.find(Balance, fromFold, e.version, e.position, "it says a balance of %d s, the entries make %d s", said, a.state.PostedSeconds+a.postedFix)
		a.postedFix = said - a.state.PostedSeconds
	}
	held, available := a.posted[a.reserved], a.posted[a.left]
	if same := held == a.state.HeldSeconds && available == a.state.AvailableSeconds(); !same && !a.unposted {
		a.find(Balance, fromFold, e.version, e.position, "%d s held and %d s available are posted, the state has %d s and %d s",
			held, available, a.state.HeldSeconds, a.state.AvailableSeconds())
		a.unposted = true
	}
}

// together is the name under which a ledger account is reported.
func (a *account) together(name credit.LedgerAccount) credit.LedgerAccount {
	if name == a.left {
		return customersAvailable
	}
	if name == a.reserved {
		return customersHeld
	}
	return name
}

// balanceAfter is the posted balance that an event states.
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

// recorded is an event in the form that read models take it in.
func (a *account) recorded(e stored) eventstore.Recorded {
	return eventstore.Recorded{
		Position: e.position, Stream: fold.Credit.Stream(a.id), Version: e.version, Event: e.event, Chain: e.chain,
	}
}
