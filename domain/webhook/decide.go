package webhook

import (
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"vqa/domain/fault"
)

// The limits of webhook endpoints (docs/contract.md#limits).
const (
	// MaxEndpoints is the most endpoints of an account, in both modes together.
	MaxEndpoints = 10
	// MaxDescription is the longest description, in characters.
	MaxDescription = 500
	// RotationOverlap is how long an old secret signs beside the new one.
	RotationOverlap = 24 * time.Hour
)

const (
	// maxURL is the longest URL, in characters (docs/contract.md#limits).
	maxURL = 2048
	// maxEmail is the longest email address, in characters.
	maxEmail = 254
	// maxSecrets is the most secrets that sign at a time. Each adds a signature of 47 bytes
	// to a header, and headers of 8 KiB are refused by common servers.
	maxSecrets = 5
)

// The types of public events (docs/contract.md#webhook-events). The list is closed within
// v1.
var eventTypes = []string{
	"video.ready", "video.failed", "analysis.completed", "analysis.failed", "analysis.canceled", "stream.ended",
}

// EventTypes lists the types of public events that an endpoint can subscribe to.
func EventTypes() []string { return slices.Clone(eventTypes) }

// Decide returns the events of a command, or the fault that refuses it:
// webhook_endpoint_limit, validation_failed, resource_not_found or resource_conflict.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	switch c := command.(type) {
	case Create:
		return decideCreate(s, c, now)
	case Change:
		return s.decide(c.Ref, func(e Endpoint) ([]Event, error) { return e.change(c, now) })
	case RotateSecret:
		return s.decide(c.Ref, func(e Endpoint) ([]Event, error) { return e.rotateSecret(c, now) })
	case Disable:
		return s.decide(c.Ref, func(e Endpoint) ([]Event, error) { return e.disable(ByUser, now), nil })
	case Fail:
		return s.decide(c.Ref, func(e Endpoint) ([]Event, error) {
			if c.FailedAt.Before(e.FailuresSince) {
				return nil, nil
			}
			return e.disable(AutoFailure, now), nil
		})
	case WarnOwner:
		return s.decide(c.Ref, func(e Endpoint) ([]Event, error) { return e.warn(c.FailingSince, now), nil })
	case Enable:
		return s.decide(c.Ref, func(e Endpoint) ([]Event, error) {
			if e.Enabled() {
				return nil, nil
			}
			return []Event{Enabled{AccountID: e.AccountID, EndpointID: e.ID, At: now}}, nil
		})
	case Delete:
		return s.decide(c.Ref, func(e Endpoint) ([]Event, error) {
			return []Event{Deleted{AccountID: e.AccountID, EndpointID: e.ID, At: now}}, nil
		})
	default:
		panic(fmt.Sprintf("webhook: unknown command %T", command))
	}
}

func decideCreate(s State, c Create, now time.Time) ([]Event, error) {
	if s.index(c.ID) >= 0 {
		return nil, fault.New(fault.ResourceConflict, "The webhook endpoint already exists.")
	}
	if violations := c.violations(); len(violations) > 0 {
		return nil, fault.Invalid(violations...)
	}
	if len(s.Endpoints) >= MaxEndpoints {
		return nil, fault.New(fault.WebhookEndpointLimit, "")
	}
	return []Event{Created{
		AccountID: c.AccountID, EndpointID: c.ID, Livemode: c.Livemode, URL: c.URL, Events: slices.Clone(c.Events),
		Description: c.Description, NoticeEmail: c.NoticeEmail, Secret: c.Secret, At: now,
	}}, nil
}

// decide decides on the endpoint that a caller names. Error: resource_not_found.
func (s State) decide(ref Ref, on func(Endpoint) ([]Event, error)) ([]Event, error) {
	e, ok := s.Endpoint(ref.ID)
	if !ok || e.Livemode != ref.Livemode {
		return nil, fault.NotFound("id", ref.ID)
	}
	return on(e)
}

