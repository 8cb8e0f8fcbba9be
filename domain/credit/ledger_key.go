package credit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"vqa/domain/fault"
)

// LedgerKeysID is the id of the one stream of keys.
const LedgerKeysID = "platform"

// ledgerKeyIDBytes is how much of the digest of a public key names it.
const ledgerKeyIDBytes = 8

// LedgerKeyID names a public key.
func LedgerKeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "lk_" + hex.EncodeToString(sum[:ledgerKeyIDBytes])
}

// LedgerKeyAdded says that checkpoints may be signed with a key.
type LedgerKeyAdded struct {
	KeyID string `json:"key_id"`
	// PublicKey is the ed25519 key in base64.
	PublicKey string    `json:"public_key"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (LedgerKeyAdded) EventType() string { return "ledger.key_added" }

// AddLedgerKey makes a public key known.
type AddLedgerKey struct{ Key ed25519.PublicKey }

// LedgerKeys are the keys that ever signed, in the order in which they were added. It is
// never changed in place.
type LedgerKeys struct {
	Keys []LedgerKeyAdded `json:"keys,omitempty"`
}

// DecideLedgerKey returns no event for a key that is known already. Error:
// validation_failed for what is not an ed25519 key.
func DecideLedgerKey(s LedgerKeys, c AddLedgerKey, now time.Time) ([]LedgerKeyAdded, error) {
	if len(c.Key) != ed25519.PublicKeySize {
		return nil, fault.Invalid(fault.Violation{Param: "public_key", Code: fault.Length, Message: "is not an ed25519 key"})
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

// Find returns the public key of an id, if it is known and really has that id.
func (s LedgerKeys) Find(keyID string) (ed25519.PublicKey, bool) {
	for _, k := range s.Keys {
		key, err := base64.StdEncoding.DecodeString(k.PublicKey)
		if k.KeyID == keyID && err == nil && LedgerKeyID(key) == keyID {
			return key, true
		}
	}
	return nil, false
}
