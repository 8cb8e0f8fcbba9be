package grant

import "time"

// Command is a request to change a grant.
type Command interface{ isCommand() }

// Terms are the terms on which a person lets a client use the agent tools.
type Terms struct {
	GrantID   string
	AccountID string
	// Livemode is the mode that the person chose.
	Livemode bool
	ClientID string
	// ClientName is the name that the client gave itself. It may be empty.
	ClientName string
	// RedirectURI is the address that gets the code.
	RedirectURI string
	// Resource is the address of the agent tool endpoint.
	Resource string
	Scope    string
	// LimitSeconds is the most credit-seconds that the client may spend, >= 1. 0 means no limit.
	LimitSeconds int64
}

// Approve allows a client to use the agent tools. It issues the authorization code.
type Approve struct {
	Terms
	// CodeHash is the hash of the authorization code.
	CodeHash string
	// Challenge is the S256 challenge of the client (RFC 7636).
	Challenge string
}

// Deny refuses a client.
type Deny struct{ Terms }

// Tokens are the hashes of new tokens.
type Tokens struct {
	Access, Refresh string
}

// Redeem exchanges the code for the first tokens. The caller has checked the verifier against
// Grant.Challenge.
type Redeem struct {
	CodeHash, ClientID string
	// FamilyHash is the hash of the part that all refresh tokens of the grant share.
	FamilyHash string
	Tokens
}

// Refresh exchanges a refresh token for new tokens.
type Refresh struct {
	ClientID string
	// RefreshHash is the hash of the presented token, and FamilyHash that of its shared part.
	RefreshHash, FamilyHash string
	Tokens
}

// Revoke ends a grant.
type Revoke struct {
	// AccountID is the account of the person who revokes. Empty stands for any account.
	AccountID string
	// ClientID is the client that revokes. Empty stands for any client.
	ClientID string
	Reason   Reason
}

func (Approve) isCommand() {}
func (Deny) isCommand()    {}
func (Redeem) isCommand()  {}
func (Refresh) isCommand() {}
func (Revoke) isCommand()  {}

// ClientCommand is a request to change a registered client.
type ClientCommand interface{ isClientCommand() }

// Register adds a client that describes itself.
type Register struct {
	ClientID        string
	Name            string
	RedirectURIs    []string
	ApplicationType string
	// AddressHash is a keyed hash of the address that the registration came from.
	AddressHash string
}

// Keep extends the life of a client to the end of a grant.
type Keep struct{ Until time.Time }

func (Register) isClientCommand() {}
func (Keep) isClientCommand()     {}
