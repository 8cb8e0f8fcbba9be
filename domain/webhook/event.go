package webhook

import "time"

// Event is a fact about the webhook endpoints of an account.
type Event interface {
	EventType() string
	isEvent()
}

// Secret is the signing secret of an endpoint in encrypted form.
type Secret struct {
	// Sealed is the encrypted secret in base64. Only the holder of the key can decrypt it.
	Sealed string `json:"sealed"`
	// SealKeyID names the key that encrypted the secret.
	SealKeyID string `json:"seal_key_id"`
}

// Created says that a webhook endpoint was created.
type Created struct {
	AccountID  string `json:"account_id"`
	EndpointID string `json:"endpoint_id"`
	// Livemode is the mode of the key that created the endpoint. The endpoint receives events
	// of this mode.
	Livemode bool   `json:"livemode"`
	URL      string `json:"url"`
	// Events are the types of public events that the endpoint receives.
	Events []string `json:"events"`
	// Description is absent when the owner gave none.
	Description string `json:"description,omitempty"`
	// NoticeEmail is the address that learns of failures. It is absent when the owner gave none.
	NoticeEmail string `json:"notice_email,omitempty"`
	// Secret signs the deliveries. It is encrypted.
	Secret Secret    `json:"secret"`
	At     time.Time `json:"at"`
}

// Changed says that the owner changed the settings of an endpoint. It has the new settings
// in full.
type Changed struct {
	AccountID  string `json:"account_id"`
	EndpointID string `json:"endpoint_id"`
	URL        string `json:"url"`
	// Events are the types of public events that the endpoint receives.
	Events []string `json:"events"`
	// Description is absent when the endpoint has none.
	Description string `json:"description,omitempty"`
	// NoticeEmail is absent when the endpoint has none.
	NoticeEmail string    `json:"notice_email,omitempty"`
	At          time.Time `json:"at"`
}

// SecretRotated says that an endpoint has a new secret. The old one signs, too, until
// OldExpiresAt.
type SecretRotated struct {
	AccountID  string `json:"account_id"`
	EndpointID string `json:"endpoint_id"`
	// Secret is the new secret. It is encrypted.
	Secret Secret `json:"secret"`
	// OldExpiresAt is when the old secret expires.
	OldExpiresAt time.Time `json:"old_expires_at"`
	At           time.Time `json:"at"`
}

// Warned says that all attempts to an endpoint have failed for half of the time after which it is
// disabled.
type Warned struct {
	AccountID  string `json:"account_id"`
	EndpointID string `json:"endpoint_id"`
	// FailingSince is the first of these failures.
	FailingSince time.Time `json:"failing_since"`
	At           time.Time `json:"at"`
}

// Disabled says that an endpoint receives nothing until it is enabled.
type Disabled struct {
	AccountID  string    `json:"account_id"`
	EndpointID string    `json:"endpoint_id"`
	Reason     Reason    `json:"reason"`
	At         time.Time `json:"at"`
}

// Enabled says that a disabled endpoint receives events again.
type Enabled struct {
	AccountID  string    `json:"account_id"`
	EndpointID string    `json:"endpoint_id"`
	At         time.Time `json:"at"`
}

// Deleted says that an endpoint was deleted.
type Deleted struct {
	AccountID  string    `json:"account_id"`
	EndpointID string    `json:"endpoint_id"`
	At         time.Time `json:"at"`
}

// EventType returns the stored name.
func (Created) EventType() string { return "webhook.created" }

// EventType returns the stored name.
func (Changed) EventType() string { return "webhook.changed" }

// EventType returns the stored name.
func (SecretRotated) EventType() string { return "webhook.secret_rotated" }

// EventType returns the stored name.
func (Warned) EventType() string { return "webhook.warned" }

// EventType returns the stored name.
func (Disabled) EventType() string { return "webhook.disabled" }

// EventType returns the stored name.
func (Enabled) EventType() string { return "webhook.enabled" }

// EventType returns the stored name.
func (Deleted) EventType() string { return "webhook.deleted" }

func (Created) isEvent()       {}
func (Changed) isEvent()       {}
func (SecretRotated) isEvent() {}
func (Warned) isEvent()        {}
func (Disabled) isEvent()      {}
func (Enabled) isEvent()       {}
func (Deleted) isEvent()       {}
