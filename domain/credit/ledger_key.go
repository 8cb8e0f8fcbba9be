package credit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"vqa/domain/fault"
)

// LedgerKeysID is the id of the only stream of ledger keys.
const LedgerKeysID = "platform"

// ledgerKeyIDBytes is the number of bytes of the public key's digest that form its id.
const ledgerKeyIDBytes = 8

// LedgerKeyID returns the id of a public key.
func LedgerKeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "lk_" + hex.EncodeToString(sum[:ledgerKeyIDBytes])
}

// LedgerKeyAdded says that a key may sign checkpoints.
type LedgerKeyAdded struct {
	KeyID string `json:"key_id"`
	// PublicKey is the ed25519 key in base64.
	PublicKey string    `json:"public_key"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (LedgerKeyAdded) EventType() string { return "ledger.key_added" }

// AddLedgerKey publishes a public key.
type AddLedgerKey struct{ Key ed25519.PublicKey }

// LedgerKeys are all keys that have signed checkpoints, oldest first. The value is never
// changed in place.
type LedgerKeys struct {
	Keys []LedgerKeyAdded `json:"keys,omitempty"`
}

// DecideLedgerKey returns no event for a known key. Error: validation_failed when the key
// is not an ed25519 key.
func DecideLedgerKey(s LedgerKeys, c AddLedgerKey, now time.Time) ([]LedgerKeyAdded, error) {
	if len(c.Key) != ed25519.PublicKeySize {
		return nil, fault.Invalid(fault.Violation{Param: "public_key", Code: fault.Length, Message: "must be an ed25519 public key of 32 bytes"})
	}
	if _, known := s.Find(LedgerKeyID(c.Key)); known {
		return nil, nil
	}
	return []LedgerKeyAdded{{
		KeyID: LedgerKeyID(c.Key), PublicKey: base64.StdEncoding.EncodeToString(c.Key), At: now,
	}}, nil
}

// EvolveLedgerKeys folds a key.
func EvolveLedgerKeys(s LedgerKeys, e LedgerKeyAdded) LedgerKeys {
	return LedgerKeys{Keys: append(s.Keys[:len(s.Keys):len(s.Keys)], e)}
}

// Find returns the public key with an id. It returns false when the key is unknown or its
// real id differs.
func (s LedgerKeys) Find(keyID string) (ed25519.PublicKey, bool) {
	for _, k := range s.Keys {
		key, err := base64.StdEncoding.DecodeString(k.PublicKey)
		if k.KeyID == keyID && err == nil && LedgerKeyID(key) == keyID {
			return key, true
		}
	}
	return nil, false
}
