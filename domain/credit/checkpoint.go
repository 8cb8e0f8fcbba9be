package credit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"

	"vqa/domain/fault"
)

// Checkpoint is a statement of the platform about an account's ledger at one moment. It
// names the head of the hash chain, so it vouches for every event up to Version; and the
// checkpoint before it, so none can be taken out of the row.
type Checkpoint struct {
	AccountID string `json:"account_id"`
	// Number counts the checkpoints of the account from 1.
	Number int64 `json:"number"`
	// Version is that of the account's credit stream, Chain its hash chain there in
	// hexadecimal.
	Version          int64  `json:"version"`
	Chain            string `json:"chain"`
	PostedSeconds    int64  `json:"posted_seconds"`
	HeldSeconds      int64  `json:"held_seconds"`
	AvailableSeconds int64  `json:"available_seconds"`
	Totals           Totals `json:"totals"`
	// Previous is the Digest of the checkpoint before, empty for the first.
	Previous string    `json:"previous"`
	At       time.Time `json:"at"`
	// KeyID names the key that signed it.
	KeyID string `json:"key_id"`
}

// checkpointFormat is the first field of what is signed, so that the bytes mean nothing
// else and the form can change.
const checkpointFormat = "vqa-checkpoint-1"

// SignedBytes is the canonical form: the name of the format and then each field in the
// order of the type, as "<length in bytes>:<bytes>" one after the other, numbers in
// decimal, the time in UTC as it stands in the JSON form.
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

// Digest is the SHA-256 of the signed bytes in hexadecimal.
func (c Checkpoint) Digest() string {
	sum := sha256.Sum256(c.SignedBytes())
	return hex.EncodeToString(sum[:])
}

// Sealed says that a checkpoint was signed.
type Sealed struct {
	Checkpoint Checkpoint `json:"checkpoint"`
	// Signature is that of the signed bytes by ed25519, in base64.
	Signature string `json:"signature"`
}

// EventType returns the stored name.
func (Sealed) EventType() string { return "checkpoint.sealed" }

// Verify reports whether the holder of a key signed exactly this checkpoint.
func (s Sealed) Verify(key ed25519.PublicKey) bool {
	signature, err := base64.StdEncoding.DecodeString(s.Signature)
	return err == nil && len(key) == ed25519.PublicKeySize && s.Checkpoint.KeyID == LedgerKeyID(key) &&
		ed25519.Verify(key, s.Checkpoint.SignedBytes(), signature)
}

// Seal states what the ledger of an account holds now.
type Seal struct {
	// Balance is the account's ledger at Version, where its hash chain is Chain.
	Balance State
	Version int64
	Chain   [sha256.Size]byte
	// Key signs. ed25519 needs no randomness, so the decision is a function of its input.
	Key ed25519.PrivateKey
}

// CheckpointState is the newest checkpoint of an account; its Number is 0 before the
// first.
type CheckpointState struct {
	Last Sealed `json:"last"`
}

// DecideSeal returns the next checkpoint, or no event when the ledger did not move since
// the last one. Error: resource_conflict when the ledger is older than its checkpoint,
// which means that history was lost.
func DecideSeal(s CheckpointState, c Seal, now time.Time) ([]Sealed, error) {
	last := s.Last.Checkpoint
	switch {
	case c.Version < last.Version:
		return nil, fault.Newf(fault.ResourceConflict, "The ledger of %s is at version %d, its checkpoint at %d.",
			c.Balance.AccountID, c.Version, last.Version)
	case c.Version == last.Version:
		return nil, nil
	}
	next := Checkpoint{
		AccountID: c.Balance.AccountID, Number: last.Number + 1, Version: c.Version, Chain: hex.EncodeToString(c.Chain[:]),
		PostedSeconds: c.Balance.PostedSeconds, HeldSeconds: c.Balance.HeldSeconds, AvailableSeconds: c.Balance.AvailableSeconds(),
		Totals: c.Balance.Totals, At: now, KeyID: LedgerKeyID(c.Key.Public().(ed25519.PublicKey)),
	}
	if last.Number > 0 {
		next.Previous = last.Digest()
	}
	return []Sealed{{
		Checkpoint: next, Signature: base64.StdEncoding.EncodeToString(ed25519.Sign(c.Key, next.SignedBytes())),
	}}, nil
}

// EvolveCheckpoint folds a checkpoint.
func EvolveCheckpoint(_ CheckpointState, e Sealed) CheckpointState { return CheckpointState{Last: e} }
