package account

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"vqa/domain/fault"
)

// clientTokenPrefix starts the secret of a client token (docs/contract.md#names).
const clientTokenPrefix = "svcct_"

// The life of a client token (docs/contract.md#client-tokens).
const (
	MinClientTokenLife     = 60 * time.Second
	MaxClientTokenLife     = 900 * time.Second
	DefaultClientTokenLife = 900 * time.Second
)

// ClientTokenMinted says that an API key minted a token for a browser. A token never
// changes afterwards. It ends at a fixed time, or with its key.
type ClientTokenMinted struct {
	// TokenID is the id of the stream.
	TokenID   string `json:"token_id"`
	AccountID string `json:"account_id"`
	// KeyID is the key that minted the token. The token has the mode of that key.
	KeyID string `json:"key_id"`
	// SecretHash is the SHA-256 of the token in lower-case hexadecimal.
	SecretHash string   `json:"secret_hash"`
	Scopes     []string `json:"scopes"`
	// VideoID or StreamID is the one resource that the token is bound to. Both are absent
	// for a token that is not bound.
	VideoID   string    `json:"video_id,omitempty"`
	StreamID  string    `json:"stream_id,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (ClientTokenMinted) EventType() string { return "client_token.minted" }

// ClientToken is a client token without its secret.
type ClientToken struct {
	ID         string    `json:"id"`
	AccountID  string    `json:"account_id"`
	KeyID      string    `json:"key_id"`
	SecretHash string    `json:"secret_hash"`
	Scopes     []string  `json:"scopes"`
	VideoID    string    `json:"video_id,omitempty"`
	StreamID   string    `json:"stream_id,omitempty"`
	MintedAt   time.Time `json:"minted_at"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// EvolveClientToken folds the one event of a token.
func EvolveClientToken(_ ClientToken, e ClientTokenMinted) ClientToken {
	return ClientToken{
		ID: e.TokenID, AccountID: e.AccountID, KeyID: e.KeyID, SecretHash: e.SecretHash, Scopes: e.Scopes,
		VideoID: e.VideoID, StreamID: e.StreamID, MintedAt: e.At, ExpiresAt: e.ExpiresAt,
	}
}

// Check returns token_expired for an expired token. It does not check the key that minted
// the token.
func (t ClientToken) Check(now time.Time) error {
	if !now.Before(t.ExpiresAt) {
		return fault.New(fault.TokenExpired, "")
	}
	return nil
}

// MintClientToken creates a client token.
type MintClientToken struct {
	TokenID, AccountID, KeyID string
	// KeyScopes are the scopes of the minting key. nil means every scope.
	KeyScopes  []string
	SecretHash string
	Scopes     []string
	Life       time.Duration
	// VideoID and StreamID bind the token. At most one is set.
	VideoID, StreamID string
}

// DecideClientToken mints a token. Errors: resource_conflict when the token exists,
// validation_failed for invalid scopes, life or binding, insufficient_scope for a scope
// that the key lacks.
func DecideClientToken(t ClientToken, c MintClientToken, now time.Time) ([]ClientTokenMinted, error) {
	if t.ID != "" {
		return nil, fault.New(fault.ResourceConflict, "The client token already exists.")
	}
	if violations := c.violations(); len(violations) > 0 {
		return nil, fault.Invalid(violations...)
	}
	if scope := exceeding(c.KeyScopes, c.Scopes); scope != "" {
		return nil, fault.Newf(fault.InsufficientScope, "You cannot create a client token with scope %s: your API key lacks it.", scope).WithParam("scopes")
	}
	return []ClientTokenMinted{{
		TokenID: c.TokenID, AccountID: c.AccountID, KeyID: c.KeyID, SecretHash: c.SecretHash, Scopes: c.Scopes,
		VideoID: c.VideoID, StreamID: c.StreamID, ExpiresAt: now.Add(c.Life), At: now,
	}}, nil
}

func (c MintClientToken) violations() []fault.Violation {
	var found []fault.Violation
	add := func(param string, code fault.ViolationCode, message string) {
		found = append(found, fault.Violation{Param: param, Code: code, Message: message})
	}
	if len(c.Scopes) == 0 {
		add("scopes", fault.Length, "must have at least 1 item")
	}
	for i, scope := range c.Scopes {
		if !slices.Contains(tokenScopes, scope) {
			add(fmt.Sprintf("scopes.%d", i), fault.Enum, "must be one of "+strings.Join(tokenScopes, ", "))
		}
	}
	if c.Life < MinClientTokenLife || c.Life > MaxClientTokenLife {
		add("ttl_s", fault.Range, fmt.Sprintf("must be %.0f to %.0f", MinClientTokenLife.Seconds(), MaxClientTokenLife.Seconds()))
	}
	if c.VideoID != "" && c.StreamID != "" {
		add("stream_id", fault.Exclusive, "cannot be given together with video_id")
	}
	return found
}

// NewClientTokenSecret returns the secret of a client token, made from 32 bytes of entropy.
func NewClientTokenSecret(entropy io.Reader) (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return "", fmt.Errorf("read entropy for a client token: %w", err)
	}
	return clientTokenPrefix + base64.RawURLEncoding.EncodeToString(raw), nil
}

// LooksLikeClientToken reports whether s has the prefix of a client token.
func LooksLikeClientToken(s string) bool { return strings.HasPrefix(s, clientTokenPrefix) }
