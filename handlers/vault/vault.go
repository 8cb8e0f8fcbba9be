package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"vqa/domain/webhook"
)

// Vault encrypts with AES-256 in GCM. It is safe for concurrent use.
type Vault struct {
	newest  string
	ciphers map[string]cipher.AEAD
}

// UnknownKeyError says that a secret was encrypted with a key that the vault does not have.
type UnknownKeyError struct{ KeyID string }

// Error implements error.
func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("no key %s: it encrypted this secret; restore it as secret.key.old, or rotate the secret", e.KeyID)
}

// New returns a vault that encrypts with the newest key and also decrypts with the older
// ones. Each key has 32 bytes.
func New(newest []byte, older ...[]byte) (*Vault, error) {
	v := &Vault{newest: keyID(newest), ciphers: map[string]cipher.AEAD{}}
	for _, key := range append([][]byte{newest}, older...) {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("a key of the vault: %w", err)
		}
		if v.ciphers[keyID(key)], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("a key of the vault: %w", err)
		}
	}
	return v, nil
}

// keyID returns the name of a key: the first 8 bytes of its SHA-256, which do not reveal it.
func keyID(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// Seal encrypts the secret of a webhook endpoint.
func (v *Vault) Seal(secret []byte, endpointID string) webhook.Secret {
	sealed := v.ciphers[v.newest].Seal(nil, nil, secret, []byte(endpointID))
	return webhook.Secret{Sealed: base64.StdEncoding.EncodeToString(sealed), SealKeyID: v.newest}
}

// Open decrypts the secret of a webhook endpoint. Errors: *UnknownKeyError; the secret was
// altered, or belongs to another endpoint.
func (v *Vault) Open(secret webhook.Secret, endpointID string) ([]byte, error) {
	aead, known := v.ciphers[secret.SealKeyID]
	if !known {
		return nil, &UnknownKeyError{secret.SealKeyID}
	}
	sealed, err := base64.StdEncoding.DecodeString(secret.Sealed)
	if err != nil {
		return nil, fmt.Errorf("decrypt the secret of %s: %w", endpointID, err)
	}
	plain, err := aead.Open(nil, nil, sealed, []byte(endpointID))
	if err != nil {
		return nil, fmt.Errorf("decrypt the secret of %s: %w", endpointID, err)
	}
	return plain, nil
}
