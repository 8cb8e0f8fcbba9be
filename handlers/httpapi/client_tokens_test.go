package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/intake/fixture"
)

// token creates a client token with this key.
func (c *client) token(body string) string {
	c.w.t.Helper()
	got := c.do(http.MethodPost, "/v1/client_tokens", body)
	require.Equal(c.w.t, http.StatusCreated, got.StatusCode, string(got.raw))
	return got.at("token").(string)
}

// limited creates another key of the account with these scopes.
func (c *client) limited(scopes ...string) *client {
	c.w.t.Helper()
	caller := command.Caller{AccountID: c.key.AccountID, KeyID: c.key.KeyID, Livemode: c.key.Mode == account.Live}
	key, err := c.w.service.MintKey(c.w.t.Context(), caller, "limited", scopes)
	require.NoError(c.w.t, err)
	return &client{c.w, command.IssuedKey{AccountID: key.AccountID, KeyID: key.ID, Secret: key.Secret, Mode: key.Mode}}
}

func TestMintClientToken(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1))
	c := w.customer(100)
	video := c.ready()
	got := c.do(http.MethodPost, "/v1/client_tokens", `{"scopes": ["analyses:read", "videos:write"], "ttl_s": 60, "video_id": "`+video+`"}`)
	require.Equal(t, http.StatusCreated, got.StatusCode, string(got.raw))
	require.Equal(t, "client_token", got.at("object"))
	require.Equal(t, []any{"analyses:read", "videos:write"}, got.at("scopes"))
	require.Equal(t, video, got.at("video_id"))
	secret := got.at("token").(string)
	require.True(t, strings.HasPrefix(secret, "svcct_"), secret)
	expires, err := time.Parse(time.RFC3339, got.at("expires_at").(string))
	require.NoError(t, err)
	require.WithinDuration(t, w.now().Add(60*time.Second), expires, 5*time.Second)
	require.Zero(t, w.count("select count(*) from events where data::text like '%svcct_%' or meta::text like '%svcct_%'"))
	require.NotContains(t, w.logged.String(), secret)

	// A token works in the mode of its key.
	require.Equal(t, true, w.as(secret, http.MethodGet, "/v1/videos/"+video, "").at("livemode"))
	require.Equal(t, false, w.as(w.tester().token(`{"scopes": ["videos:write"]}`), http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`).at("livemode"))

	stranger := w.customer(100)
	foreign, foreignStream := stranger.ready(), stranger.watching()
	unknown := strings.Replace(foreign, foreign[len(foreign)-4:], "0000", 1)
	tests := map[string]struct {
		by     *client
		body   string
		status int
		code   fault.Code
		param  string
	}{
		"no scopes":            {c, `{}`, 400, fault.ValidationFailed, "scopes"},
		"an empty list":        {c, `{"scopes": []}`, 400, fault.ValidationFailed, "scopes"},
		"an unknown scope":     {c, `{"scopes": ["root"]}`, 400, fault.ValidationFailed, "scopes.0"},
		"a scope of keys":      {c, `{"scopes": ["keys:write"]}`, 400, fault.ValidationFailed, "scopes.0"},
		"a scope twice":        {c, `{"scopes": ["analyses:read", "analyses:read"]}`, 400, fault.ValidationFailed, "scopes"},
		"too short a life":     {c, `{"scopes": ["analyses:read"], "ttl_s": 59}`, 400, fault.ValidationFailed, "ttl_s"},
		"too long a life":      {c, `{"scopes": ["analyses:read"], "ttl_s": 901}`, 400, fault.ValidationFailed, "ttl_s"},
		"half a second":        {c, `{"scopes": ["analyses:read"], "ttl_s": 60.5}`, 400, fault.ValidationFailed, "ttl_s"},
		"two bindings":         {c, `{"scopes": ["analyses:read"], "video_id": "` + video + `", "stream_id": "st_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"}`, 400, fault.ValidationFailed, "stream_id"},
		"a malformed stream":   {c, `{"scopes": ["streams:signal"], "stream_id": "st_1"}`, 400, fault.ValidationFailed, "stream_id"},
		"an unknown field":     {c, `{"scopes": ["analyses:read"], "ttl": 60}`, 400, fault.ValidationFailed, "ttl"},
		"another's video":      {c, `{"scopes": ["analyses:read"], "video_id": "` + foreign + `"}`, 404, fault.ResourceNotFound, "video_id"},
		"an unknown video":     {c, `{"scopes": ["analyses:read"], "video_id": "` + unknown + `"}`, 404, fault.ResourceNotFound, "video_id"},
		"no video at all":      {c, `{"scopes": ["analyses:read"], "video_id": "nothing"}`, 404, fault.ResourceNotFound, "video_id"},
		"another's stream":     {c, `{"scopes": ["streams:signal"], "stream_id": "` + foreignStream + `"}`, 404, fault.ResourceNotFound, "stream_id"},
		"an unknown stream":    {c, `{"scopes": ["streams:signal"], "stream_id": "st_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"}`, 404, fault.ResourceNotFound, "stream_id"},
		"a stream as a video":  {stranger, `{"scopes": ["analyses:read"], "video_id": "` + foreignStream + `"}`, 404, fault.ResourceNotFound, "video_id"},
		"beyond the key":       {c.limited("videos:write"), `{"scopes": ["analyses:read"]}`, 403, fault.InsufficientScope, "scopes"},
		"beyond a reading key": {c.limited("videos:read"), `{"scopes": ["videos:write"]}`, 403, fault.InsufficientScope, "scopes"},
	}
	for name, tt := range tests {
		t.Run(name, func(*testing.T) {
			w.refused(tt.by.do(http.MethodPost, "/v1/client_tokens", tt.body), tt.status, tt.code, tt.param)
		})
	}
	w.refused(w.as(secret, http.MethodPost, "/v1/client_tokens", `{"scopes": ["analyses:read"]}`), 403, fault.InsufficientScope, "")
	require.NotEmpty(t, c.limited("analyses:write").token(`{"scopes": ["analyses:read"]}`), "a write scope includes its read scope")

	removed := c.ready()
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, "/v1/videos/"+removed, "").StatusCode)
	w.refused(c.do(http.MethodPost, "/v1/client_tokens", `{"scopes": ["analyses:read"], "video_id": "`+removed+`"}`), 404, fault.ResourceNotFound, "video_id")
	own := c.watching()
	require.NotEmpty(t, c.token(`{"scopes": ["streams:signal"], "stream_id": "`+own+`"}`))
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/streams/"+own+"/end", "").StatusCode)
	require.NotEmpty(t, c.token(`{"scopes": ["streams:signal"], "stream_id": "`+own+`"}`), "an ended stream exists")
}

// watching creates a stream and returns its id.
func (c *client) watching() string {
	c.w.t.Helper()
	got := c.do(http.MethodPost, "/v1/streams", watch)
	require.Equal(c.w.t, http.StatusCreated, got.StatusCode, string(got.raw))
	return got.at("id").(string)
}

// TestClientTokenEnds: a token ends by time, with its key, and while its account is restricted.
func TestClientTokenEnds(t *testing.T) {
	t.Parallel()
	w := open(t)
	const body = `{"scopes": ["analyses:read"]}`
	read := func(token string) response { return w.as(token, http.MethodGet, "/v1/analyses", "") }

	c := w.customer(0)
	other := c.limited("analyses:read")
	ofOther, short, long := other.token(body), c.token(`{"scopes": ["analyses:read"], "ttl_s": 60}`), c.token(body)
	w.advance(59 * time.Second)
	require.Equal(t, http.StatusOK, read(short).StatusCode)
	w.advance(time.Second)
	w.refused(read(short), 401, fault.TokenExpired, "")
	require.Equal(t, http.StatusOK, read(long).StatusCode)

	require.NoError(t, w.service.RevokeKey(t.Context(), c.key.AccountID, other.key.KeyID, "test", ""))
	w.refused(read(ofOther), 401, fault.KeyRevoked, "")
	require.Equal(t, http.StatusOK, read(long).StatusCode, "a token of another key still works")
	require.NoError(t, w.service.RestrictAccount(t.Context(), c.key.AccountID, "test", "test", ""))
	w.refused(read(long), 403, fault.AccountRestricted, "")

	soon := w.now().Add(2 * time.Minute)
	key, err := w.service.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, ExpiresAt: &soon, Operator: "test"})
	require.NoError(t, err)
	ofKey := (&client{w, key}).token(body)
	require.Equal(t, http.StatusOK, read(ofKey).StatusCode)
	w.advance(2 * time.Minute)
	w.refused(read(ofKey), 401, fault.KeyExpired, "")
	w.refused(read("svcct_"+strings.Repeat("A", 43)), 401, fault.InvalidAPIKey, "")
}

// TestBoundClientToken: a bound token can only use its video, and learns nothing about other
// resources.
func TestBoundClientToken(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1))
	c := w.customer(1000)
	bound, other := c.ready(), c.ready()
	own, foreign := c.ask(bound, "Is there a ball?"), c.ask(other, "Is there a ball?")
	const scopes = `"scopes": ["videos:write", "analyses:write"]`
	token := c.token(`{` + scopes + `, "video_id": "` + bound + `"}`)
	streaming := c.token(`{` + scopes + `, "stream_id": "` + c.watching() + `"}`)
	absent := func(id string) string { return id[:len(id)-6] + "000000" }
	question := func(video string) string { return `{"video_id": "` + video + `", "prompt": "Is there a ball?"}` }
	batch := func(video string) string {
		return `{"video_id": "` + video + `", "prompts": ["Is there a ball?", "Is there a dog?"]}`
	}
	// The key has sent this request before: the token must not get the replay.
	kept := c.do(http.MethodPost, "/v1/analyses", question(other), "Idempotency-Key", "k1")
	require.Equal(t, http.StatusAccepted, kept.StatusCode, string(kept.raw))

	tests := []struct {
		name, method, path, body string
		status                   int
	}{
		{"read the video", http.MethodGet, "/v1/videos/" + bound, "", 200},
		{"read another", http.MethodGet, "/v1/videos/" + other, "", 403},
		{"read one that is not there", http.MethodGet, "/v1/videos/" + absent(other), "", 403},
		{"list the videos", http.MethodGet, "/v1/videos", "", 200},
		{"register a video", http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`, 403},
		{"complete another", http.MethodPost, "/v1/videos/" + other + "/complete", "", 403},
		{"delete another", http.MethodDelete, "/v1/videos/" + other, "", 403},
		{"list the analyses of the video", http.MethodGet, "/v1/videos/" + bound + "/analyses", "", 200},
		{"list the analyses of another", http.MethodGet, "/v1/videos/" + other + "/analyses", "", 403},
		{"list the analyses", http.MethodGet, "/v1/analyses", "", 200},
		{"list with the video", http.MethodGet, "/v1/analyses?video_id=" + bound, "", 200},
		{"list with another", http.MethodGet, "/v1/analyses?video_id=" + other, "", 403},
		{"list with both", http.MethodGet, "/v1/analyses?video_id=" + bound + "&video_id=" + other, "", 403},
		{"read an analysis", http.MethodGet, "/v1/analyses/" + own, "", 200},
		{"read an analysis of another", http.MethodGet, "/v1/analyses/" + foreign, "", 404},
		{"read an unknown one", http.MethodGet, "/v1/analyses/" + absent(foreign), "", 404},
		{"follow an analysis of another", http.MethodGet, "/v1/analyses/" + foreign + "/events", "", 404},
		{"cancel an analysis of another", http.MethodPost, "/v1/analyses/" + foreign + "/cancel", "", 404},
		{"rerun an analysis of another", http.MethodPost, "/v1/analyses/" + foreign + "/rerun", "", 404},
		{"rerun an analysis that did not fail", http.MethodPost, "/v1/analyses/" + own + "/rerun", "", 409},
		{"ask about the video", http.MethodPost, "/v1/analyses", question(bound), 202},
		{"ask about another", http.MethodPost, "/v1/analyses", question(other), 403},
		{"ask about one that is not there", http.MethodPost, "/v1/analyses", question(absent(other)), 403},
		{"ask about nothing", http.MethodPost, "/v1/analyses", `{"prompt": "Is there a ball?"}`, 400},
		{"ask much about another", http.MethodPost, "/v1/analyses/batch", batch(other), 403},
		{"ask much about the video", http.MethodPost, "/v1/analyses/batch", batch(bound), 202},
		{"cancel an analysis", http.MethodPost, "/v1/analyses/" + own + "/cancel", "", 200},
	}
	codes := map[int]fault.Code{400: fault.ValidationFailed, 403: fault.InsufficientScope, 404: fault.ResourceNotFound, 409: fault.RerunNotEligible}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := w.as(token, tt.method, tt.path, tt.body)
			require.Equal(t, tt.status, got.StatusCode, string(got.raw))
			if tt.status >= 400 {
				w.refused(got, tt.status, codes[tt.status], "")
			}
			if tt.status == 403 {
				require.Contains(t, got.at("error.message"), "works only for "+bound)
			}
			ofStream := w.as(streaming, tt.method, tt.path, tt.body)
			w.refused(ofStream, 403, fault.InsufficientScope, "")
		})
	}
	w.refused(w.as(token, http.MethodPost, "/v1/analyses", question(other), "Idempotency-Key", "k1"), 403, fault.InsufficientScope, "")

	videos := w.as(token, http.MethodGet, "/v1/videos", "").at("data").([]any)
	require.Len(t, videos, 1)
	require.Equal(t, bound, videos[0].(map[string]any)["id"])
	for _, a := range w.as(token, http.MethodGet, "/v1/analyses?limit=100", "").at("data").([]any) {
		require.Equal(t, bound, a.(map[string]any)["video_id"])
	}
	for _, list := range []string{"/v1/analyses?starting_after=" + foreign, "/v1/analyses?ending_before=" + absent(foreign), "/v1/videos?starting_after=" + other} {
		w.refused(w.as(token, http.MethodGet, list, ""), 404, fault.ResourceNotFound, "")
	}
	require.Equal(t, http.StatusOK, w.as(token, http.MethodGet, "/v1/analyses?starting_after="+own, "").StatusCode)
}

