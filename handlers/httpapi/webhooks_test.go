package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/webhook"
	"vqa/handlers/command"
	"vqa/handlers/vault"
	"vqa/projections/resources"
)

const anEndpoint = `{"url": "https://example.com/hook", "events": ["analysis.completed", "video.ready"], "description": "orders"}`

// endpoint creates a webhook endpoint. changes are members that replace those of anEndpoint.
func (c *client) endpoint(changes string) response {
	c.w.t.Helper()
	var body map[string]any
	require.NoError(c.w.t, json.Unmarshal([]byte(anEndpoint), &body))
	require.NoError(c.w.t, json.Unmarshal([]byte(changes), &body))
	raw, err := json.Marshal(body)
	require.NoError(c.w.t, err)
	got := c.do(http.MethodPost, "/v1/webhook_endpoints", string(raw))
	require.Equal(c.w.t, http.StatusCreated, got.StatusCode, string(got.raw))
	return got
}

// testKey returns a client with a test key of the same account.
func (c *client) testKey() *client {
	c.w.t.Helper()
	key, err := c.w.service.IssueKey(c.w.t.Context(), command.NewKey{AccountID: c.key.AccountID, Mode: account.Test, Operator: "test"})
	require.NoError(c.w.t, err)
	return c.as(key.Secret)
}

// signing returns the secrets that sign deliveries to an endpoint, decrypted from the database.
func (c *client) signing(endpointID string) []string {
	c.w.t.Helper()
	e, err := resources.NewReader(c.w.pool).WebhookEndpoint(c.w.t.Context(), resources.Tenant{AccountID: c.key.AccountID, Livemode: true}, endpointID)
	require.NoError(c.w.t, err)
	v, err := vault.New(vaultKey)
	require.NoError(c.w.t, err)
	var secrets []string
	for _, sealed := range e.Signing(c.w.now()) {
		raw, err := v.Open(sealed, endpointID)
		require.NoError(c.w.t, err)
		secrets = append(secrets, webhook.FormatSecret(raw))
	}
	return secrets
}

func TestWebhookEndpointsAreManaged(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	made := c.endpoint(`{}`)
	require.Equal(t, []any{
		"webhook_endpoint", true, "https://example.com/hook", []any{"analysis.completed", "video.ready"}, "orders", "enabled", nil, nil,
	}, []any{
		made.at("object"), made.at("livemode"), made.at("url"), made.at("events"), made.at("description"), made.at("status"),
		made.at("disabled_reason"), made.at("last_success_at"),
	})
	require.Equal(t, "no-store", made.Header.Get("Cache-Control"))
	endpointID, path := made.at("id").(string), "/v1/webhook_endpoints/"+made.at("id").(string)

	read := c.do(http.MethodGet, path, "")
	delete(made.json, "secret")
	require.Equal(t, made.json, read.json, "everything but the secret")
	require.Equal(t, http.StatusNotModified, c.do(http.MethodGet, path, "", "If-None-Match", read.Header.Get("ETag")).StatusCode)

	moved := c.do(http.MethodPatch, path, `{"url": "https://example.com/v2"}`)
	require.Equal(t, http.StatusOK, moved.StatusCode, string(moved.raw))
	require.Equal(t, []any{"https://example.com/v2", []any{"analysis.completed", "video.ready"}, "orders"},
		[]any{moved.at("url"), moved.at("events"), moved.at("description")}, "the other fields stay")
	require.Nil(t, moved.at("secret"))
	other := c.do(http.MethodPatch, path, `{"events": ["stream.ended"], "description": "all streams"}`)
	require.Equal(t, []any{"https://example.com/v2", []any{"stream.ended"}, "all streams"}, []any{other.at("url"), other.at("events"), other.at("description")})
	for _, none := range []string{"null", `""`} {
		both := c.do(http.MethodPatch, path, `{"description": "text", "notice_email": "ops@example.com"}`)
		require.Equal(t, []any{"text", "ops@example.com"}, []any{both.at("description"), both.at("notice_email")})
		bare := c.do(http.MethodPatch, path, `{"description": `+none+`, "notice_email": `+none+`}`)
		require.Equal(t, http.StatusOK, bare.StatusCode, string(bare.raw))
		require.Equal(t, []any{nil, nil}, []any{bare.at("description"), bare.at("notice_email")}, "null and an empty text remove them")
		require.Equal(t, []any{"stream.ended"}, bare.at("events"))
	}
	before := c.do(http.MethodGet, path, "")
	require.Equal(t, before.json, c.do(http.MethodPatch, path, `{}`).json, "an empty change changes nothing")

	for range 2 {
		off := c.do(http.MethodPost, path+"/disable", "")
		require.Equal(t, []any{200, "disabled", "user"}, []any{off.StatusCode, off.at("status"), off.at("disabled_reason")}, string(off.raw))
	}
	require.Equal(t, "disabled", c.do(http.MethodPatch, path, `{"description": "off"}`).at("status"), "a change does not enable it")
	for range 2 {
		on := c.do(http.MethodPost, path+"/enable", "")
		require.Equal(t, []any{200, "enabled", nil}, []any{on.StatusCode, on.at("status"), on.at("disabled_reason")}, string(on.raw))
	}
	e, err := resources.NewReader(w.pool).WebhookEndpoint(t.Context(), resources.Tenant{AccountID: c.key.AccountID, Livemode: true}, endpointID)
	require.NoError(t, err)
	_, err = w.service.FailWebhookEndpoint(t.Context(), e, w.now())
	require.NoError(t, err)
	require.Equal(t, "auto_failure", c.do(http.MethodGet, path, "").at("disabled_reason"))
	require.Equal(t, "enabled", c.do(http.MethodPost, path+"/enable", "").at("status"))

	gone := c.do(http.MethodDelete, path, "")
	require.Equal(t, map[string]any{"id": endpointID, "object": "webhook_endpoint", "deleted": true}, gone.json)
	require.Empty(t, c.do(http.MethodGet, "/v1/webhook_endpoints", "").at("data"))
	for _, op := range [][2]string{
		{http.MethodGet, path}, {http.MethodDelete, path}, {http.MethodPost, path + "/enable"}, {http.MethodPost, path + "/disable"},
		{http.MethodPost, path + "/rotate_secret"}, {http.MethodPatch, path},
	} {
		body := ""
		if op[0] == http.MethodPatch {
			body = `{}`
		}
		w.refused(c.do(op[0], op[1], body), 404, fault.ResourceNotFound, "id")
	}
}

