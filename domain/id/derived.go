package id

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Derived returns the id that follows from a time and from what a resource is made of:
// the same of the same, on every machine. It is for what must be made once, whoever
// makes it; it is as easy to guess as its parts.
func Derived(prefix Prefix, at time.Time, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	var u ulid.ULID
	// A time within the next 8000 years fits.
	_ = u.SetTime(ulid.Timestamp(at))
	copy(u[6:], sum[:])
	return string(prefix) + "_" + u.String()
}
