package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

const (
	anID    = "an_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"
	videoID = "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"
)

// closedToBrowsers are the operations that no page of another origin may call or read. They
// need a credential that must not be in a browser, or they are pages.
var closedToBrowsers = map[string]bool{
	"getRobots": true, "getDocs": true, "getErrorDocs": true, "getQuestionDocs": true,
	"getChangelogDocs": true, "getQuickstart": true, "getDocsAsset": true, "getLivePage": true, "getLiveAsset": true, "getHealth": true, "getReadiness": true, "getMetrics": true,
	"getUsage": true, "getCredits": true, "getCreditProof": true, "createSandbox": true, "upgradeKey": true, "requestDeviceCode": true, "getDeviceCode": true,
	"getClaimPage": true, "decideClaim": true, "listApiKeys": true, "createApiKey": true, "getApiKey": true, "revokeApiKey": true,
	"rotateApiKey": true, "createClientToken": true, "parsePrompt": true,
	"listWebhookEndpoints": true, "createWebhookEndpoint": true, "getWebhookEndpoint": true, "updateWebhookEndpoint": true,
	"deleteWebhookEndpoint": true, "enableWebhookEndpoint": true, "disableWebhookEndpoint": true, "rotateWebhookSecret": true,
	"listWebhookDeliveries": true, "getWebhookDelivery": true, "listWebhookAttempts": true, "redeliverWebhookDelivery": true,
	"redeliverWebhookDeliveries": true, "testWebhookEndpoint": true,
	"listEvents": true, "getEvent": true, "streamEvents": true,
}

// TestOpenCORS sends the requests of a browser to every operation of the contract. Preflight
// requests pass and responses can be read only for operations that accept client tokens and for
// public reads of the API.
func TestOpenCORS(t *testing.T) {
	t.Parallel()
	w := open(t)
	closed := map[string]bool{}
	for _, op := range operations(t) {
		path := strings.NewReplacer("{id}", videoID, "{delivery_id}", videoID, "{code}", "x", "{file}", "x").Replace(op.path)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, w.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Access-Control-Request-Method", op.method)
		r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		got, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		origin, allowed := got.Header.Get("Access-Control-Allow-Origin"), got.Header.Get("Access-Control-Allow-Methods")
		require.Empty(t, got.Header.Get("Access-Control-Allow-Credentials"), op.id)
		if !strings.Contains(allowed, op.method) {
			closed[op.id] = true
			actual := w.do(op.method, path, "", "Origin", "https://app.example")
			require.Empty(t, actual.Header.Get("Access-Control-Allow-Origin"), "%s: a page that may not call it may not read it", op.id)
			continue
		}
		require.Equal(t, http.StatusNoContent, got.StatusCode, op.id)
		require.Equal(t, "*", origin, op.id)
		require.Equal(t, "600", got.Header.Get("Access-Control-Max-Age"))
		for _, name := range []string{"Authorization", "Content-Type", "Idempotency-Key", "Prefer", "If-Match", "If-None-Match", "Last-Event-ID"} {
			require.Contains(t, got.Header.Get("Access-Control-Allow-Headers"), name)
		}
	}
	require.Empty(t, cmp.Diff(closedToBrowsers, closed))
}

// TestCORSOfResponses: pages can also read errors, so that they can show the reason.
func TestCORSOfResponses(t *testing.T) {
	t.Parallel()
	w := open(t)
	token := w.customer(0).token(`{"scopes": ["analyses:read"]}`)
	tests := map[string]struct {
		got    response
		status int
	}{
		"a list":         {w.as(token, http.MethodGet, "/v1/analyses", "", "Origin", "https://app.example"), 200},
		"not found":      {w.as(token, http.MethodGet, "/v1/analyses/"+anID, ""), 404},
		"no scope":       {w.as(token, http.MethodGet, "/v1/videos", ""), 403},
		"no credential":  {w.do(http.MethodGet, "/v1/analyses", ""), 401},
		"a public read":  {w.do(http.MethodGet, "/v1/models", ""), 200},
		"a bad question": {w.as(token, http.MethodPost, "/v1/analyses", `{}`), 403},
	}
	for name, tt := range tests {
		require.Equal(t, tt.status, tt.got.StatusCode, "%s: %s", name, tt.got.raw)
		require.Equal(t, "*", tt.got.Header.Get("Access-Control-Allow-Origin"), name)
		for _, exposed := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "ETag", "Location", "Idempotency-Replayed", "Deprecation", "Sunset", "Link"} {
			require.Contains(t, tt.got.Header.Get("Access-Control-Expose-Headers"), exposed, name)
		}
	}
	w.refused(w.do(http.MethodOptions, "/v1/api-keys", ""), http.StatusMethodNotAllowed, fault.ValidationFailed, "")
	w.refused(w.do(http.MethodOptions, "/v1/nothing", ""), http.StatusNotFound, fault.ResourceNotFound, "")
}
