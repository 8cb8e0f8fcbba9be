package credit

import "fmt"

// Examine checks that an event may follow a state by the laws of this package, and returns the problem in
// words, or "". The decisions guarantee this for the events of the service. The sealer examines each event
// again before it signs, because somebody who controls the database may have written it.
func Examine(s State, accountID string, event Event) string {
	if problem := malformed(accountID, event); problem != "" {
		return problem
	}
	var sum int64
	for _, p := range Postings(event) {
		sum += p.Seconds
	}
	if sum != 0 {
		return fmt.Sprintf("the postings sum to %d s instead of 0", sum)
	}
	if problem := examineHold(s, event); problem != "" {
		return problem
	}
	after := Evolve(s, event)
	if available := after.AvailableSeconds(); available < 0 && s.AvailableSeconds() >= 0 {
		return fmt.Sprintf("%d s are available after the event", available)
	}
	if said, ok := balanceAfter(event); ok && said != after.PostedSeconds {
		return fmt.Sprintf("the event contains a balance of %d s, but the entries sum to %d s", said, after.PostedSeconds)
	}
	return ""
}

// malformed checks the account, the kind and the ranges of an event, and returns the problem in words, or "". No
// state can fold a malformed event.
func malformed(accountID string, event Event) string {
	owner, seconds, kind, least := accountID, int64(0), AnalysisDebit, int64(0)
	switch e := event.(type) {
	case Granted:
		owner, seconds, kind = e.AccountID, e.Seconds, e.Kind
		if e.Kind == Adjustment {
			least = -MaxSeconds
		}
	case Held:
		owner, seconds = e.AccountID, e.Seconds
	case Extended:
		owner, seconds, least = e.AccountID, e.Seconds, 1
	case Settled:
		owner, seconds, kind = e.AccountID, e.Seconds, e.Kind
	case Released:
		owner, seconds = e.AccountID, e.Seconds
	case Refunded:
		owner, seconds, kind, least = e.AccountID, e.Seconds, e.Kind, -MaxSeconds
	}
	switch {
	case owner != accountID:
		return "the event names the account " + owner
	case seconds < least || seconds > MaxSeconds:
		return fmt.Sprintf("the event has %d s, which its kind cannot have", seconds)
	}
	switch kind {
	case SignupGrant, CardGrant, Purchase, Adjustment, AnalysisDebit, StreamDebit:
		return ""
	}
	return fmt.Sprintf("the event has the unknown transaction kind %q", kind)
}

// examineHold checks that a hold begins once, and ends once with the seconds that it had.
func examineHold(s State, event Event) string {
	var sourceID, holdID string
	var seconds int64
	switch e := event.(type) {
	case Held:
		if h, open := s.Holds.Get(e.SourceID); open {
			return fmt.Sprintf("%s already has the open hold %s", e.SourceID, h.ID)
		}
		return ""
	case Extended:
		sourceID, holdID, seconds = e.SourceID, e.HoldID, e.HeldSeconds-e.Seconds
	case Settled:
		sourceID, holdID, seconds = e.SourceID, e.HoldID, e.HeldSeconds
	case Released:
		sourceID, holdID, seconds = e.SourceID, e.HoldID, e.Seconds
	default:
		return ""
	}
	h, open := s.Holds.Get(sourceID)
	switch {
	case !open:
		return fmt.Sprintf("the hold %s of %s is not open", holdID, sourceID)
	case h.ID != holdID:
		return fmt.Sprintf("the event names the hold %s, but %s is the open hold of %s", holdID, h.ID, sourceID)
	case h.Seconds != seconds:
		return fmt.Sprintf("the hold %s has %d s, not %d s", holdID, h.Seconds, seconds)
	}
	return ""
}

// balanceAfter returns the posted balance that an event contains.
func balanceAfter(event Event) (int64, bool) {
	switch e := event.(type) {
	case Granted:
		return e.BalanceAfter, true
	case Settled:
		return e.BalanceAfter, true
	case Refunded:
		return e.BalanceAfter, true
	}
	return 0, false
}
