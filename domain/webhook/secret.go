package webhook

import (
	"encoding/base64"
	"fmt"
	"io"
)

// secretPrefix starts the secret of an endpoint (docs/contract.md#names).
const secretPrefix = "whsec_"

// secretBytes is the length of a secret. Standard Webhooks allows 24 to 64 bytes.
const secretBytes = 32

// NewSecret returns a secret made from 32 bytes of entropy.
func NewSecret(entropy io.Reader) ([]byte, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(entropy, raw); err != nil {
		return nil, fmt.Errorf("read entropy for a webhook secret: %w", err)
	}
	return raw, nil
}

// FormatSecret returns a secret as its owner sees it: a prefix and padded base64 in the
// standard alphabet. Libraries of Standard Webhooks refuse other forms of base64.
func FormatSecret(raw []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(raw) }
