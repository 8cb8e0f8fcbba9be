package httpapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	diff "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/video"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
)

var update = flag.Bool("update", false, "write docs/authentication.md instead of comparing with it")

const authenticationPage = "../../docs/authentication.md"

// described is an operation of the contract.
type described struct {
	id, method, path string
	// scope is empty if the operation needs none.
	scope string
}

// operations reads them from the contract file, ordered by path and method.
func operations(t *testing.T) []described {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	require.NoError(t, err)
	var all []described
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			d := described{id: op.OperationID, method: method, path: path}
			if scope, _ := op.Extensions["x-scope"].(string); scope != "any" {
				d.scope = scope
			}
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b described) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
	})
	return all
}

// holder is a tenant with a ready video, which owns the resources of a request.
type holder struct {
	*client
	caller command.Caller
	video  string
}

// credential is one kind of credential.
type credential struct {
	name   string
	holder *holder
	bearer bearer
}

// bearer returns the credential for an operation on a video or a resource of it.
type bearer func(op described, videoID string) string

func fixed(secret string) bearer { return func(described, string) string { return secret } }

// table is a world with every kind of credential.
type table struct {
	*world
	issuer *issuer
	// limited and tokens are the secrets that exist, by their limits.
	limited, tokens map[string]string
}

func newTable(t *testing.T) *table {
	t.Helper()
	i := newIssuer(t)
	w := open(t, func(o *httpapi.Options) {
		o.Sessions = i.sessions(o.Service.Now)
		o.Rates = edge.Rates{Reads: 1e6, Writes: 1e6, AnalysesCreate: 1e6, Parse: 1e6}
	})
	// This test must not reach any rate limit.
	w.service.Limits.MaxConcurrentAnalyses = 1e6
	w.service.Limits.SandboxPerIP, w.service.Limits.UpgradesPerAddress, w.service.Limits.UpgradesPerDay = 1e6, 1e6, 1e6
	return &table{world: w, issuer: i, limited: map[string]string{}, tokens: map[string]string{}}
}

// live returns a live tenant with a ready video.
func (w *table) live(c *client, keyID string) *holder {
	h := &holder{client: c, caller: command.Caller{AccountID: c.key.AccountID, KeyID: keyID, Livemode: true, Tier: account.Paid}}
	url := "https://example.com/clip.mp4"
	v, err := w.service.CreateVideo(w.t.Context(), h.caller, command.CreateVideo{URL: &url})
	require.NoError(w.t, err)
	fetch := command.Fetch{AccountID: c.key.AccountID, VideoID: v.ID, URL: url, Attempt: 1}
	second := int64(1e6)
	_, err = w.service.FinishFetch(w.t.Context(), fetch, video.File{
		ObjectKey: "videos/" + v.ID, ContentType: "video/mp4", SizeBytes: 1, DurationMicros: &second,
	})
	require.NoError(w.t, err)
	h.video = v.ID
	return h
}

// issue creates another key of an account as an operator.
func (w *table) issue(accountID string, expires *time.Time) command.IssuedKey {
	key, err := w.service.IssueKey(w.t.Context(), command.NewKey{AccountID: accountID, Mode: account.Live, Tier: account.Paid, Name: "test", ExpiresAt: expires, Operator: "test"})
	require.NoError(w.t, err)
	return key
}

// credentials returns all kinds in the order of the page.
func (w *table) credentials() [][]credential {
	ctx := w.t.Context()
	main := w.customer(1e6)
	owner := w.live(main, main.key.KeyID)
	elsewhere := w.live(main, main.key.KeyID)

	// Create the expired ones first, then advance the clock.
	minute := w.now().Add(time.Minute)
	expired := w.issue(main.key.AccountID, &minute)
	overToken := main.token(`{"scopes": ["videos:write", "analyses:write"], "ttl_s": 60}`)
	overSession := w.issuer.session("owner", w.now())
	w.advance(2 * time.Hour)

	revoked := w.issue(main.key.AccountID, nil)
	require.NoError(w.t, w.service.RevokeKey(ctx, main.key.AccountID, revoked.KeyID, "test", ""))
	out := w.customer(1e6)
	outside := w.live(out, out.key.KeyID)
	require.NoError(w.t, w.service.RestrictAccount(ctx, out.key.AccountID, "test", "test", ""))
	legacy := "pk_" + strings.Repeat("a", 32)
	_, err := w.service.ImportKey(ctx, command.LegacyKey{AccountID: main.key.AccountID, Name: "old", Secret: legacy, Operator: "test"})
	require.NoError(w.t, err)
	test := w.tester()
	sandbox := &holder{client: test, caller: command.Caller{AccountID: test.key.AccountID, KeyID: test.key.KeyID, Tier: account.Sandbox}, video: test.key.FixtureVideoID}
	session := w.issuer.session("owner", w.now())
	person := w.live(&client{w.world, command.IssuedKey{AccountID: w.signIn("owner")}}, "")

	return [][]credential{{
		{"none", owner, fixed("")},
		{"live key", owner, fixed(main.key.Secret)},
		{"live key with just the scope", owner, func(op described, _ string) string { return w.limitedTo(main, op, true) }},
		{"live key without the scope", owner, func(op described, _ string) string { return w.limitedTo(main, op, false) }},
		{"test key", sandbox, fixed(test.key.Secret)},
		{"legacy key", owner, fixed(legacy)},
		{"session", person, fixed(session)},
	}, {
		{"client token", owner, func(op described, _ string) string { return w.tokenFor(main, op, true, "") }},
		{"client token without the scope", owner, func(op described, _ string) string { return w.tokenFor(main, op, false, "") }},
		{"client token bound to the video", owner, func(op described, videoID string) string { return w.tokenFor(main, op, true, videoID) }},
		{"client token bound to another video", owner, func(op described, _ string) string { return w.tokenFor(main, op, true, elsewhere.video) }},
	}, {
		{"unknown", owner, fixed("nonsense")},
		{"expired key", owner, fixed(expired.Secret)},
		{"revoked key", owner, fixed(revoked.Secret)},
		{"key of a restricted account", outside, fixed(out.key.Secret)},
		{"expired session", person, fixed(overSession)},
		{"expired client token", owner, fixed(overToken)},
	}}
}

