package account

import (
	"crypto/sha256"
	"encoding/hex"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/oklog/ulid/v2"

	"vqa/domain/fault"
	"vqa/domain/id"
)

// SignUp opens the account of a person at the first sign-in. A later one changes only the email address.
type SignUp struct {
	// AccountID is derived from the person. See OwnedID.
	AccountID string
	// Owner is the person, as OwnerHash returns it.
	Owner string
	// Email is an address that the issuer has verified, or empty.
	Email string
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

// EmailClaims are what an issuer states about the email address of a person (OpenID Connect Core, section 5.1). Neither
// is required, and some issuers state "true" as text, so a strange value must not stop a sign-in.
type EmailClaims struct {
	Email         any `json:"email"`
	EmailVerified any `json:"email_verified"`
}

// Verified returns the address if the issuer has verified it and it is plain ASCII, without a name. Otherwise it
// returns an empty string.
func (c EmailClaims) Verified() string {
	email, _ := c.Email.(string)
	if c.EmailVerified != true && c.EmailVerified != "true" || len(email) > maxEmail {
		return ""
	}
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || strings.ContainsFunc(email, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	return email
}

// maxEmail is the longest email address in bytes (RFC 5321, section 4.5.3.1.3, without the angle brackets).
const maxEmail = 254

// EmailStated says that a person signed in whose issuer has verified this email address.
type EmailStated struct {
	AccountID string    `json:"account_id"`
	Email     string    `json:"email"`
	At        time.Time `json:"at"`
}

// EventType returns the stored name.
func (EmailStated) EventType() string { return "account.email_stated" }

func (EmailStated) isEvent() {}

// decideSignUp opens the account. It returns resource_conflict for an account that belongs
// to another person or has no owner.
func decideSignUp(s State, c SignUp, now time.Time) ([]Event, error) {
	var events []Event
	switch {
	case !s.Exists():
		events = []Event{
			Opened{AccountID: c.AccountID, Tier: Paid, At: now}, SignedUp{AccountID: c.AccountID, Owner: c.Owner, At: now},
		}
	case s.Owner != c.Owner:
		return nil, fault.New(fault.ResourceConflict, "This account belongs to another person. Sign in as its owner.")
	}
	if c.Email != "" && c.Email != s.Email {
		events = append(events, EmailStated{AccountID: c.AccountID, Email: c.Email, At: now})
	}
	return events, nil
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
