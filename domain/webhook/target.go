package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"time"

	"vqa/domain/id"
)

// overridePrefix starts the target of a per-request override.
const overridePrefix = "ov_"

// DeliveryID returns the id of the delivery of an event to a target. at is the time of the
// event. The same input always gives the same id, so a log message that is read twice gives
// one delivery.
func DeliveryID(at time.Time, eventID, target string) string {
	return id.Derived(id.Delivery, at, eventID, target)
}

// OverrideTarget returns the target of an override: a hash of the account and the origin of
// the URL. All overrides of an account to one host are one target and take turns together.
func OverrideTarget(accountID string, to *url.URL) string {
	port := to.Port()
	if port == "" {
		port = "443"
	}
	origin := strings.ToLower(to.Scheme) + "://" + strings.ToLower(to.Hostname()) + ":" + port
	sum := sha256.Sum256([]byte(accountID + "\x00" + origin))
	return overridePrefix + hex.EncodeToString(sum[:16])
}

// IsOverride reports whether a target is an override.
func IsOverride(target string) bool { return strings.HasPrefix(target, overridePrefix) }