// TestATokenReadsOnlyItsOwn: a token without a binding lists, reads and changes only what was created with it. What its
// key or another token of the key created reads as unknown.
func TestATokenReadsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1))
	c := w.customer(1000)
	const scopes = `{"scopes": ["videos:write", "analyses:write", "streams:create", "streams:signal"]}`
	token, other := c.token(scopes), c.token(scopes)
	question := func(video string) string { return `{"video_id": "` + video + `", "prompt": "Is there a ball?"}` }
	ready := func(token string) string {
		made := w.as(token, http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`)
		c.upload(made, fixture.Bytes())
		path := "/v1/videos/" + made.at("id").(string)
		done := w.as(token, http.MethodPost, path+"/complete", "")
		require.Equal(t, http.StatusOK, done.StatusCode, string(done.raw))
		return made.at("id").(string)
	}
	ask := func(token, video string) string {
		got := w.as(token, http.MethodPost, "/v1/analyses", question(video), "Idempotency-Key", "k")
		require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
		return got.at("id").(string)
	}
	keys, own, others := c.ready(), ready(token), ready(other)
	ofKey, asked, ofOther := ask(c.key.Secret, keys), ask(token, own), ask(other, others)
	c.ask(own, "Is there a cat?")
	st := w.as(token, http.MethodPost, "/v1/streams", watch)
	require.Equal(t, http.StatusCreated, st.StatusCode, string(st.raw))
	stream := st.at("id").(string)

	ids := func(token, path string) (list []any) {
		got := w.as(token, http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		for _, item := range got.at("data").([]any) {
			list = append(list, item.(map[string]any)["id"])
		}
		return list
	}
	require.Equal(t, []any{own}, ids(token, "/v1/videos"))
	require.Equal(t, []any{asked}, ids(token, "/v1/analyses"))
	require.Equal(t, []any{asked}, ids(token, "/v1/analyses?video_id="+own))
	require.Equal(t, []any{asked}, ids(token, "/v1/videos/"+own+"/analyses"), "the key has also asked about this video")
	require.Equal(t, []any{stream}, ids(token, "/v1/streams"))
	require.Empty(t, ids(other, "/v1/streams"))
	active := w.as(other, http.MethodPost, "/v1/streams", watch)
	w.refused(active, 409, fault.StreamAlreadyActive, "")
	require.NotContains(t, string(active.raw), stream, "the error of a create does not name it either")
	require.Len(t, ids(c.key.Secret, "/v1/videos"), 3, "the key reads everything")
	require.Len(t, ids(c.token(`{"scopes": ["analyses:read"], "video_id": "`+own+`"}`), "/v1/analyses"), 2, "a bound token reads all of its video")

	for _, id := range []string{keys, others} {
		for _, request := range []string{
			"GET /v1/videos/" + id, "DELETE /v1/videos/" + id, "POST /v1/videos/" + id + "/complete", "GET /v1/videos/" + id + "/analyses",
			"GET /v1/analyses?video_id=" + id, "GET /v1/videos?starting_after=" + id, "GET /v1/videos?ending_before=" + id,
		} {
			method, path, _ := strings.Cut(request, " ")
			w.refused(w.as(token, method, path, ""), 404, fault.ResourceNotFound, "")
		}
		w.refused(w.as(token, http.MethodPost, "/v1/analyses", question(id)), 404, fault.ResourceNotFound, "video_id")
		w.refused(w.as(token, http.MethodPost, "/v1/analyses", question(id), "Idempotency-Key", "k2"), 404, fault.ResourceNotFound, "video_id")
		w.refused(w.as(token, http.MethodPost, "/v1/analyses/batch", `{"video_id": "`+id+`", "prompts": ["Is there a ball?", "Is there a cat?"]}`),
			404, fault.ResourceNotFound, "video_id")
	}
	for _, id := range []string{ofKey, ofOther} {
		for _, request := range []string{
			"GET /v1/analyses/" + id, "GET /v1/analyses/" + id + "/events", "POST /v1/analyses/" + id + "/cancel",
			"POST /v1/analyses/" + id + "/rerun", "GET /v1/analyses?starting_after=" + id,
		} {
			method, path, _ := strings.Cut(request, " ")
			w.refused(w.as(token, method, path, ""), 404, fault.ResourceNotFound, "")
		}
	}
	for _, request := range []string{"GET ", "GET /events", "POST /end", "GET /recording", "DELETE /recording", "DELETE /whip"} {
		method, rest, _ := strings.Cut(request, " ")
		w.refused(w.as(other, method, "/v1/streams/"+stream+rest, ""), 404, fault.ResourceNotFound, "")
	}
	require.Equal(t, http.StatusOK, w.as(token, http.MethodPost, "/v1/streams/"+stream+"/end", "").StatusCode)
	require.Equal(t, http.StatusOK, w.as(token, http.MethodPost, "/v1/analyses/"+asked+"/cancel", "").StatusCode)
}
