package account

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"vqa/domain/fault"
	"vqa/domain/id"
)

// SignUp opens the account of a person at the first sign-in. Later sign-ins change nothing.
type SignUp struct {
	// AccountID is derived from the person. See OwnedID.
	AccountID string
	// Owner is the person, as OwnerHash returns it.
	Owner string
}

func (SignUp) isCommand() {}

// SignedUp says that an account belongs to a person who signs in.
type SignedUp struct {
	AccountID string `json:"account_id"`
	// Owner is the SHA-256 of issuer and subject in lower-case hexadecimal.
	Owner string    `json:"owner"`
	At    time.Time `json:"at"`
}

// EventType returns the stored name.
func (SignedUp) EventType() string { return "account.signed_up" }

func (SignedUp) isEvent() {}

// decideSignUp opens the account. It returns resource_conflict for an account that belongs
// to another person or has no owner.
func decideSignUp(s State, c SignUp, now time.Time) ([]Event, error) {
	switch {
	case !s.Exists():
		return []Event{
			Opened{AccountID: c.AccountID, Tier: Paid, At: now}, SignedUp{AccountID: c.AccountID, Owner: c.Owner, At: now},
		}, nil
	case s.Owner == c.Owner:
		return nil, nil
	default:
		return nil, fault.New(fault.ResourceConflict, "This account belongs to another person. Sign in as its owner.")
	}
}

// ownerDigest identifies a subject of an issuer. The length of the issuer comes first, so
// that no two pairs have the same input.
func ownerDigest(issuer, subject string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strconv.Itoa(len(issuer)) + ":" + issuer + subject))
}

// OwnerHash returns the hash by which an account stores its owner, in lower-case
// hexadecimal. The subject itself may be a name or an address and is not stored.
func OwnerHash(issuer, subject string) string {
	digest := ownerDigest(issuer, subject)
	return hex.EncodeToString(digest[:])
}

// OwnedID returns the id of the one account of a subject. It depends on the subject alone,
// so that two concurrent first sign-ins cannot open two accounts.
func OwnedID(issuer, subject string) string {
	digest := ownerDigest(issuer, subject)
	return string(id.Account) + "_" + ulid.ULID(digest[:16]).String()
}
