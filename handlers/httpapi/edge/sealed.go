package edge

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"vqa/domain/fault"
)

// seal encrypts a response that contains a secret, so that it can be stored for replays.
// Secrets are otherwise stored only as hashes. The encryption key is derived from the
// credential of the request, or from its Idempotency-Key if there is no credential. Neither
// is stored. Other responses are returned unchanged.
func (x *Exchange) seal(body []byte) ([]byte, error) {
	if !x.operation.secretResponse {
		return body, nil
	}
	aead, err := x.responseCipher()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("encrypting a response: %w", err)
	}
	return aead.Seal(nonce, nonce, body, x.boundTo()), nil
}

// unseal decrypts a response that seal encrypted. Error: idempotency_key_reused if the
// credential is not that of the first request.
func (x *Exchange) unseal(body []byte) ([]byte, error) {
	if !x.operation.secretResponse {
		return body, nil
	}
	aead, err := x.responseCipher()
	if err != nil {
		return nil, err
	}
	if n := aead.NonceSize(); len(body) >= n {
		if plain, err := aead.Open(nil, body[:n], body[n:], x.boundTo()); err == nil {
			return plain, nil
		}
	}
	return nil, fault.New(fault.IdempotencyKeyReused,
		"The response to the first request contains a secret. Repeat the request with the credential of the first request.")
}

func (x *Exchange) responseCipher() (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(cmp.Or(x.credential, x.idempotencyKey)), nil, "vqa: response with a secret", 32)
	if err != nil {
		return nil, fmt.Errorf("deriving the key of a stored response: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("deriving the key of a stored response: %w", err)
	}
	return cipher.NewGCM(block)
}

// boundTo is the additional data of the encryption: it binds a response to the owner and
// the key of its receipt.
func (x *Exchange) boundTo() []byte {
	return []byte(x.Caller.IdempotencyOwner() + "\n" + x.Caller.Idempotency.Key)
}
