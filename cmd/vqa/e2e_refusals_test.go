package main_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ids of the right form that do not exist.
const (
	unknownVideo    = "video_00000000000000000000000000"
	unknownAnalysis = "an_00000000000000000000000000"
)

// requireRefusal checks the status, the code and the field of an error. The field of the first
// violation takes precedence over error.param.
func requireRefusal(t *testing.T, a answer, status int, code, field string) {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.raw)
	require.Equal(t, code, a.code(), "%s", a.raw)
	named := a.text("error.param")
	if violations, ok := a.at("error.errors").([]any); ok && len(violations) > 0 {
		named = violations[0].(map[string]any)["param"].(string)
	}
	require.Equal(t, field, named, "%s", a.raw)
}

func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 100)
	videoID := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4"}).text("id")
	const videos, analyses = "/v1/videos", "/v1/analyses"
	tests := map[string]struct {
		path, body  string
		status      int
		code, field string
	}{
		"malformed":              {videos, `{"content_type": "video/mp4"`, 400, "validation_failed", ""},
		"not JSON":               {videos, `content_type=video/mp4`, 400, "validation_failed", ""},
		"empty":                  {videos, ``, 400, "validation_failed", ""},
		"array":                  {videos, `[]`, 400, "validation_failed", ""},
		"two values":             {videos, `{"content_type":"video/mp4"} {}`, 400, "validation_failed", ""},
		"member twice":           {videos, `{"content_type":"video/mp4","content_type":"video/mp4"}`, 400, "validation_failed", "content_type"},
		"unknown field":          {videos, `{"content_type":"video/mp4","color":"red"}`, 400, "validation_failed", "color"},
		"number for string":      {videos, `{"content_type":7}`, 400, "validation_failed", "content_type"},
		"string for number":      {videos, `{"content_type":"video/mp4","size_bytes":"12"}`, 400, "validation_failed", "size_bytes"},
		"fraction":               {videos, `{"content_type":"video/mp4","size_bytes":1.5}`, 400, "validation_failed", "size_bytes"},
		"metadata value":         {videos, `{"content_type":"video/mp4","metadata":{"a":1}}`, 400, "validation_failed", "metadata.a"},
		"metadata key":           {videos, `{"content_type":"video/mp4","metadata":{"a b":"x"}}`, 400, "validation_failed", "metadata.a b"},
		"no mode":                {videos, `{}`, 400, "validation_failed", "content_type"},
		"two modes":              {videos, `{"url":"https://example.com/a.mp4","size_bytes":5}`, 400, "validation_failed", "size_bytes"},
		"another type":           {videos, `{"content_type":"video/webm"}`, 400, "validation_failed", "content_type"},
		"2 GiB + 1":              {videos, `{"content_type":"video/mp4","size_bytes":2147483649}`, 400, "video_too_large", "size_bytes"},
		"size 0":                 {videos, `{"content_type":"video/mp4","size_bytes":0}`, 400, "validation_failed", "size_bytes"},
		"long filename":          {videos, `{"content_type":"video/mp4","filename":"` + strings.Repeat("x", 256) + `"}`, 400, "validation_failed", "filename"},
		"long URL":               {videos, `{"url":"https://example.com/` + strings.Repeat("x", 2048) + `"}`, 400, "validation_failed", "url"},
		"no URL":                 {videos, `{"url":"clip.mp4"}`, 400, "validation_failed", "url"},
		"no prompt":              {analyses, `{"video_id":"` + videoID + `"}`, 400, "prompt_empty", "prompt"},
		"blank prompt":           {analyses, `{"video_id":"` + videoID + `","prompt":"  "}`, 400, "prompt_empty", "prompt"},
		"long prompt":            {analyses, `{"video_id":"` + videoID + `","prompt":"` + strings.Repeat("x", 2001) + `"}`, 400, "prompt_too_long", "prompt"},
		"prompt of another type": {analyses, `{"video_id":"` + videoID + `","prompt":5}`, 400, "validation_failed", "prompt"},
		"bad query":              {analyses, `{"video_id":"` + videoID + `","query":{"schema_version":2}}`, 400, "query_invalid", "*"},
		"no video":               {analyses, `{"prompt":"Is there a dog?"}`, 400, "validation_failed", "video_id"},
		"unknown model":          {analyses, `{"video_id":"` + videoID + `","prompt":"Is there a dog?","model":"none"}`, 400, "model_not_found", "model"},
		"video not ready":        {analyses, `{"video_id":"` + videoID + `","prompt":"Is there a dog?"}`, 409, "resource_conflict", "video_id"},
		"unknown video":          {analyses, `{"video_id":"` + unknownVideo + `","prompt":"Is there a dog?"}`, 404, "resource_not_found", "video_id"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.call(t, http.MethodPost, tt.path, tt.body)
			if tt.field == "*" {
				tt.field = a.text("error.param")
				require.True(t, strings.HasPrefix(tt.field, "query"), "%s", a.raw)
				require.Equal(t, tt.status, a.status)
				require.Equal(t, tt.code, a.code())
				return
			}
			requireRefusal(t, a, tt.status, tt.code, tt.field)
		})
	}
}

