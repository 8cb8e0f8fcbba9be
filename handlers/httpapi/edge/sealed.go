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

// seal encrypts a response that shows a secret once, so that it can be kept for replays although
// secrets are stored hashed only. What opens it is never stored: the credential of the request, or
// where none was shown its Idempotency-Key. Other responses stay as they are.
func (x *Exchange) seal(body []byte) ([]byte, error) {
	if !x.operation.secretResponse {
		return body, nil
	}
	box, err := x.box()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("sealing a response: %w", err)
	}
	return box.Seal(nonce, nonce, body, x.sealedFor()), nil
}

// unseal opens what seal made. Error: idempotency_key_reused for another credential than that of
// the first request.
func (x *Exchange) unseal(body []byte) ([]byte, error) {
	if !x.operation.secretResponse {
		return body, nil
	}
	box, err := x.box()
	if err != nil {
		return nil, err
	}
	if n := box.NonceSize(); len(body) >= n {
		if open, err := box.Open(nil, body[:n], body[n:], x.sealedFor()); err == nil {
			return open, nil
		}
	}
	return nil, fault.New(fault.IdempotencyKeyReused,
		"The response to the first request holds a secret, and is shown again only to the credential that sent it.")
}

func (x *Exchange) box() (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(cmp.Or(x.credential, x.idempotencyKey)), nil, "vqa: response with a secret", 32)
	if err != nil {
		return nil, fmt.Errorf("the key of a sealed response: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key of a sealed response: %w", err)
	}
	return cipher.NewGCM(block)
}

// sealedFor binds a response to the receipt that it is kept with.
func (x *Exchange) sealedFor() []byte {
	return []byte(x.Caller.IdempotencyOwner() + "\n" + x.Caller.Idempotency.Key)
}
