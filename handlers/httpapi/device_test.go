package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/projections/resources"
)

// requestedKey is a request for a key with the values that the program gets.
type requestedKey struct {
	w          *world
	deviceCode string
	// userCode is the code in claim_url.
	userCode string
}

// requestKey requests a key without a credential.
func (w *world) requestKey() requestedKey {
	w.t.Helper()
	return w.requestedKey(w.do(http.MethodPost, "/v1/keys/request", ""))
}

// requestedKey reads the response to a request.
func (w *world) requestedKey(got response) requestedKey {
	w.t.Helper()
	require.Equal(w.t, http.StatusAccepted, got.StatusCode, string(got.raw))
	claimURL, err := url.Parse(got.at("claim_url").(string))
	require.NoError(w.t, err)
	return requestedKey{w, got.at("device_code").(string), claimURL.Query().Get("code")}
}

func (k requestedKey) poll() response {
	k.w.t.Helper()
	return k.w.do(http.MethodGet, "/v1/keys/request/"+k.deviceCode, "")
}

// decide sends the decision of a person without the page.
func (k requestedKey) decide(c *client, approve bool) {
	k.w.t.Helper()
	decide := k.w.service.DenyDeviceCode
	if approve {
		decide = k.w.service.ApproveDeviceCode
	}
	person := command.Caller{AccountID: c.key.AccountID, KeyID: c.key.KeyID, Livemode: true, RequestID: "req_1"}
	require.NoError(k.w.t, decide(k.w.t.Context(), person, account.HashSecret(k.deviceCode)))
}

func TestClaimOfAKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := w.do(http.MethodPost, "/v1/keys/request", "")
	require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
	require.Equal(t, "device_code_request", got.at("object"))
	require.EqualValues(t, 5, got.at("poll_interval"))
	require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	expires, err := time.Parse(time.RFC3339, got.at("expires_at").(string))
	require.NoError(t, err)
	require.WithinDuration(t, w.now().Add(15*time.Minute), expires, 10*time.Second)
	require.True(t, strings.HasPrefix(got.at("claim_url").(string), w.url+"/claim?code="), got.at("claim_url"))
	claim := w.requestedKey(got)
	require.Regexp(t, `^[A-Za-z0-9_-]{43}$`, claim.deviceCode)
	require.Regexp(t, `^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$`, claim.userCode)

	pending := claim.poll()
	require.Equal(t, http.StatusOK, pending.StatusCode, "the first poll needs no wait")
	require.Equal(t, map[string]any{"object": "device_code_request", "status": "pending"}, pending.json)
	early := claim.poll()
	w.refused(early, http.StatusTooManyRequests, fault.RateLimitExceeded, "")
	require.Contains(t, []string{"4", "5"}, early.Header.Get("Retry-After"))

	approver := w.customer(0)
	claim.decide(approver, true)
	w.advance(account.DevicePollEvery)
	require.Equal(t, http.StatusOK, w.do(http.MethodHead, "/v1/keys/request/"+claim.deviceCode, "").StatusCode)
	w.advance(account.DevicePollEvery)
	consumed := claim.poll()
	require.Equal(t, http.StatusOK, consumed.StatusCode, "a HEAD consumed the key")
	require.Equal(t, "consumed", consumed.at("status"))
	require.Equal(t, "no-store", consumed.Header.Get("Cache-Control"))
	key := consumed.at("api_key").(string)
	require.Regexp(t, `^svc_live_`, key)
	require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/v1/credits", "", "Authorization", "Bearer "+key).StatusCode)
	w.refused(claim.poll(), http.StatusGone, fault.DeviceCodeExpired, "")
	stored, found, err := resources.NewReader(w.pool).Key(t.Context(), account.HashSecret(key))
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, approver.key.AccountID, stored.AccountID)
	require.Equal(t, account.Paid, stored.Tier)

	w.do(http.MethodDelete, "/v1/keys/request/"+claim.deviceCode, "")
	w.do(http.MethodGet, "/v1/keys/request/"+claim.deviceCode+"/", "")
	for _, secret := range []string{claim.deviceCode, claim.userCode, key} {
		require.NotContains(t, w.logged.String(), secret, "the access log contains no secret")
	}
	require.Contains(t, w.logged.String(), "path=/v1/keys/request/{code}")
}

func TestPollsOfADeadCode(t *testing.T) {
	t.Parallel()
	w := open(t)
	person := w.customer(0)
	for _, unknown := range []string{"no-such-code", strings.Repeat("A", 43)} {
		w.refused(requestedKey{w, unknown, ""}.poll(), http.StatusNotFound, fault.ResourceNotFound, "")
	}
	denied := w.requestKey()
	denied.decide(person, false)
	w.refused(denied.poll(), http.StatusGone, fault.DeviceCodeExpired, "")

	pending, approved := w.requestKey(), w.requestKey()
	approved.decide(person, true)
	w.advance(account.DeviceCodeLife)
	w.refused(pending.poll(), http.StatusGone, fault.DeviceCodeExpired, "")
	w.refused(approved.poll(), http.StatusGone, fault.DeviceCodeExpired, "")
}

func TestRequestsForAKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	require.Equal(t, http.StatusAccepted, w.tester().do(http.MethodPost, "/v1/keys/request", "").StatusCode)
	w.refused(w.do(http.MethodPost, "/v1/keys/request", "", "Authorization", "Bearer svc_live_unknown"),
		http.StatusUnauthorized, fault.InvalidAPIKey, "")
	for range account.MaxOpenClaims - 1 {
		w.requestKey()
	}
	refused := w.do(http.MethodPost, "/v1/keys/request", "")
	w.refused(refused, http.StatusTooManyRequests, fault.RateLimitExceeded, "")
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
}