func TestRefusedParameters(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	c := s.account(t, 100)
	foreign := s.account(t, 1).call(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4"}).text("id")
	tests := map[string]struct {
		status      int
		code, field string
	}{
		"/v1/videos?limit=0":                          {400, "validation_failed", "limit"},
		"/v1/videos?limit=101":                        {400, "validation_failed", "limit"},
		"/v1/videos?limit=ten":                        {400, "validation_failed", "limit"},
		"/v1/videos?status=lost":                      {400, "validation_failed", "status"},
		"/v1/analyses?status=lost":                    {400, "validation_failed", "status"},
		"/v1/videos?created_after=yesterday":          {400, "validation_failed", "created_after"},
		"/v1/videos?starting_after=" + foreign:        {404, "resource_not_found", "starting_after"},
		"/v1/videos?ending_before=" + unknownVideo:    {404, "resource_not_found", "ending_before"},
		"/v1/analyses/" + unknownAnalysis:             {404, "resource_not_found", "id"},
		"/v1/analyses/" + unknownVideo:                {404, "resource_not_found", "id"},
		"/v1/videos/x":                                {404, "resource_not_found", "id"},
		"/v1/nothing":                                 {404, "resource_not_found", ""},
		"/v1/videos/" + unknownVideo + "/analyses":    {404, "resource_not_found", "id"},
		"/v1/analyses/" + unknownAnalysis + "/events": {404, "resource_not_found", "id"},
		"/v1/videos?starting_after=" + foreign + "&ending_before=" + foreign: {400, "validation_failed", "ending_before"},
	}
	for path, tt := range tests {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			requireRefusal(t, c.call(t, http.MethodGet, path, nil), tt.status, tt.code, tt.field)
		})
	}
	wrongMethod := c.call(t, http.MethodPatch, "/v1/videos", nil)
	require.Equal(t, http.StatusMethodNotAllowed, wrongMethod.status)
	require.Contains(t, wrongMethod.header.Get("Allow"), http.MethodPost)
	requireRefusal(t, c.ask(t, unknownVideo, "Is there a dog?", "Prefer", "wait=121"), 400, "validation_failed", "Prefer")
}

// TestForbiddenURLs spells internal targets in every way that resolvers understand.
func TestForbiddenURLs(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 1)
	for _, url := range []string{
		"http://example.com/clip.mp4", "ftp://example.com/clip.mp4", "file:///etc/passwd", "https://example.com:8443/clip.mp4",
		"https://user:secret@example.com/clip.mp4",
		"https://localhost/clip.mp4", "https://LOCALHOST./clip.mp4", "https://vqa.localhost/clip.mp4",
		"https://127.0.0.1/", "https://127.1/", "https://127.0.1/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/",
		"https://017700000001/", "https://0177.0.0.1/", "https://127.0.0.1./", "https://0.0.0.0/", "https://0/", "https://1２7.0.0.1/",
		"https://127%2e0.0.1/", "https://[::1]/", "https://[0:0:0:0:0:0:0:1]/", "https://[::]/", "https://[::ffff:127.0.0.1]/",
		"https://[::ffff:7f00:1]/", "https://[::127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/",
		"https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.1.1/", "https://100.64.0.1/", "https://[fc00::1]/", "https://[fd12:3456::1]/",
		"https://169.254.169.254/latest/meta-data/", "https://2852039166/", "https://0xa9fea9fe/", "https://[::ffff:a9fe:a9fe]/",
		"https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fd00:ec2::254]/", "https://metadata.google.internal/",
		"https://198.18.0.1/", "https://192.0.2.1/", "https://224.0.0.1/", "https://255.255.255.255/", "https://[ff02::1]/",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			a := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"url": url})
			requireRefusal(t, a, http.StatusBadRequest, "url_forbidden", "url")
		})
	}
}

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

func TestUnsupportedMediaTypes(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 1)
	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		a := c.call(t, http.MethodPost, "/v1/videos", `{"content_type":"video/mp4"}`, "Content-Type", contentType)
		require.Equal(t, http.StatusUnsupportedMediaType, a.status, "%s", a.raw)
		require.Equal(t, "unsupported_media_type", a.code())
	}
	v := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4"})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, v.text("upload.url"), strings.NewReader("x"))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "video/webm")
	a, err := exchange(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnsupportedMediaType, a.status, "%s", a.raw)
	require.Equal(t, "unsupported_media_type", a.code())
}

