package webhook

import (
	"fmt"
	"slices"
	"time"
)

// Reason is why an endpoint is disabled.
type Reason string

// The reasons (docs/contract.md#webhook-endpoints).
const (
	ByUser      Reason = "user"
	AutoFailure Reason = "auto_failure"
)

// State has the webhook endpoints of an account. The zero State is an account without any.
type State struct {
	// Endpoints are in the order of their creation, without deleted ones. The slice is never
	// changed in place.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// Endpoint is a webhook endpoint.
type Endpoint struct {
	ID          string   `json:"id"`
	AccountID   string   `json:"account_id"`
	Livemode    bool     `json:"livemode"`
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	Description string   `json:"description,omitempty"`
	// NoticeEmail learns of failures. It may be empty.
	NoticeEmail string `json:"notice_email,omitempty"`
	// WarnedOf is the first failure of the last warning.
	WarnedOf *time.Time `json:"warned_of,omitempty"`
	// DisabledReason is empty while the endpoint is enabled.
	DisabledReason Reason     `json:"disabled_reason,omitempty"`
	DisabledAt     *time.Time `json:"disabled_at,omitempty"`
	// FailuresSince is when the endpoint was created, was last enabled or got its URL.
	// Failures before do not count.
	FailuresSince time.Time `json:"failures_since"`
	// Secrets are the encrypted secrets, the newest first. The first has no end.
	Secrets   []HeldSecret `json:"secrets"`
	CreatedAt time.Time    `json:"created_at"`
}

// HeldSecret is a secret of an endpoint with its end.
type HeldSecret struct {
	Secret
	// ExpiresAt is the end of an old secret. It is nil for the newest one.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Enabled reports whether deliveries to the endpoint are attempted.
func (e Endpoint) Enabled() bool { return e.DisabledReason == "" }

// Signing returns the secrets that sign a delivery, the newest first, at least one.
func (e Endpoint) Signing(now time.Time) []Secret {
	var valid []Secret
	for _, held := range e.Secrets {
		if held.ExpiresAt == nil || now.Before(*held.ExpiresAt) {
			valid = append(valid, held.Secret)
		}
	}
	return valid
}

// Wants reports whether the endpoint subscribes to a public event.
func (e Endpoint) Wants(eventType string, livemode bool) bool {
	return e.Livemode == livemode && slices.Contains(e.Events, eventType)
}

// Endpoint returns the endpoint with an id, in any mode. ok is false for an unknown or
// deleted one.
func (s State) Endpoint(id string) (e Endpoint, ok bool) {
	i := s.index(id)
	if i < 0 {
		return Endpoint{}, false
	}
	return s.Endpoints[i], true
}

// Matching returns the endpoints that subscribe to a public event, in the order of their
// creation. It includes disabled ones: an event for them becomes a dead delivery, which the
// owner can requeue.
func (s State) Matching(eventType string, livemode bool) []Endpoint {
	var matching []Endpoint
	for _, e := range s.Endpoints {
		if e.Wants(eventType, livemode) {
			matching = append(matching, e)
		}
	}
	return matching
}

func (s State) index(id string) int {
	return slices.IndexFunc(s.Endpoints, func(e Endpoint) bool { return e.ID == id })
}

// Evolve folds one event into the state. It panics on an unknown event.
func Evolve(s State, event Event) State {
	switch e := event.(type) {
	case Created:
		created := Endpoint{
			ID: e.EndpointID, AccountID: e.AccountID, Livemode: e.Livemode, URL: e.URL, Events: e.Events,
			Description: e.Description, NoticeEmail: e.NoticeEmail, FailuresSince: e.At, Secrets: []HeldSecret{{Secret: e.Secret}}, CreatedAt: e.At,
		}
		s.Endpoints = append(slices.Clip(s.Endpoints), created)
		return s
	case Changed:
		return s.with(e.EndpointID, func(of *Endpoint) { of.settle(e) })
	case SecretRotated:
		return s.with(e.EndpointID, func(of *Endpoint) { of.rotate(e) })
	case Warned:
		return s.with(e.EndpointID, func(of *Endpoint) { of.WarnedOf = &e.FailingSince })
	case Disabled:
		return s.with(e.EndpointID, func(of *Endpoint) { of.DisabledReason, of.DisabledAt = e.Reason, &e.At })
	case Enabled:
		return s.with(e.EndpointID, func(of *Endpoint) { of.DisabledReason, of.DisabledAt, of.FailuresSince = "", nil, e.At })
	case Deleted:
		s.Endpoints = slices.DeleteFunc(slices.Clone(s.Endpoints), func(of Endpoint) bool { return of.ID == e.EndpointID })
		return s
	default:
		panic(fmt.Sprintf("webhook: unknown event %T", event))
	}
}

// with returns the state with one changed endpoint. An unknown endpoint changes nothing.
func (s State) with(id string, change func(*Endpoint)) State {
	i := s.index(id)
	if i < 0 {
		return s
	}
	s.Endpoints = slices.Clone(s.Endpoints)
	change(&s.Endpoints[i])
	return s
}

// settle takes the new settings.
func (e *Endpoint) settle(c Changed) {
	if c.URL != e.URL {
		e.FailuresSince = c.At
	}
	e.URL, e.Events, e.Description, e.NoticeEmail = c.URL, c.Events, c.Description, c.NoticeEmail
}

// rotate puts the new secret first and drops those that have ended.
func (e *Endpoint) rotate(r SecretRotated) {
	secrets := []HeldSecret{{Secret: r.Secret}}
	for _, held := range e.Secrets {
		if held.ExpiresAt == nil {
			held.ExpiresAt = &r.OldExpiresAt
		}
		if r.At.Before(*held.ExpiresAt) {
			secrets = append(secrets, held)
		}
	}
	e.Secrets = secrets
}