// TestWebhookSecrets: a secret has 32 bytes in the only form that all libraries accept. It is shown
// once, the database has it encrypted, and an old one signs for a day.
func TestWebhookSecrets(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	made := c.endpoint(`{}`)
	endpointID, first := made.at("id").(string), made.at("secret").(string)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(first, "whsec_"))
	require.NoError(t, err)
	require.Len(t, raw, 32)
	require.Equal(t, []string{first}, c.signing(endpointID))

	rotated := c.do(http.MethodPost, "/v1/webhook_endpoints/"+endpointID+"/rotate_secret", "")
	require.Equal(t, http.StatusOK, rotated.StatusCode, string(rotated.raw))
	second := rotated.at("secret").(string)
	require.NotEqual(t, first, second)
	require.Equal(t, []string{second, first}, c.signing(endpointID), "both sign")
	w.advance(24*time.Hour - time.Minute)
	require.Equal(t, []string{second, first}, c.signing(endpointID))
	w.advance(2 * time.Minute)
	require.Equal(t, []string{second}, c.signing(endpointID))

	var last string
	for range 4 {
		last = c.do(http.MethodPost, "/v1/webhook_endpoints/"+endpointID+"/rotate_secret", "").at("secret").(string)
	}
	require.Len(t, c.signing(endpointID), 5, "every secret of the last day signs")
	refused := c.do(http.MethodPost, "/v1/webhook_endpoints/"+endpointID+"/rotate_secret", "")
	w.refused(refused, 409, fault.ResourceConflict, "")
	require.Contains(t, refused.at("error.message"), "after 20")
	require.Equal(t, last, c.signing(endpointID)[0])

	w.secretIsHidden(t, first, raw)
	require.NotContains(t, string(c.do(http.MethodGet, "/v1/webhook_endpoints", "").raw), "whsec_")
}

// secretIsHidden requires that no table and no log line has a secret in readable form.
func (w *world) secretIsHidden(t *testing.T, secret string, raw []byte) {
	t.Helper()
	text := strings.TrimPrefix(secret, "whsec_")
	require.NotContains(t, w.logged.String(), text)
	var found int
	require.NoError(t, w.pool.QueryRow(t.Context(), `select
		(select count(*) from events where strpos(data::text || meta::text, $1) > 0) +
		(select count(*) from webhook_endpoints where strpos(doc::text, $1) > 0) +
		(select count(*) from streams s where strpos(s::text, $1) > 0) +
		(select count(*) from receipts where position($2 in body) > 0 or position(convert_to($1, 'UTF8') in body) > 0)`, text, raw).Scan(&found))
	require.Zero(t, found, "the database has the secret in readable form")
}