// signIn opens the account of a person, with credits.
func (w *table) signIn(subject string) string {
	accountID, err := w.service.SignIn(w.t.Context(), command.Person{Issuer: w.issuer.name, Subject: subject}, "req")
	require.NoError(w.t, err)
	_, err = w.service.GrantCredits(w.t.Context(), command.GrantCredits{
		CreditChange: command.CreditChange{AccountID: accountID, Reason: "test", Operator: "test", Idempotency: &command.Idempotency{Key: "grant"}},
		Kind:         "purchase", Seconds: 1e6,
	})
	require.NoError(w.t, err)
	return accountID
}

// limitedTo returns a key with one scope that the operation accepts, or with all scopes that
// it does not accept.
func (w *table) limitedTo(c *client, op described, fitting bool) string {
	var scopes []string
	for _, scope := range account.Scopes() {
		if fitting == (scope == op.scope) && (fitting || !account.Allows([]string{scope}, op.scope)) {
			scopes = append(scopes, scope)
		}
	}
	if op.scope == "" {
		scopes = []string{"analyses:read"}
	}
	name := strings.Join(scopes, " ")
	if w.limited[name] == "" {
		w.limited[name] = c.limited(scopes...).key.Secret
	}
	return w.limited[name]
}

// tokenFor returns a client token whose scopes the operation accepts, if there are any, or
// does not accept.
func (w *table) tokenFor(c *client, op described, fitting bool, videoID string) string {
	var scopes []string
	for _, scope := range []string{"videos:write", "analyses:read", "analyses:write", "streams:create", "streams:signal"} {
		if op.scope == "" || fitting == account.Allows([]string{scope}, op.scope) {
			scopes = append(scopes, strconv.Quote(scope))
		}
	}
	if len(scopes) == 0 {
		scopes = []string{`"analyses:write"`}
	}
	body := `{"scopes": [` + strings.Join(scopes, ", ") + `]`
	if videoID != "" {
		body += `, "video_id": "` + videoID + `"`
	}
	if body += "}"; w.tokens[body] == "" {
		w.tokens[body] = c.token(body)
	}
	return w.tokens[body]
}

