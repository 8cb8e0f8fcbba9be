package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// TestNullEqualsAbsent sends every optional field of every create as null.
func TestNullEqualsAbsent(t *testing.T) {
	t.Parallel()
	w := open(t, byHeader)
	c := w.customer(1000)
	videoID := c.ready()
	_, rotated := c.mint(`{"name": "to rotate", "scopes": null}`)
	const query = `{"schema_version": 1, "prompt_intent": "presence", "query_type": "object", "subjects": [{"id": "s1", "term": "dog"}], "search_terms": ["dog"]}`
	for name, tt := range map[string]struct {
		c          *client
		path, body string
		want       int
	}{
		"upload": {c, "/v1/videos", `{"content_type": "video/mp4", "url": null, "filename": null, "size_bytes": null, "metadata": null}`, 201},
		"url":    {c, "/v1/videos", `{"url": "https://example.com/a.mp4", "content_type": null, "filename": null, "size_bytes": null}`, 201},
		"prompt": {c, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?", "query": null, "model": null,
			"options": null, "metadata": null, "validate_only": null, "webhook": null}`, videoID), 202},
		"query": {c, "/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": null, "query": %s, "options": {"narrative": null}}`, videoID, query), 202},
		"batch": {c, "/v1/analyses/batch", fmt.Sprintf(`{"video_id": %q, "prompts": ["Is there a dog?", "Is there a cat?"], "model": null,
			"options": {"narrative": null}, "metadata": null, "validate_only": null, "webhook": null}`, videoID), 202},
		"stream": {c, "/v1/streams", `{"prompt": "Is there a dog?", "query": null, "model": null, "options": null,
			"recording": null, "metadata": null, "webhook": null}`, 201},
		"stream by query": {w.customer(100), "/v1/streams", `{"prompt": null, "query": ` + query + `, "options": {"narrative": null}}`, 201},
		"token":           {c, "/v1/client_tokens", `{"scopes": ["analyses:read"], "ttl_s": null, "video_id": null, "stream_id": null}`, 201},
		"rotate":          {c, "/v1/api-keys/" + rotated.at("id").(string) + "/rotate", `{"revoke_old": null}`, 201},
		"webhook":         {c, "/v1/webhook_endpoints", `{"url": "https://example.com/hook", "events": ["video.ready"], "description": null}`, 201},
		"upgrade":         {w.sandbox(), "/v1/keys/upgrade", `{"forge_token": null}`, 201},
	} {
		got := tt.c.do(http.MethodPost, tt.path, tt.body)
		require.Equal(t, tt.want, got.StatusCode, "%s: %s", name, got.raw)
	}
	w.refused(c.do(http.MethodPost, "/v1/analyses", `{"video_id": null, "prompt": "Is there a dog?"}`), 400, fault.ValidationFailed, "video_id")
	w.refused(c.do(http.MethodPost, "/v1/videos", `{"content_type": null, "url": null}`), 400, fault.ValidationFailed, "content_type")
}

// TestAFixtureVideoIsNotDeleted: without its fixture, a test key would be useless.
func TestAFixtureVideoIsNotDeleted(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.tester()
	path := "/v1/videos/" + c.key.FixtureVideoID
	got := c.do(http.MethodDelete, path, "")
	w.refused(got, 409, fault.ResourceConflict, "")
	require.Contains(t, got.at("error.message"), "fixture")
	require.Equal(t, http.StatusOK, c.do(http.MethodGet, path, "").StatusCode)
}