func TestWebhookEndpointsAreChecked(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	path := "/v1/webhook_endpoints/" + c.endpoint(`{}`).at("id").(string)
	for _, tt := range []struct {
		body, param string
		code        fault.ViolationCode
	}{
		{`{"events": ["video.ready"]}`, "url", fault.Required},
		{`{"url": "https://example.com"}`, "events", fault.Required},
		{`{"url": null, "events": ["video.ready"]}`, "url", fault.Type},
		{`{"url": "", "events": ["video.ready"]}`, "url", fault.Length},
		{`{"url": "example.com/hook", "events": ["video.ready"]}`, "url", fault.Format},
		{`{"url": "https://example.com/` + strings.Repeat("x", 2048) + `", "events": ["video.ready"]}`, "url", fault.Length},
		{`{"url": "https://example.com", "events": []}`, "events", fault.Length},
		{`{"url": "https://example.com", "events": null}`, "events", fault.Type},
		{`{"url": "https://example.com", "events": ["video.lost"]}`, "events.0", fault.Enum},
		{`{"url": "https://example.com", "events": ["video.ready", "video.ready"]}`, "events", fault.Exclusive},
		{`{"url": "https://example.com", "events": ["video.ready"], "description": "` + strings.Repeat("ä", 501) + `"}`, "description", fault.Length},
		{`{"url": "https://example.com", "events": ["video.ready"], "notice_email": "ops"}`, "notice_email", fault.Format},
		{`{"url": "https://example.com", "events": ["video.ready"], "notice_email": "` + strings.Repeat("a", 250) + `@example.com"}`, "notice_email", fault.Length},
		{`{"url": "https://example.com", "events": ["video.ready"], "secret": "mine"}`, "secret", fault.UnknownField},
	} {
		got := c.do(http.MethodPost, "/v1/webhook_endpoints", tt.body)
		w.refused(got, 400, fault.ValidationFailed, tt.param)
		require.Equal(t, string(tt.code), got.at("error.errors").([]any)[0].(map[string]any)["code"], tt.body)
		if tt.code == fault.Required {
			continue
		}
		// A change must keep the rules of a create. Each body has one fault, so its other fields are left out.
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(tt.body), &fields))
		name, _, _ := strings.Cut(tt.param, ".")
		change, err := json.Marshal(map[string]any{name: fields[name]})
		require.NoError(t, err)
		w.refused(c.do(http.MethodPatch, path, string(change)), 400, fault.ValidationFailed, tt.param)
	}
	require.Equal(t, http.StatusCreated, c.do(http.MethodPost, "/v1/webhook_endpoints",
		`{"url": "https://example.com", "events": ["video.ready"], "description": "`+strings.Repeat("ä", 500)+`"}`).StatusCode)
	w.refused(c.do(http.MethodPatch, path, ""), 400, fault.ValidationFailed, "")
	require.Equal(t, "orders", c.do(http.MethodGet, path, "").at("description"), "a refused change changes nothing")
}

// TestWebhookTargetsMustBePublic: the rules of the guarded client hold at create and at a change.
func TestWebhookTargetsMustBePublic(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	path := "/v1/webhook_endpoints/" + c.endpoint(`{}`).at("id").(string)
	for _, forbidden := range []string{
		"http://example.com/hook", "ftp://example.com", "https://localhost/hook", "https://127.0.0.1", "https://169.254.169.254/latest",
		"https://[::1]/", "https://10.0.0.1", "https://0x7f.1/", "https://2130706433/", "https://example.com:993/",
		"https://user:password@example.com/", "https://intranet/", "https://db.internal/", "https://%31%32%37.0.0.1/",
	} {
		for _, got := range []response{
			c.do(http.MethodPost, "/v1/webhook_endpoints", fmt.Sprintf(`{"url": %q, "events": ["video.ready"]}`, forbidden)),
			c.do(http.MethodPatch, path, fmt.Sprintf(`{"url": %q}`, forbidden)),
		} {
			w.refused(got, 400, fault.URLForbidden, "url")
			require.Equal(t, "url", got.at("error.errors").([]any)[0].(map[string]any)["param"])
		}
	}
	require.Len(t, c.do(http.MethodGet, "/v1/webhook_endpoints", "").items(), 1)
	require.Equal(t, "https://example.com/hook", c.do(http.MethodGet, path, "").at("url"))
}

