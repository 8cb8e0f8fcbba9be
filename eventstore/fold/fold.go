package fold

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/grant"
	"vqa/domain/incident"
	"vqa/domain/stream"
	"vqa/domain/video"
	"vqa/domain/webhook"
	"vqa/eventstore"
)

// The categories of streams.
var (
	Account     = category("account", account.Evolve, 1)
	Sandbox     = category("sandbox", account.EvolveQuota, 1)
	ClientToken = category("client_token", account.EvolveClientToken, 1)
	DeviceCode  = category("device_code", account.EvolveDeviceCode, 1)
	Credit      = category("credit", credit.Evolve, 1)
	Video       = category("video", video.Evolve, 1)
	Analysis    = category("analysis", analysis.Evolve, 1)
	Stream      = category("stream", stream.Evolve, 1)
	Incident    = category("incident", incident.Evolve, 1)

	// Webhook has one stream for each account, with all its endpoints.
	Webhook  = category("webhook", webhook.Evolve, 1)
	Delivery = category("delivery", webhook.EvolveDelivery, 1)

	// Grant has one stream for each permission of an agent, and AgentClient one for each registered program.
	Grant       = category("grant", grant.Evolve, 1)
	AgentClient = category("agent_client", grant.EvolveClient, 1)

	Upgrade       = category("upgrade", account.EvolveUpgradeQuota, 1)
	UpgradeDay    = category("upgrade_day", account.EvolveUpgradeDay, 1)
	IdentityClaim = category("identity_claim", account.EvolveIdentityClaim, 1)

	ClaimAddress = category("claim_address", account.EvolveClaimAddress, 1)
	ClaimGuesses = category("claim_guesses", account.EvolveGuesses, 1)

	Session    = category("session", account.EvolveSession, 1)
	SignInLink = category("signin_link", account.EvolveSignInLink, 1)
	// Passkeys has one stream for each account.
	Passkeys = category("passkeys", account.EvolvePasskeys, 1)

	LedgerKeys = category("ledger_keys", credit.EvolveLedgerKeys, 1)
	LedgerLog  = category("ledger_log", credit.EvolveLog, 1)
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
	// Snapshot returns the stored form of a state.
	Snapshot(state any) ([]byte, error)
	// SameShape reports whether a snapshot has the shape of this program, so that Restore uses it.
	SameShape(snapshot []byte) bool
}

// Of is a category of streams whose events E fold to a state S.
type Of[S any, E eventstore.Event] struct {
	name   string
	evolve func(S, E) S
	// mark is the beginning of each snapshot. It names the shape of the state.
	mark string
}

// category makes a category of streams. revision is raised when the same events give another state of
// the same type.
func category[S any, E eventstore.Event](name string, evolve func(S, E) S, revision int) Of[S, E] {
	of := Of[S, E]{name, evolve, mark(reflect.TypeFor[S](), revision)}
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

// Restore folds a loaded history, starting with its snapshot. Errors: ErrOtherShape, the snapshot
// cannot be read, or an event is of another category.
func (c Of[S, E]) Restore(h eventstore.History) (S, error) {
	var s S
	if h.Snapshot != nil {
		if !c.SameShape(h.Snapshot) {
			return s, ErrOtherShape
		}
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
