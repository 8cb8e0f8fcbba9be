package id

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Derived returns the id that follows from a time and the parts of a resource. The same
// input gives the same id on every machine, so a resource that several nodes create at the
// same time exists once. Anyone who knows the parts can compute the id.
func Derived(prefix Prefix, at time.Time, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	var u ulid.ULID
	// SetTime fails only for a time more than 8000 years ahead.
	_ = u.SetTime(ulid.Timestamp(at))
	copy(u[6:], sum[:])
	return string(prefix) + "_" + u.String()
}
