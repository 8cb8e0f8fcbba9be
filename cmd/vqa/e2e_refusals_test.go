package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRefusedUploads(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 100)
	whole := unindexed(t)
	declare := func(t *testing.T, size int) answer {
		t.Helper()
		v := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4", "size_bytes": size})
		require.Equal(t, http.StatusCreated, v.status, "%s", v.raw)
		return v
	}
	tests := map[string]struct {
		declared int
		data     []byte
		put      int
		putCode  string
		status   int
		code     string
	}{
		"text posing as mp4": {1000, []byte(strings.Repeat("not a video ", 1000))[:1000], 200, "", 400, "video_unreadable"},
		"truncated mp4":      {len(whole) / 2, whole[:len(whole)/2], 200, "", 400, "video_unreadable"},
		"zero bytes":         {1000, nil, 400, "upload_incomplete", 400, "upload_incomplete"},
		"far less than said": {len(whole) * 2, whole, 200, "", 400, "upload_incomplete"},
		"6 % less than said": {len(whole) * 100 / 94, whole, 200, "", 400, "upload_incomplete"},
		"4 % less than said": {len(whole) * 100 / 96, whole, 200, "", 200, ""},
		"far more than said": {len(whole) / 2, whole, 413, "payload_too_large", 400, "upload_incomplete"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := declare(t, tt.declared)
			put := c.put(t, v, tt.data)
			require.Equal(t, tt.put, put.status, "%s", put.raw)
			require.Equal(t, tt.putCode, put.code())
			done := c.complete(t, v.text("id"))
			require.Equal(t, tt.status, done.status, "%s", done.raw)
			require.Equal(t, tt.code, done.code())
			if tt.status != http.StatusOK {
				v = c.call(t, http.MethodGet, "/v1/videos/"+v.text("id"), nil)
				require.Equal(t, "awaiting_upload", v.text("status"), "a refused completion changes nothing")
				require.NotNil(t, v.at("upload"), "the upload can be repeated")
			}
		})
	}
}

// TestForeignIDs compares the response about another account's resource with the response about a
// resource that does not exist. Only the ids may differ.
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

// TestValidateOnly asks for the price of questions, which reserves and stores nothing.
func TestValidateOnly(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 5)
	videoID := c.readyVideo(t, clip(t, longClip))
	preview := c.call(t, http.MethodPost, "/v1/analyses", map[string]any{"video_id": videoID, "prompt": "How many dogs are there?", "validate_only": true})
	require.InDelta(t, longClipS, preview.number("estimated_seconds"), 0, "a caller without enough credits sees the price: %s", preview.raw)
	rich := c.account(t, 100)
	videoID = rich.readyVideo(t, clip(t, longClip))
	preview = rich.call(t, http.MethodPost, "/v1/analyses", map[string]any{"video_id": videoID, "prompt": "How many dogs are there?", "validate_only": true})
	require.Equal(t, http.StatusOK, preview.status, "%s", preview.raw)
	require.Equal(t, "analysis_preview", preview.text("object"))
	require.Equal(t, true, preview.at("assessable"))
	require.InDelta(t, longClipS, preview.number("estimated_seconds"), 0)
	require.InDelta(t, longClipS*0.005, preview.number("estimated_cost_usd"), 1e-9)
	require.Empty(t, rich.call(t, http.MethodGet, "/v1/analyses", nil).at("data"))
	require.InDelta(t, 100, rich.credits(t).number("available_seconds"), 0)
}
