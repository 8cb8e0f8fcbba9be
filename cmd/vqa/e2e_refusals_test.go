package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWebhookEndpointOfTheService creates an endpoint, and finds it with the tools by its id.
func TestWebhookEndpointOfTheService(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	c := s.account(t, 0)
	const path = "/v1/webhook_endpoints"
	refused := c.call(t, http.MethodPost, path, `{"url": "https://127.0.0.1/", "events": ["video.ready"]}`)
	require.Equal(t, "url_forbidden", refused.code(), "%s", refused.raw)
	made := c.call(t, http.MethodPost, path, `{"url": "https://example.com/hook", "events": ["video.ready"]}`)
	require.Equal(t, http.StatusCreated, made.status, "%s", made.raw)
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=$`, made.text("secret"))
	rotated := c.call(t, http.MethodPost, path+"/"+made.text("id")+"/rotate_secret", nil)
	require.Equal(t, http.StatusOK, rotated.status, "%s", rotated.raw)
	shown := string(s.tool(t, "show", made.text("id"), "--json"))
	require.Contains(t, shown, "https://example.com/hook")
	require.NotContains(t, shown, strings.TrimPrefix(rotated.text("secret"), "whsec_"))
	require.Contains(t, string(s.tool(t, "why", made.text("id"))), "webhook.secret_rotated")
}