// request returns a valid request for an operation and its video. The resources belong to the
// holder. They are new if the operation consumes them.
func (w *table) request(op described, h *holder) (path, contentType, body, videoID string) {
	id, videoID := h.video, h.video
	var deliveryID string
	switch op.id {
	case "createVideo":
		body = `{"content_type": "video/mp4"}`
	case "deleteVideo":
		v, err := w.service.CreateVideo(w.t.Context(), h.caller, command.CreateVideo{ContentType: "video/mp4"})
		require.NoError(w.t, err)
		id, videoID = v.ID, v.ID
	case "createAnalysis":
		body = `{"video_id": "` + id + `", "prompt": "Is there a ball?"}`
	case "createAnalysisBatch":
		body = `{"video_id": "` + id + `", "prompts": ["Is there a ball?", "Is there a dog?"]}`
	case "getAnalysis", "cancelAnalysis", "rerunAnalysis", "streamAnalysis":
		prompt := "Is there a ball?"
		a, err := w.service.CreateAnalysis(w.t.Context(), h.caller, command.CreateAnalysis{VideoID: h.video, Prompt: &prompt})
		require.NoError(w.t, err)
		id = a.Analysis.ID
	case "createStream":
		w.endStreams(h)
		body = `{"prompt": "Is there a ball?"}`
	case "preflightStream":
		body = `{}`
	case "createWHIPSession":
		id, contentType, body = w.stream(h), "application/sdp", "v=0"
	case "updateWHIPSession":
		id, contentType, body = w.stream(h), "application/trickle-ice-sdpfrag", "a=end-of-candidates"
	case "getStream", "endStream", "getStreamRecording", "deleteStreamRecording", "signalStream", "streamResults", "deleteWHIPSession":
		id = w.stream(h)
	case "parsePrompt":
		body = `{"prompt": "Is there a ball?"}`
	case "createApiKey":
		body = `{"name": "more"}`
	case "getApiKey", "revokeApiKey", "rotateApiKey":
		key, err := w.service.MintKey(w.t.Context(), h.caller, "more", []string{"keys:write"})
		require.NoError(w.t, err)
		id = key.ID
	case "createWebhookEndpoint":
		w.removeEndpoints(h)
		body = anEndpoint
	case "updateWebhookEndpoint":
		id, body = w.hook(h), `{"description": "changed"}`
	case "getWebhookEndpoint", "deleteWebhookEndpoint", "enableWebhookEndpoint", "disableWebhookEndpoint", "rotateWebhookSecret",
		"listWebhookDeliveries", "testWebhookEndpoint":
		id = w.hook(h)
	case "redeliverWebhookDeliveries":
		id, body = w.hook(h), `{"created_after": "2026-11-22T00:00:00Z"}`
	case "getWebhookDelivery", "listWebhookAttempts", "redeliverWebhookDelivery":
		id = w.hook(h)
		deliveryID = w.failedDelivery(h, id)
	case "createClientToken":
		body = `{"scopes": ["analyses:read"]}`
	case "decideClaim":
		contentType, body = "application/x-www-form-urlencoded", "code=BCDF-GHJK&decision=approve&token=x"
	case "getCreditProof":
		id = "txn_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"
	case "getEvent":
		id = "evt_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"
	}
	if body != "" {
		contentType = cmp.Or(contentType, "application/json")
	}
	return strings.NewReplacer("{id}", id, "{delivery_id}", deliveryID, "{code}", "unknown", "{file}", "unknown.js").Replace(op.path), contentType, body, videoID
}

// answer returns the status and the code of an operation for a credential.
func (w *table) answer(op described, c credential) string {
	path, contentType, body, videoID := w.request(op, c.holder)
	// A stream does not end: read only its status.
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, op.method, w.url+path, strings.NewReader(body))
	require.NoError(w.t, err)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if shown := c.bearer(op, videoID); shown != "" {
		r.Header.Set("Authorization", "Bearer "+shown)
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer func() { _ = got.Body.Close() }()
	require.Less(w.t, got.StatusCode, 500, "%s by %s", op.id, c.name)
	if got.StatusCode < 400 {
		return strconv.Itoa(got.StatusCode)
	}
	raw, err := io.ReadAll(got.Body)
	require.NoError(w.t, err)
	var envelope struct{ Error struct{ Code string } }
	require.NoError(w.t, json.Unmarshal(raw, &envelope), string(raw))
	require.NotEmpty(w.t, envelope.Error.Code)
	return fmt.Sprintf("%d `%s`", got.StatusCode, envelope.Error.Code)
}

// page has the values of docs/authentication.md.
type page struct {
	// Same are the operations with the same result for every credential.
	Same     []row
	Sections []section
}

// section is one table with a row for each operation and a column for each credential.
type section struct {
	Columns []string
	Rows    []row
}

type row struct {
	Operations string
	Answers    []string
}

// TestAuthenticationTable calls every operation of the contract with every kind of credential
// and compares the results with docs/authentication.md, which -update writes.
func TestAuthenticationTable(t *testing.T) {
	t.Parallel()
	w := newTable(t)
	groups := w.credentials()
	p := page{Sections: make([]section, len(groups))}
	for i, group := range groups {
		for _, c := range group {
			p.Sections[i].Columns = append(p.Sections[i].Columns, c.name)
		}
	}
	for _, op := range operations(t) {
		name, answers := "`"+op.method+" "+op.path+"`", make([][]string, len(groups))
		for i, group := range groups {
			for _, c := range group {
				answers[i] = append(answers[i], w.answer(op, c))
			}
		}
		if all := slices.Concat(answers...); len(slices.Compact(all)) == 1 {
			p.Same = append(p.Same, row{name, all[:1]})
			continue
		}
		for i := range groups {
			p.Sections[i].Rows = append(p.Sections[i].Rows, row{name, answers[i]})
		}
	}
	p.Same, p.Sections[2].Rows = joined(p.Same), joined(p.Sections[2].Rows)
	var got bytes.Buffer
	require.NoError(t, template.Must(template.ParseFiles("testdata/authentication.md.tmpl")).Execute(&got, p))
	if *update {
		require.NoError(t, os.WriteFile(authenticationPage, got.Bytes(), 0o644))
	}
	committed, err := os.ReadFile(authenticationPage)
	require.NoError(t, err)
	require.Empty(t, diff.Diff(string(committed), got.String()), "a result changed: if this is intended, run the test with -update")
}

// joined merges operations with the same results into one row.
func joined(rows []row) []row {
	var out []row
	for _, r := range rows {
		same := slices.IndexFunc(out, func(o row) bool { return slices.Equal(o.Answers, r.Answers) })
		if same < 0 {
			out = append(out, r)
			continue
		}
		out[same].Operations += ", " + r.Operations
	}
	return out
}