func (e Endpoint) change(c Change, now time.Time) ([]Event, error) {
	next := Settings{URL: e.URL, Events: e.Events, Description: e.Description, NoticeEmail: e.NoticeEmail}
	if c.URL != nil {
		next.URL = *c.URL
	}
	if c.Events != nil {
		next.Events = slices.Clone(c.Events)
	}
	if c.Description != nil {
		next.Description = *c.Description
	}
	if c.NoticeEmail != nil {
		next.NoticeEmail = *c.NoticeEmail
	}
	if violations := next.violations(); len(violations) > 0 {
		return nil, fault.Invalid(violations...)
	}
	changed := Changed{
		AccountID: e.AccountID, EndpointID: e.ID, URL: next.URL, Events: next.Events, Description: next.Description,
		NoticeEmail: next.NoticeEmail, At: now,
	}
	if next.URL == e.URL && slices.Equal(next.Events, e.Events) && next.Description == e.Description && next.NoticeEmail == e.NoticeEmail {
		return nil, nil
	}
	return []Event{changed}, nil
}

func (e Endpoint) rotateSecret(c RotateSecret, now time.Time) ([]Event, error) {
	if valid := e.Signing(now); len(valid) >= maxSecrets {
		oldest := e.Secrets[len(valid)-1].ExpiresAt
		return nil, fault.Newf(fault.ResourceConflict,
			"The secret has been rotated %d times in 24 hours, and the old secrets still sign. Rotate it again after %s.",
			maxSecrets-1, oldest.UTC().Format(time.RFC3339))
	}
	return []Event{SecretRotated{
		AccountID: e.AccountID, EndpointID: e.ID, Secret: c.Secret, OldExpiresAt: now.Add(RotationOverlap), At: now,
	}}, nil
}

func (e Endpoint) disable(reason Reason, now time.Time) []Event {
	if !e.Enabled() {
		return nil
	}
	return []Event{Disabled{AccountID: e.AccountID, EndpointID: e.ID, Reason: reason, At: now}}
}

// warn says once that the owner was warned of failures since a time.
func (e Endpoint) warn(since, now time.Time) []Event {
	if !e.Enabled() || e.WarnedOf != nil && e.WarnedOf.Equal(since) {
		return nil
	}
	return []Event{Warned{AccountID: e.AccountID, EndpointID: e.ID, FailingSince: since, At: now}}
}

func (c Settings) violations() []fault.Violation {
	var found []fault.Violation
	add := func(param string, code fault.ViolationCode, message string) {
		found = append(found, fault.Violation{Param: param, Code: code, Message: message})
	}
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "https" || u.Hostname() == "" {
		add("url", fault.Format, "must be an absolute https URL")
	} else if utf8.RuneCountInString(c.URL) > maxURL {
		add("url", fault.Length, fmt.Sprintf("must have at most %d characters", maxURL))
	}
	if len(c.Events) == 0 {
		add("events", fault.Length, "must have at least 1 item")
	}
	for i, t := range c.Events {
		param := fmt.Sprintf("events.%d", i)
		if !slices.Contains(eventTypes, t) {
			add(param, fault.Enum, "must be one of "+strings.Join(eventTypes, ", "))
		} else if slices.Contains(c.Events[:i], t) {
			add(param, fault.Exclusive, "must not occur twice")
		}
	}
	if utf8.RuneCountInString(c.Description) > MaxDescription {
		add("description", fault.Length, fmt.Sprintf("must have at most %d characters", MaxDescription))
	}
	if a, err := mail.ParseAddress(c.NoticeEmail); c.NoticeEmail != "" && (err != nil || a.Address != c.NoticeEmail || !ascii(c.NoticeEmail)) {
		add("notice_email", fault.Format, "must be an email address without a name, such as ops@example.com")
	} else if utf8.RuneCountInString(c.NoticeEmail) > maxEmail {
		add("notice_email", fault.Length, fmt.Sprintf("must have at most %d characters", maxEmail))
	}
	return found
}

// ascii reports whether every mail server accepts the characters of an address.
func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}
