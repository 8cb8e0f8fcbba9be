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

// SignUp opens the account of a person at the first sign-in, and changes nothing at a
// later one.
type SignUp struct {
	// AccountID follows from the person; see OwnedID.
	AccountID string
	// Owner is the person, by OwnerHash.
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

// decideSignUp refuses, with resource_conflict, an account that belongs to another or
// to nobody.
func decideSignUp(s State, c SignUp, now time.Time) ([]Event, error) {
	switch {
	case !s.Exists():
		return []Event{
			Opened{AccountID: c.AccountID, Tier: Paid, At: now}, SignedUp{AccountID: c.AccountID, Owner: c.Owner, At: now},
		}, nil
	case s.Owner == c.Owner:
		return nil, nil
	default:
		return nil, fault.New(fault.ResourceConflict, "The account belongs to another.")
	}
}

// ownerDigest names a subject of an issuer. The length of the issuer comes first, so
// that no two pairs are written alike.
func ownerDigest(issuer, subject string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strconv.Itoa(len(issuer)) + ":" + issuer + subject))
}

// OwnerHash is how an account remembers whose it is, in lower-case hexadecimal: the
// subject itself may be a person's name or address, and is stored nowhere.
func OwnerHash(issuer, subject string) string {
	digest := ownerDigest(issuer, subject)
	return hex.EncodeToString(digest[:])
}

// OwnedID is the id of the one account of a subject. It follows from the subject alone,
// so that two first sign-ins at once cannot open two accounts.
func OwnedID(issuer, subject string) string {
	digest := ownerDigest(issuer, subject)
	return string(id.Account) + "_" + ulid.ULID(digest[:16]).String()
}
