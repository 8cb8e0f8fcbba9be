package webhook

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// newHeader returns the headers of one attempt, signed with each secret. Without secrets the request
// is not signed.
func newHeader(eventID string, at time.Time, body []byte, secrets [][]byte) (http.Header, error) {
	header := http.Header{
		"Content-Type": {"application/json"},
		"User-Agent":   {"vqa/1 (webhooks)"},
	}
	header.Set(standardwebhooks.HeaderWebhookID, eventID)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signer, err := standardwebhooks.NewWebhookRaw(secret)
		if err == nil {
			signatures[i], err = signer.Sign(eventID, at, body)
		}
		if err != nil {
			return nil, fmt.Errorf("sign event %s: %w", eventID, err)
		}
	}
	if len(signatures) > 0 {
		header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	}
	return header, nil
}

// retryAfter returns the pause that a Retry-After header asks for, or 0. The header has seconds or a
// date.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
