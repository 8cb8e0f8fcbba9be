package grant

import "time"

// Event is a fact about a grant.
type Event interface {
	EventType() string
	isEvent()
}

// Token is a secret in the only form in which it is stored.
type Token struct {
	// Hash is the SHA-256 of the secret in lower-case hexadecimal.
	Hash      string    `json:"hash"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Approved says that a person allowed a client to use the agent tools.
type Approved struct {
	GrantID   string `json:"grant_id"`
	AccountID string `json:"account_id"`
	// Livemode is the mode that the person chose.
	Livemode bool   `json:"livemode"`
	ClientID string `json:"client_id"`
	// ClientName is the name that the client gave itself. It is absent when it gave none.
	ClientName string `json:"client_name,omitempty"`
	// RedirectURI is the address that the person was sent to with the code.
	RedirectURI string `json:"redirect_uri"`
	// Resource is the address of the agent tool endpoint.
	Resource string `json:"resource"`
	Scope    string `json:"scope"`
	// LimitSeconds is the most credit-seconds that the client may spend. It is absent when the
	// person set no limit.
	LimitSeconds int64 `json:"limit_seconds,omitempty"`
	// Code is the authorization code.
	Code Token `json:"code"`
	// Challenge is the S256 challenge of the client.
	Challenge string `json:"challenge"`
	// ExpiresAt is the end of the grant.
	ExpiresAt time.Time `json:"expires_at"`
	At        time.Time `json:"at"`
}

// Denied says that a person refused a client.
type Denied struct {
	GrantID     string `json:"grant_id"`
	AccountID   string `json:"account_id"`
	ClientID    string `json:"client_id"`
	ClientName  string `json:"client_name,omitempty"`
	RedirectURI string `json:"redirect_uri"`
	// Livemode is the mode that was chosen on the page.
	Livemode bool      `json:"livemode"`
	At       time.Time `json:"at"`
}

// Redeemed says that the client exchanged the code for its first tokens.
type Redeemed struct {
	GrantID   string `json:"grant_id"`
	AccountID string `json:"account_id"`
	// FamilyHash is the SHA-256 of the part that all refresh tokens of the grant share.
	FamilyHash string    `json:"family_hash"`
	Access     Token     `json:"access"`
	Refresh    Token     `json:"refresh"`
	At         time.Time `json:"at"`
}

// Refreshed says that the client exchanged a refresh token for new tokens.
type Refreshed struct {
	GrantID   string `json:"grant_id"`
	AccountID string `json:"account_id"`
	// UsedHash is the hash of the refresh token that was exchanged.
	UsedHash string    `json:"used_hash"`
	Access   Token     `json:"access"`
	Refresh  Token     `json:"refresh"`
	At       time.Time `json:"at"`
}

// Revoked says that no token of the grant works any more.
type Revoked struct {
	GrantID   string    `json:"grant_id"`
	AccountID string    `json:"account_id"`
	Reason    Reason    `json:"reason"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (Approved) EventType() string { return "grant.approved" }

// EventType returns the stored name.
func (Denied) EventType() string { return "grant.denied" }

// EventType returns the stored name.
func (Redeemed) EventType() string { return "grant.redeemed" }

// EventType returns the stored name.
func (Refreshed) EventType() string { return "grant.refreshed" }

// EventType returns the stored name.
func (Revoked) EventType() string { return "grant.revoked" }

func (Approved) isEvent()  {}
func (Denied) isEvent()    {}
func (Redeemed) isEvent()  {}
func (Refreshed) isEvent() {}
func (Revoked) isEvent()   {}

// ClientEvent is a fact about a registered client.
type ClientEvent interface {
	EventType() string
	isClientEvent()
}

// Registered says that a client described itself.
type Registered struct {
	ClientID string `json:"client_id"`
	// Name is not verified. It is absent when the client gave none.
	Name         string   `json:"name,omitempty"`
	RedirectURIs []string `json:"redirect_uris"`
	// ApplicationType is native or web. It is absent when the client gave none.
	ApplicationType string `json:"application_type,omitempty"`
	// AddressHash is a keyed hash of the address that the registration came from.
	AddressHash string    `json:"address_hash"`
	ExpiresAt   time.Time `json:"expires_at"`
	At          time.Time `json:"at"`
}

// Kept says that a person approved the client, so that it lives as long as the grant.
type Kept struct {
	ClientID  string    `json:"client_id"`
	ExpiresAt time.Time `json:"expires_at"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (Registered) EventType() string { return "agent_client.registered" }

// EventType returns the stored name.
func (Kept) EventType() string { return "agent_client.kept" }

func (Registered) isClientEvent() {}
func (Kept) isClientEvent()       {}