func TestRefusedKeys(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	requireUnauthorized := func(key string, code string) {
		t.Helper()
		a := (&apiClient{s, issued{APIKey: key}}).call(t, http.MethodGet, "/v1/credits", nil)
		require.Equal(t, http.StatusUnauthorized, a.status, "%s", a.raw)
		require.Equal(t, code, a.code())
		challenge := "Bearer"
		if key != "" {
			challenge += ` error="invalid_token", error_description="` + code + `"` // RFC 6750, section 3
		}
		require.Equal(t, challenge, a.header.Get("WWW-Authenticate"))
	}
	requireUnauthorized("", "invalid_api_key")
	requireUnauthorized("svc_live_nobody", "invalid_api_key")
	requireUnauthorized("pk_old", "invalid_api_key")
	basic := (&apiClient{service: s}).call(t, http.MethodGet, "/v1/credits", nil, "Authorization", "Basic dTpw")
	require.Equal(t, http.StatusUnauthorized, basic.status)
	require.Equal(t, "invalid_api_key", basic.code())

	c := s.account(t, 1)
	require.Equal(t, http.StatusOK, c.credits(t).status)
	s.tool(t, "keys", "revoke", c.key.AccountID, c.key.KeyID)
	requireUnauthorized(c.key.APIKey, "key_revoked")

	short := s.newKey(t, "--expires-in", "1s")
	expiring := &apiClient{s, short}
	require.True(t, poll(30*time.Second, func() bool {
		return expiring.call(t, http.MethodGet, "/v1/credits", nil).status == http.StatusUnauthorized
	}))
	requireUnauthorized(short.APIKey, "key_expired")
}

// TestForeignIDs compares the response about another account's resource with the response about a
// resource that does not exist. Only the ids may differ.
// TestWebhookEndpointOfTheService creates an endpoint, and finds it with the tools by its id.
func TestWebhookEndpointOfTheService(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	c := s.account(t, 0)
	const path = "/v1/webhook_endpoints"
	requireRefusal(t, c.call(t, http.MethodPost, path, `{"url": "https://127.0.0.1/", "events": ["video.ready"]}`), 400, "url_forbidden", "url")
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

func TestForeignIDs(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	owner, c := s.account(t, 100), s.account(t, 100)
	videoID := owner.readyVideo(t, clip(t, signsClip))
	question := owner.ask(t, videoID, "Is there a dog?")
	require.Equal(t, http.StatusAccepted, question.status, "%s", question.raw)
	analysisID := question.text("id")
	sandboxKey := s.newTestKey(t)

	ids := regexp.MustCompile(`(req|video|an)_[0-9A-Z]{26}`)
	same := func(c *apiClient, method, path string, body any, foreign, unknown string) {
		t.Helper()
		replace := func(id string) answer {
			b := body
			if text, ok := body.(string); ok {
				b = fmt.Sprintf(text, id)
			}
			return c.call(t, method, strings.ReplaceAll(path, "ID", id), b)
		}
		got, want := replace(foreign), replace(unknown)
		require.Equal(t, http.StatusNotFound, want.status, "%s %s: %s", method, path, want.raw)
		require.Equal(t, want.status, got.status, "%s %s: %s", method, path, got.raw)
		require.Equal(t, ids.ReplaceAllString(string(want.raw), "ID"), ids.ReplaceAllString(string(got.raw), "ID"))
	}
	testSide := &apiClient{s, issued{APIKey: sandboxKey}}
	for _, other := range []*apiClient{c, testSide} {
		same(other, http.MethodGet, "/v1/videos/ID", nil, videoID, unknownVideo)
		same(other, http.MethodDelete, "/v1/videos/ID", nil, videoID, unknownVideo)
		same(other, http.MethodPost, "/v1/videos/ID/complete", nil, videoID, unknownVideo)
		same(other, http.MethodGet, "/v1/videos/ID/analyses", nil, videoID, unknownVideo)
		same(other, http.MethodGet, "/v1/videos?starting_after=ID", nil, videoID, unknownVideo)
		same(other, http.MethodGet, "/v1/analyses/ID", nil, analysisID, unknownAnalysis)
		same(other, http.MethodPost, "/v1/analyses/ID/cancel", nil, analysisID, unknownAnalysis)
		same(other, http.MethodGet, "/v1/analyses/ID/events", nil, analysisID, unknownAnalysis)
		same(other, http.MethodGet, "/v1/analyses?ending_before=ID", nil, analysisID, unknownAnalysis)
	}
	same(c, http.MethodPost, "/v1/analyses", `{"video_id":"%s","prompt":"Is there a dog?"}`, videoID, unknownVideo)
	same(c, http.MethodPost, "/v1/analyses", `{"video_id":"%s","prompt":"Is there a dog?","validate_only":true}`, videoID, unknownVideo)
	require.Empty(t, c.call(t, http.MethodGet, "/v1/analyses?video_id="+videoID, nil).at("data"))
	require.Equal(t, http.StatusOK, owner.call(t, http.MethodGet, "/v1/videos/"+videoID, nil).status)
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
