package audit

import (
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
	// lawless is set after an event that breaks a law, so that its consequences are not
	// reported.
	lawless bool

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
	if problem := credit.Malformed(a.id, event); problem != "" {
		a.find(Altered, fromChain, e.version, e.position, "%s", problem)
		return
	}
	if !a.lawless {
		if problem := credit.Examine(a.state, a.id, event); problem != "" {
			a.find(Balance, fromFold, e.version, e.position, "%s", problem)
			a.lawless = true
		}
	}
	for _, p := range credit.Postings(event) {
		a.posted[p.Account] += p.Seconds
	}
	a.state = fold.Credit.Evolve(a.state, event)
	a.remember(e, event)
	if _, moves := credit.TransactionOf(event); moves { // only transactions have their own rows
		a.rows.entry(a.history, fold.Credit.Category(), a.recorded(e))
	}
}

// remember records what can be checked only at the end.
func (a *account) remember(e stored, event credit.Event) {
	switch x := event.(type) {
	case credit.Held:
		a.opened[x.SourceID] = place{e.version, e.position}
	case credit.Settled:
		delete(a.opened, x.SourceID)
	case credit.Released:
		delete(a.opened, x.SourceID)
	case credit.Refunded:
		a.refunds[x.Refunds] = place{e.version, e.position}
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

// recorded converts an event to the form that read models need.
func (a *account) recorded(e stored) eventstore.Recorded {
	return eventstore.Recorded{
		Position: e.position, Stream: fold.Credit.Stream(a.id), Version: e.version, Event: e.event, Chain: e.chain,
	}
}
