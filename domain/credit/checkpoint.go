package credit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"
)

// Checkpoint is a signed statement about an account's ledger at one moment. It contains the
// head of the hash chain, so it covers every event up to Version. It contains the digest of
// the previous checkpoint, so none can be removed unnoticed. Releases before the transparency
// log signed them. Today the service only verifies them.
type Checkpoint struct {
	AccountID string `json:"account_id"`
	// Number counts the checkpoints of the account from 1.
	Number int64 `json:"number"`
	// Version is the version of the account's credit stream. Chain is the hash chain at
	// that version, in hexadecimal.
	Version          int64  `json:"version"`
	Chain            string `json:"chain"`
	PostedSeconds    int64  `json:"posted_seconds"`
	HeldSeconds      int64  `json:"held_seconds"`
	AvailableSeconds int64  `json:"available_seconds"`
	Totals           Totals `json:"totals"`
	// Previous is the Digest of the previous checkpoint. It is empty for the first.
	Previous string    `json:"previous"`
	At       time.Time `json:"at"`
	// KeyID names the key that signed it.
	KeyID string `json:"key_id"`
}

// checkpointFormat is the first field of the signed bytes. It keeps the signature from
// being valid for other data, and it allows the format to change.
const checkpointFormat = "vqa-checkpoint-1"

// SignedBytes returns the canonical form: the name of the format, then each field in the
// order of the type. Each is written as "<length in bytes>:<bytes>", without separators.
// Numbers are in decimal, and the time is in UTC as in the JSON form.
func (c Checkpoint) SignedBytes() []byte {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	var out []byte
	for _, field := range []string{
		checkpointFormat, c.AccountID, number(c.Number), number(c.Version), c.Chain,
		number(c.PostedSeconds), number(c.HeldSeconds), number(c.AvailableSeconds),
		number(c.Totals.Grants), number(c.Totals.CardGrants), number(c.Totals.Sales), number(c.Totals.Adjustments),
		number(c.Totals.AnalysisUsage), number(c.Totals.StreamUsage),
		c.Previous, c.At.UTC().Format(time.RFC3339Nano), c.KeyID,
	} {
		out = strconv.AppendInt(out, int64(len(field)), 10)
		out = append(append(out, ':'), field...)
	}
	return out
}

// Digest returns the SHA-256 of the signed bytes in hexadecimal.
func (c Checkpoint) Digest() string {
	sum := sha256.Sum256(c.SignedBytes())
	return hex.EncodeToString(sum[:])
}

// Sealed says that a checkpoint was signed.
type Sealed struct {
	Checkpoint Checkpoint `json:"checkpoint"`
	// Signature is the ed25519 signature of the signed bytes, in base64.
	Signature string `json:"signature"`
}

// EventType returns the stored name.
func (Sealed) EventType() string { return "checkpoint.sealed" }

// Verify reports whether the owner of a key signed exactly this checkpoint.
func (s Sealed) Verify(key ed25519.PublicKey) bool {
	signature, err := base64.StdEncoding.DecodeString(s.Signature)
	return err == nil && len(key) == ed25519.PublicKeySize && s.Checkpoint.KeyID == LedgerKeyID(key) &&
		ed25519.Verify(key, s.Checkpoint.SignedBytes(), signature)
}

// CheckpointState is the newest checkpoint of an account. Its Number is 0 before the first.
type CheckpointState struct {
	Last Sealed `json:"last"`
}

// EvolveCheckpoint folds a checkpoint.
func EvolveCheckpoint(_ CheckpointState, e Sealed) CheckpointState { return CheckpointState{Last: e} }
