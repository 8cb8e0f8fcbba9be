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
	// mended is set once the state had to be put right, so that one wrong event is named
	// and not all that come after it.
	mended bool

	// opened are the events that the open holds began with, by their sources.
	opened map[string]place

	rows  *loaded
	seals *seals
}

func newAccount(h head, rows *loaded, s *seals) *account {
	a := &account{
		history: &history{head: h, account: accountOf(h.stream)}, id: accountOf(h.stream),
		posted: map[credit.LedgerAccount]int64{}, opened: map[string]place{}, rows: rows, seals: s,
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
	before := a.state
	a.state = fold.Credit.Evolve(a.state, event)
	a.holds(e, before, event)
	a.balance(e, before, event)
	a.rows.entry(a.history, fold.Credit.Category(), a.recorded(e))
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

// holds checks that a hold begins once and ends once, as it began.
func (a *account) holds(e stored, before credit.State, event credit.Event) {
	switch x := event.(type) {
	case credit.Held:
		if h, open := before.Holds.Get(x.SourceID); open {
			a.find(Hold, fromFold, e.version, e.position, "%s has the open hold %s already", x.SourceID, h.ID)
			a.state.HeldSeconds -= h.Seconds
			a.mended = true
		}
		a.opened[x.SourceID] = place{"", e.version, e.position}
	case credit.Settled:
		h := a.ended(e, before, x.SourceID, x.HoldID, x.HeldSeconds)
		if most := h + before.AvailableSeconds(); h >= 0 && x.Seconds > most {
			a.find(Hold, fromFold, e.version, e.position, "%d s were billed, %d s were held and available", x.Seconds, most)
		}
	case credit.Released:
		a.ended(e, before, x.SourceID, x.HoldID, x.Seconds)
	}
}

// ended checks the end of a hold and returns what it held, or -1 when nothing was open.
func (a *account) ended(e stored, before credit.State, sourceID, holdID string, seconds int64) int64 {
	h, open := before.Holds.Get(sourceID)
	delete(a.opened, sourceID)
	switch {
	case !open:
		a.find(Hold, fromFold, e.version, e.position, "the hold %s of %s is not open: it ended before, or never began", holdID, sourceID)
		a.state.HeldSeconds += seconds
		a.mended = true
		return -1
	case h.ID != holdID:
		a.find(Hold, fromFold, e.version, e.position, "it ends the hold %s, but %s is open for %s", holdID, h.ID, sourceID)
	case h.Seconds != seconds:
		a.find(Hold, fromFold, e.version, e.position, "the hold %s ends with %d s, it began with %d s", holdID, seconds, h.Seconds)
		a.state.HeldSeconds += seconds - h.Seconds
		a.mended = true
	}
	return h.Seconds
}

// balance checks the balances after an event.
func (a *account) balance(e stored, before credit.State, event credit.Event) {
	if said, ok := balanceAfter(event); ok && said != a.state.PostedSeconds {
		a.find(Balance, fromFold, e.version, e.position, "it says a balance of %d s, the entries make %d s", said, a.state.PostedSeconds)
		a.state.PostedSeconds = said
		a.mended = true
	}
	if available := a.state.AvailableSeconds(); available < 0 && before.AvailableSeconds() >= 0 {
		a.find(Balance, fromFold, e.version, e.position, "%d s are available", available)
	}
	if held := a.posted[credit.Reserved(a.id)]; !a.mended && held != a.state.HeldSeconds {
		a.find(Balance, fromFold, e.version, e.position, "%d s are posted as held, the open holds make %d s", held, a.state.HeldSeconds)
		a.mended = true
	}
	if left := a.posted[credit.Available(a.id)]; !a.mended && left != a.state.AvailableSeconds() {
		a.find(Balance, fromFold, e.version, e.position, "%d s are posted as available, the balance makes %d s", left, a.state.AvailableSeconds())
		a.mended = true
	}
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
