package account

import "time"

// DeviceCodeEvent is a fact about a device code.
type DeviceCodeEvent interface {
	EventType() string
	isDeviceCodeEvent()
}

// DeviceCodeRequested says that a program requested a billed key.
type DeviceCodeRequested struct {
	// Hash and UserCodeHash are the SHA-256 of the two codes in lower-case hexadecimal. The
	// codes themselves are not stored.
	Hash         string `json:"hash"`
	UserCodeHash string `json:"user_code_hash"`
	// RequesterAccountID and RequesterKeyID are absent when the request carried no API key.
	RequesterAccountID string    `json:"requester_account_id,omitempty"`
	RequesterKeyID     string    `json:"requester_key_id,omitempty"`
	ExpiresAt          time.Time `json:"expires_at"`
	At                 time.Time `json:"at"`
}

// DeviceCodeApproved says that a person allowed the program to collect a key of their
// account.
type DeviceCodeApproved struct {
	Hash string `json:"hash"`
	// AccountID is the account that will be billed.
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// DeviceCodeDenied says that a person refused the program a key.
type DeviceCodeDenied struct {
	Hash      string    `json:"hash"`
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
}

// DeviceCodeConsumed says that the program collected its key. The same append issues the
// key.
type DeviceCodeConsumed struct {
	Hash      string    `json:"hash"`
	AccountID string    `json:"account_id"`
	KeyID     string    `json:"key_id"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (DeviceCodeRequested) EventType() string { return "device_code.requested" }

// EventType returns the stored name.
func (DeviceCodeApproved) EventType() string { return "device_code.approved" }

// EventType returns the stored name.
func (DeviceCodeDenied) EventType() string { return "device_code.denied" }

// EventType returns the stored name.
func (DeviceCodeConsumed) EventType() string { return "device_code.consumed" }

func (DeviceCodeRequested) isDeviceCodeEvent() {}
func (DeviceCodeApproved) isDeviceCodeEvent()  {}
func (DeviceCodeDenied) isDeviceCodeEvent()    {}
func (DeviceCodeConsumed) isDeviceCodeEvent()  {}
