package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
)

// as returns the client of another secret in the same account.
func (c *client) as(secret string) *client {
	key := c.key
	key.Secret = secret
	return &client{c.w, key}
}

// mint creates a key with the API and returns its client and its resource.
func (c *client) mint(body string) (*client, response) {
	c.w.t.Helper()
	got := c.do(http.MethodPost, "/v1/api-keys", body)
	require.Equal(c.w.t, http.StatusCreated, got.StatusCode, string(got.raw))
	return c.as(got.at("api_key").(string)), got
}

func TestKeysAreManaged(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	reader, made := c.mint(`{"name": "dashboard", "scopes": ["videos:read", "usage:read"]}`)
	require.Regexp(t, `^svc_live_`, made.at("api_key"))
	require.Equal(t, "no-store", made.Header.Get("Cache-Control"))
	require.Equal(t, []any{"videos:read", "usage:read"}, made.at("scopes"))
	require.Equal(t, []any{"active", "dashboard", "live", "paid", true, nil}, []any{
		made.at("status"), made.at("name"), made.at("mode"), made.at("tier"), made.at("livemode"), made.at("expires_at"),
	})
	require.True(t, strings.HasSuffix(made.at("api_key").(string), made.at("hint").(string)))
	require.Equal(t, http.StatusOK, reader.do(http.MethodGet, "/v1/videos", "").StatusCode)
	w.refused(reader.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`), 403, fault.InsufficientScope, "")
	w.refused(reader.do(http.MethodGet, "/v1/api-keys", ""), 403, fault.InsufficientScope, "")

	keyPath := "/v1/api-keys/" + made.at("id").(string)
	read := c.do(http.MethodGet, keyPath, "")
	require.Equal(t, made.at("id"), read.at("id"))
	require.NotContains(t, string(read.raw), made.at("api_key"), "the secret is not returned again")
	require.NotContains(t, string(c.do(http.MethodGet, "/v1/api-keys", "").raw), made.at("api_key"))

	rotated := c.do(http.MethodPost, keyPath+"/rotate", "")
	require.Equal(t, http.StatusCreated, rotated.StatusCode, string(rotated.raw))
	require.Equal(t, made.at("id"), rotated.at("rotated_from"))
	require.Equal(t, made.at("scopes"), rotated.at("scopes"))
	require.Equal(t, http.StatusOK, reader.do(http.MethodGet, "/v1/videos", "").StatusCode, "both work")
	next := c.as(rotated.at("api_key").(string))
	require.Equal(t, http.StatusOK, next.do(http.MethodGet, "/v1/videos", "").StatusCode)
	w.refused(c.do(http.MethodPost, keyPath+"/rotate", "{}"), 409, fault.ResourceConflict, "")
	w.advance(24 * time.Hour)
	w.refused(reader.do(http.MethodGet, "/v1/videos", ""), 401, fault.KeyExpired, "")
	require.Equal(t, "expired", c.do(http.MethodGet, keyPath, "").at("status"))

	nextPath := "/v1/api-keys/" + rotated.at("id").(string)
	last := c.do(http.MethodPost, nextPath+"/rotate", `{"revoke_old": true}`)
	require.Equal(t, http.StatusCreated, last.StatusCode, string(last.raw))
	w.refused(next.do(http.MethodGet, "/v1/videos", ""), 401, fault.KeyRevoked, "")
	for range 2 {
		gone := c.do(http.MethodDelete, "/v1/api-keys/"+last.at("id").(string), "")
		require.Equal(t, http.StatusOK, gone.StatusCode, string(gone.raw))
		require.Equal(t, true, gone.at("deleted"))
	}
	w.refused(c.as(last.at("api_key").(string)).do(http.MethodGet, "/v1/videos", ""), 401, fault.KeyRevoked, "")
	require.NotContains(t, w.logged.String(), made.at("api_key"))
}

func TestCreateKeyIsChecked(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	for body, param := range map[string]string{
		`{}`:             "name",
		`{"name": ""}`:   "name",
		`{"name": null}`: "name",
		`{"name": "` + strings.Repeat("n", 101) + `"}`: "name",
		`{"name": "n", "scopes": []}`:                  "scopes",
		`{"name": "n", "scopes": ["videos:delete"]}`:   "scopes.0",
		`{"name": "n", "secret": "s"}`:                 "secret",
	} {
		w.refused(c.do(http.MethodPost, "/v1/api-keys", body), 400, fault.ValidationFailed, param)
	}
	unknown := c.do(http.MethodPost, "/v1/api-keys", `{"name": "n", "scopes": ["videos:delete"]}`)
	require.Equal(t, "enum", unknown.at("error.errors").([]any)[0].(map[string]any)["code"])
	narrow, _ := c.mint(`{"name": "n", "scopes": ["keys:write", "videos:write"]}`)
	w.refused(narrow.do(http.MethodPost, "/v1/api-keys", `{"name": "n", "scopes": ["usage:read"]}`), 403, fault.InsufficientScope, "scopes")
	_, made := narrow.mint(`{"name": "n", "scopes": ["videos:read"]}`)
	require.Equal(t, []any{"videos:read"}, made.at("scopes"))
	_, made = narrow.mint(`{"name": "n"}`)
	require.Equal(t, []any{"keys:write", "videos:write"}, made.at("scopes"), "the default is the scopes of the creating key")
	w.refused(narrow.do(http.MethodPost, "/v1/api-keys/"+c.key.KeyID+"/rotate", ""), 403, fault.InsufficientScope, "")
	w.refused(c.do(http.MethodPost, "/v1/api-keys/"+c.key.KeyID+"/rotate", `{"revoke": true}`), 400, fault.ValidationFailed, "revoke")
}

// TestKeysOfAnotherAreUnknown: the key of another account, a key of the other mode and an
// unknown key get the same response.
func TestKeysOfAnotherAreUnknown(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner, stranger := w.customer(0), w.customer(0)
	testKey, err := w.service.IssueKey(t.Context(), command.NewKey{AccountID: owner.key.AccountID, Mode: account.Test, Operator: "test"})
	require.NoError(t, err)
	_, made := owner.mint(`{"name": "n"}`)
	keyID := made.at("id").(string)
	answers := map[string]bool{}
	for _, ask := range []struct {
		c  *client
		id string
	}{
		{stranger, keyID},
		{owner.as(testKey.Secret), keyID},
		{owner, testKey.KeyID},
		{owner, "key_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1C"},
		{owner, "key_1"},
	} {
		for _, operation := range [][2]string{{http.MethodGet, ""}, {http.MethodDelete, ""}, {http.MethodPost, "/rotate"}} {
			got := ask.c.do(operation[0], "/v1/api-keys/"+ask.id+operation[1], "")
			w.refused(got, 404, fault.ResourceNotFound, "")
			answers[said(got, ask.id)] = true
		}
	}
	require.Len(t, answers, 1, "the bodies are equal, except for the id that was sent")
	require.Equal(t, "active", owner.do(http.MethodGet, "/v1/api-keys/"+keyID, "").at("status"))
	w.refused(stranger.do(http.MethodGet, "/v1/api-keys?starting_after="+keyID, ""), 404, fault.ResourceNotFound, "")
	listed := owner.as(testKey.Secret).do(http.MethodGet, "/v1/api-keys", "").items()
	require.Len(t, listed, 1, "a test key lists test keys")
}

func TestKeysAreListed(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	ids := []string{c.key.KeyID}
	for i := range 4 {
		_, made := c.mint(fmt.Sprintf(`{"name": "n%d"}`, i))
		ids = append([]string{made.at("id").(string)}, ids...)
	}
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, "/v1/api-keys/"+ids[1], "").StatusCode)
	var seen []string
	statuses := map[string]any{}
	for path := "/v1/api-keys?limit=2"; ; {
		page := c.do(http.MethodGet, path, "")
		for _, k := range page.items() {
			seen = append(seen, k["id"].(string))
			statuses[k["id"].(string)] = k["status"]
		}
		if page.at("has_more") == false {
			break
		}
		path = "/v1/api-keys?limit=2&starting_after=" + seen[len(seen)-1]
	}
	require.Equal(t, ids, seen, "newest first, including revoked keys")
	require.Equal(t, []any{"active", "revoked"}, []any{statuses[ids[0]], statuses[ids[1]]})
	w.refused(c.do(http.MethodGet, "/v1/api-keys?limit=101", ""), 400, fault.ValidationFailed, "limit")
	w.refused(c.do(http.MethodGet, "/v1/api-keys?starting_after=video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1C", ""), 400, fault.ValidationFailed, "starting_after")
}

func TestTestKeysMakeTestKeys(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.tester()
	second, made := c.mint(`{"name": "second"}`)
	require.Regexp(t, `^svc_test_`, made.at("api_key"))
	require.Equal(t, []any{false, "test", "sandbox"}, []any{made.at("livemode"), made.at("mode"), made.at("tier")})
	ends, err := time.Parse(time.RFC3339, made.at("expires_at").(string))
	require.NoError(t, err)
	require.WithinDuration(t, w.now().Add(7*24*time.Hour), ends, time.Minute)
	asked := second.do(http.MethodPost, "/v1/analyses", `{"video_id": "`+c.key.FixtureVideoID+`", "prompt": "Is there a ball?"}`)
	require.Equal(t, http.StatusOK, asked.StatusCode, string(asked.raw))
	w.advance(6 * 24 * time.Hour)
	rotated := second.do(http.MethodPost, "/v1/api-keys/"+made.at("id").(string)+"/rotate", "")
	require.Equal(t, http.StatusCreated, rotated.StatusCode, string(rotated.raw))
	fresh, err := time.Parse(time.RFC3339, rotated.at("expires_at").(string))
	require.NoError(t, err)
	require.WithinDuration(t, w.now().Add(7*24*time.Hour), fresh, time.Minute)
}

// legacy imports a key of the old form into the account of the client.
func (c *client) legacy(secret string) *client {
	c.w.t.Helper()
	_, err := c.w.service.ImportKey(c.w.t.Context(), command.LegacyKey{
		AccountID: c.key.AccountID, Name: "old", Secret: secret, Operator: "test",
	})
	require.NoError(c.w.t, err)
	return c.as(secret)
}

func TestLegacyKeys(t *testing.T) {
	t.Parallel()
	announced := time.Now().UTC().Truncate(time.Second)
	w := open(t, func(o *httpapi.Options) { o.LegacyKeys = account.LegacyWindow{AnnouncedAt: announced} })
	c := w.customer(0)
	old := c.legacy("pk_live_0123456789abcdef")
	got := old.do(http.MethodGet, "/v1/videos", "")
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Regexp(t, `^@[0-9]+$`, got.Header.Get("Deprecation"))
	sunset, err := http.ParseTime(got.Header.Get("Sunset"))
	require.NoError(t, err)
	require.Equal(t, announced.AddDate(1, 0, 0), sunset.UTC())
	require.Contains(t, got.Header.Get("Link"), `rel="deprecation"`)
	require.Empty(t, c.do(http.MethodGet, "/v1/videos", "").Header.Get("Deprecation"), "current keys are not deprecated")
	refused := old.do(http.MethodGet, "/v1/videos?limit=0", "")
	require.NotEmpty(t, refused.Header.Get("Deprecation"), "every response has the header")

	listed := old.do(http.MethodGet, "/v1/api-keys", "").items()[0]
	require.Equal(t, []any{true, "active", sunset.UTC().Format("2006-01-02T15:04:05Z")}, []any{listed["legacy"], listed["status"], listed["expires_at"]})
	rotated := old.do(http.MethodPost, "/v1/api-keys/"+listed["id"].(string)+"/rotate", "")
	require.Equal(t, http.StatusCreated, rotated.StatusCode, string(rotated.raw))
	require.Regexp(t, `^svc_live_`, rotated.at("api_key"))
	require.Equal(t, []any{false, nil}, []any{rotated.at("legacy"), rotated.at("expires_at")})

	second := c.legacy("pk_live_0123456789abcdeg")
	w.advance(time.Until(sunset) - time.Minute)
	require.Equal(t, http.StatusOK, second.do(http.MethodGet, "/v1/videos", "").StatusCode)
	w.advance(2 * time.Minute)
	w.refused(second.do(http.MethodGet, "/v1/videos", ""), 401, fault.InvalidAPIKey, "")
	require.Equal(t, "expired", c.do(http.MethodGet, "/v1/api-keys", "").items()[0]["status"])

	unannounced := open(t)
	old = unannounced.customer(0).legacy("pk_live_0123456789abcdef")
	unannounced.advance(50 * 365 * 24 * time.Hour)
	got = old.do(http.MethodGet, "/v1/videos", "")
	require.Equal(t, http.StatusOK, got.StatusCode, "no end is announced")
	require.NotEmpty(t, got.Header.Get("Deprecation"))
	require.Empty(t, got.Header.Get("Sunset"))
}

func TestRestrictedAccount(t *testing.T) {
	t.Parallel()
	w := open(t)
	c, other := w.customer(0), w.customer(0)
	second, _ := c.mint(`{"name": "second"}`)
	minted := c.do(http.MethodPost, "/v1/client_tokens", `{"scopes": ["analyses:read"]}`)
	require.Equal(t, http.StatusCreated, minted.StatusCode, string(minted.raw))
	token := c.as(minted.at("token").(string))
	require.Equal(t, http.StatusOK, token.do(http.MethodGet, "/v1/analyses", "").StatusCode)
	require.NoError(t, w.service.RestrictAccount(t.Context(), c.key.AccountID, "fraud", "test", ""))
	for _, shut := range []*client{c, second, token} {
		w.refused(shut.do(http.MethodGet, "/v1/analyses", ""), 403, fault.AccountRestricted, "")
	}
	require.Equal(t, http.StatusOK, other.do(http.MethodGet, "/v1/analyses", "").StatusCode)
	require.NoError(t, w.service.UnrestrictAccount(t.Context(), c.key.AccountID, "settled", "test", ""))
	for _, admitted := range []*client{c, second, token} {
		require.Equal(t, http.StatusOK, admitted.do(http.MethodGet, "/v1/analyses", "").StatusCode)
	}
}

// TestPersonManagesKeys: a session manages the keys of its account.
func TestPersonManagesKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := open(t, func(o *httpapi.Options) { o.Sessions = i.sessions(o.Service.Now) })
	person := (&client{w: w}).as(i.session("jo", w.now()))
	key, made := person.mint(`{"name": "first"}`)
	require.Equal(t, []any{"live", "paid", nil}, []any{made.at("mode"), made.at("tier"), made.at("expires_at")})
	require.Len(t, made.at("scopes"), len(account.Scopes()))
	require.Equal(t, http.StatusOK, key.do(http.MethodGet, "/v1/videos", "").StatusCode)
	rotated := person.do(http.MethodPost, "/v1/api-keys/"+made.at("id").(string)+"/rotate", `{"revoke_old": true}`)
	require.Equal(t, http.StatusCreated, rotated.StatusCode, string(rotated.raw))
	w.refused(key.do(http.MethodGet, "/v1/videos", ""), 401, fault.KeyRevoked, "")
	require.Len(t, person.do(http.MethodGet, "/v1/api-keys", "").items(), 2)
	another := (&client{w: w}).as(i.session("jim", w.now()))
	w.refused(another.do(http.MethodGet, "/v1/api-keys/"+made.at("id").(string), ""), 404, fault.ResourceNotFound, "")
	w.refused(person.do(http.MethodPost, "/v1/keys/upgrade", ""), 403, fault.TestModeOnly, "")
}
