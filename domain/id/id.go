package id

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefix is the kind of a resource, which its id starts with.
type Prefix string

// The prefixes of the contract and of this project (docs/contract.md#ids).
const (
	Account     Prefix = "acct"
	Analysis    Prefix = "an"
	Batch       Prefix = "batch"
	AgentClient Prefix = "client"
	ClientToken Prefix = "ct"
	Event       Prefix = "evt"
	Grant       Prefix = "grant"
	Incident    Prefix = "inc"
	Key         Prefix = "key"
	Passkey     Prefix = "passkey"
	Request     Prefix = "req"
	Session     Prefix = "sess"
	Stream      Prefix = "st"
	Transaction Prefix = "txn"
	Video       Prefix = "video"
	Webhook     Prefix = "we"
	Delivery    Prefix = "whd"
)

// Valid reports whether s is a well-formed id of the given kind. It does not check whether
// the resource exists.
func Valid(prefix Prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, string(prefix)+"_")
	if !ok || len(rest) != ulid.EncodedSize {
		return false
	}
	for _, c := range []byte(rest) {
		if !strings.ContainsRune(ulid.Encoding, rune(c)) {
			return false
		}
	}
	return true
}

// Source creates ids. Ids that one source creates within one millisecond ascend, so a list
// ordered by id keeps the order of creation. It is safe for concurrent use.
type Source struct {
	now func() time.Time

	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
}

// NewSource returns a source that reads time from now and randomness from entropy.
func NewSource(now func() time.Time, entropy io.Reader) *Source {
	return &Source{now: now, entropy: ulid.Monotonic(entropy, 0)}
}

// New returns a new id of the given kind. It panics only when the entropy reader fails,
// because the program cannot continue without entropy.
func (s *Source) New(prefix Prefix) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := ulid.MustNew(ulid.Timestamp(s.now()), s.entropy)
	return string(prefix) + "_" + u.String()
}

// Time returns the time of an id, in milliseconds. ok is false for text that is not an id.
func Time(s string) (at time.Time, ok bool) {
	_, text, found := strings.Cut(s, "_")
	u, err := ulid.ParseStrict(text)
	return u.Timestamp(), found && err == nil
}