// TestEndpointsHaveTheModeOfTheirKey: a key manages the endpoints of its own mode, and both modes
// share the limit of the account.
func TestEndpointsHaveTheModeOfTheirKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	live := w.customer(0)
	test := live.testKey()
	made := test.endpoint(`{}`)
	require.Equal(t, false, made.at("livemode"))
	path := "/v1/webhook_endpoints/" + made.at("id").(string)
	require.Empty(t, live.do(http.MethodGet, "/v1/webhook_endpoints", "").at("data"))
	for _, op := range [][3]string{
		{http.MethodGet, "", ""}, {http.MethodPatch, "", `{"description": "x"}`}, {http.MethodPost, "/disable", ""}, {http.MethodPost, "/enable", ""},
		{http.MethodPost, "/rotate_secret", ""}, {http.MethodDelete, "", ""},
	} {
		w.refused(live.do(op[0], path+op[1], op[2]), 404, fault.ResourceNotFound, "id")
	}
	for range 4 {
		test.endpoint(`{}`)
	}
	for range 5 {
		live.endpoint(`{}`)
	}
	for _, c := range []*client{live, test} {
		got := c.do(http.MethodPost, "/v1/webhook_endpoints", anEndpoint)
		w.refused(got, 400, fault.WebhookEndpointLimit, "")
	}
	w.customer(0).endpoint(`{}`) // another account has its own limit
	require.Equal(t, http.StatusOK, test.do(http.MethodDelete, path, "").StatusCode)
	live.endpoint(`{}`)
}

func TestWebhookEndpointsAreListed(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	require.Empty(t, c.do(http.MethodGet, "/v1/webhook_endpoints", "").at("data"))
	c.testKey().endpoint(`{}`)
	var ids []string
	for range 5 {
		ids = append([]string{c.endpoint(`{}`).at("id").(string)}, ids...)
		w.advance(time.Second)
	}
	page := func(query string) (found []string, more bool) {
		got := c.do(http.MethodGet, "/v1/webhook_endpoints?"+query, "")
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		for _, e := range got.items() {
			require.NotContains(t, e, "secret")
			found = append(found, e["id"].(string))
		}
		return found, got.at("has_more").(bool)
	}
	created := c.do(http.MethodGet, "/v1/webhook_endpoints/"+ids[2], "").at("created_at").(string)
	for query, want := range map[string]struct {
		ids  []string
		more bool
	}{
		"":                                 {ids, false},
		"limit=2":                          {ids[:2], true},
		"limit=2&starting_after=" + ids[1]: {ids[2:4], true},
		"limit=2&starting_after=" + ids[3]: {ids[4:], false},
		"ending_before=" + ids[2]:          {ids[:2], false},
		"limit=1&ending_before=" + ids[2]:  {ids[1:2], true},
		"created_after=" + created:         {ids[:3], false},
		"created_before=" + created:        {ids[2:], false},
	} {
		got, more := page(query)
		require.Equal(t, want.ids, got, query)
		require.Equal(t, want.more, more, query)
	}
	w.refused(c.do(http.MethodGet, "/v1/webhook_endpoints?limit=0", ""), 400, fault.ValidationFailed, "limit")
	w.refused(c.do(http.MethodGet, "/v1/webhook_endpoints?starting_after=key_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1C", ""), 400, fault.ValidationFailed, "starting_after")
	require.Equal(t, http.StatusOK, c.do(http.MethodDelete, "/v1/webhook_endpoints/"+ids[0], "").StatusCode)
	w.refused(c.do(http.MethodGet, "/v1/webhook_endpoints?starting_after="+ids[0], ""), 404, fault.ResourceNotFound, "")
}

// TestEventTypesOfTheContract: the domain knows the types of the contract, and no others.
func TestEventTypesOfTheContract(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	all, err := json.Marshal(webhook.EventTypes())
	require.NoError(t, err)
	made := c.endpoint(`{"events": ` + string(all) + `}`)
	require.Len(t, made.at("events"), len(webhook.EventTypes()))
	refused := c.do(http.MethodPost, "/v1/webhook_endpoints", `{"url": "https://example.com", "events": ["other"]}`)
	message := refused.at("error.errors").([]any)[0].(map[string]any)["message"].(string)
	require.Equal(t, "must be one of "+strings.Join(webhook.EventTypes(), ", "), message)
}
