package fold

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/incident"
	"vqa/domain/video"
	"vqa/eventstore"
)

// The categories of streams.
var (
	Account     = category("account", account.Evolve)
	Sandbox     = category("sandbox", account.EvolveQuota)
	ClientToken = category("client_token", account.EvolveClientToken)
	DeviceCode  = category("device_code", account.EvolveDeviceCode)
	Credit      = category("credit", credit.Evolve)
	Video       = category("video", video.Evolve)
	Analysis    = category("analysis", analysis.Evolve)
	Incident    = category("incident", incident.Evolve)

	Upgrade       = category("upgrade", account.EvolveUpgradeQuota)
	UpgradeDay    = category("upgrade_day", account.EvolveUpgradeDay)
	IdentityClaim = category("identity_claim", account.EvolveIdentityClaim)

	ClaimAddress = category("claim_address", account.EvolveClaimAddress)
	ClaimGuesses = category("claim_guesses", account.EvolveGuesses)

	Checkpoint = category("checkpoint", credit.EvolveCheckpoint)
	LedgerKeys = category("ledger_keys", credit.EvolveLedgerKeys)
)

// all has the categories by name.
var all = map[string]Aggregate{}

// Aggregate is a category without its Go types, for tools.
type Aggregate interface {
	// Category is the stored name.
	Category() string
	// FoldAny folds events into a state of this category. nil is the state before the first
	// event.
	FoldAny(state any, events ...eventstore.Recorded) (any, error)
}

// Of is a category of streams whose events E fold to a state S.
type Of[S any, E eventstore.Event] struct {
	name   string
	evolve func(S, E) S
}

func category[S any, E eventstore.Event](name string, evolve func(S, E) S) Of[S, E] {
	of := Of[S, E]{name, evolve}
	all[name] = of
	return of
}

// Named returns the category of a stored name.
func Named(name string) (Aggregate, bool) {
	a, ok := all[name]
	return a, ok
}

// Names returns the stored names of all categories, sorted.
func Names() []string { return slices.Sorted(maps.Keys(all)) }

// Category implements Aggregate.
func (c Of[S, E]) Category() string { return c.name }

// Stream returns the stream of the aggregate with an id.
func (c Of[S, E]) Stream(id string) eventstore.StreamID {
	return eventstore.StreamID{Category: c.name, ID: id}
}

// Evolve folds one event of the domain into a state.
func (c Of[S, E]) Evolve(s S, e E) S { return c.evolve(s, e) }

// Fold folds recorded events into a state. Error: an event of another category.
func (c Of[S, E]) Fold(s S, events ...eventstore.Recorded) (S, error) {
	for _, r := range events {
		e, ok := r.Event.(E)
		if !ok {
			return s, fmt.Errorf("stream %s has an event of another category, %s", r.Stream, r.Event.EventType())
		}
		s = c.evolve(s, e)
	}
	return s, nil
}

// Restore folds a loaded history, starting with its snapshot. Errors: the snapshot cannot be read,
// or an event is of another category.
func (c Of[S, E]) Restore(h eventstore.History) (S, error) {
	var s S
	if h.Snapshot != nil {
		if err := json.Unmarshal(h.Snapshot, &s); err != nil {
			return s, fmt.Errorf("reading the snapshot of a %s: %w", c.name, err)
		}
	}
	return c.Fold(s, h.Events...)
}

// FoldAny implements Aggregate.
func (c Of[S, E]) FoldAny(state any, events ...eventstore.Recorded) (any, error) {
	var s S
	if state != nil {
		s = state.(S)
	}
	return c.Fold(s, events...)
}
