package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
)

func TestAgentsDiscoverTheAuthorizationServer(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	for path, resource := range map[string]string{"": "/mcp", "/mcp": "/mcp", "/mcp/": "/mcp/"} {
		got := w.send(http.MethodPost, resource, "{}")
		require.Contains(t, got.Header.Get("WWW-Authenticate"), `"`+w.url+"/.well-known/oauth-protected-resource"+resource+`"`)
		got = w.send(http.MethodGet, "/.well-known/oauth-protected-resource"+path, "")
		require.Equal(t, w.url+resource, got.at("resource"), "a client compares it with the address that it was given")
		require.Equal(t, w.url, got.at("authorization_servers.0"))
		require.Equal(t, "*", got.Header.Get("Access-Control-Allow-Origin"))
	}
	got := w.send(http.MethodGet, "/.well-known/oauth-authorization-server", "")
	require.Equal(t, w.url, got.at("issuer"))
	for _, member := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"} {
		require.Contains(t, got.at(member), w.url+"/")
	}
	for _, path := range []string{"/token", "/register", "/revoke", "/.well-known/oauth-authorization-server"} {
		got := w.send(http.MethodOptions, path, "", "Origin", "http://localhost:6274", "Access-Control-Request-Method", "POST")
		require.Equal(t, http.StatusNoContent, got.StatusCode, path)
		require.Equal(t, "*", got.Header.Get("Access-Control-Allow-Origin"))
	}
	preflight := w.send(http.MethodOptions, "/authorize", "", "Origin", "http://localhost:6274")
	require.Equal(t, http.StatusMethodNotAllowed, preflight.StatusCode)
	require.Empty(t, preflight.Header.Get("Access-Control-Allow-Origin"), "the pages are for persons")
	got = w.send(http.MethodGet, "/token", "")
	require.Equal(t, []any{http.StatusMethodNotAllowed, "POST, OPTIONS", "invalid_request"}, []any{got.StatusCode, got.Header.Get("Allow"), got.at("error")})
}

// TestAuthorizeAnAgent goes from registration to an answer, and revokes the permission.
func TestAuthorizeAnAgent(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	ada := w.signedIn(w.issuer, "ada")
	for name, a := range map[string]app{"registered": w.register(), "documented": w.app(w.publisher.URL + "/agent.json")} {
		stranger := a.ask(person{w.world, ""})
		require.Equal(t, http.StatusSeeOther, stranger.StatusCode)
		back, err := url.Parse(stranger.Header.Get("Location"))
		require.NoError(t, err)
		require.Equal(t, "/signin", back.Path)
		require.True(t, strings.HasPrefix(back.Query().Get("return_to"), "/authorize?client_id="), back.String())

		page := a.ask(ada)
		text := string(page.raw)
		require.Contains(t, text, "127.0.0.1:9")
		require.Contains(t, text, account.OwnedID(w.issuer.name, "ada"))
		if name == "registered" {
			require.Contains(t, text, "unverified")
		} else {
			require.NotContains(t, text, "unverified")
			require.Contains(t, text, w.publisher.Listener.Addr().String())
		}
		access, refresh := a.tokens(ada, "mode", "test")
		require.Equal(t, http.StatusOK, w.lists(access))
		agent := (&client{w.world, command.IssuedKey{Secret: access}}).agent()
		fixture := agent.done("get_test_fixture", nil)
		created := agent.done("create_analysis", map[string]any{"video_id": fixture.at("video_id"), "prompt": fixture.at("prompt")})
		require.Equal(t, "completed", created.at("analysis.status"), name)

		w.advance(time.Hour)
		ada = w.signedIn(w.issuer, "ada")
		require.Equal(t, http.StatusUnauthorized, w.lists(access), "an access token lasts an hour")
		again := a.refreshes(refresh)
		require.Equal(t, http.StatusOK, again.StatusCode, string(again.raw))
		access = again.at("access_token").(string)
		require.Equal(t, http.StatusOK, w.lists(access))

		agents := w.send(http.MethodGet, "/account/agents", "", "Cookie", ada.cookie)
		form := url.Values{}
		for _, field := range hiddenField.FindAllSubmatch(agents.raw, -1) {
			form.Set(string(field[1]), string(field[2]))
		}
		require.Len(t, form, 2, string(agents.raw))
		send := func(p person, headers ...string) response {
			return w.post("/account/agents", form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded", "Cookie", p.cookie}, headers...)...)
		}
		require.Equal(t, http.StatusForbidden, send(w.signedIn(w.issuer, "eve")).StatusCode)
		require.Equal(t, http.StatusForbidden, send(ada, "Sec-Fetch-Site", "cross-site").StatusCode)
		require.Equal(t, http.StatusOK, w.lists(access))
		require.Contains(t, string(send(ada).raw), "The permission is revoked.")
		require.Equal(t, http.StatusUnauthorized, w.lists(access))
		require.Equal(t, "400 `invalid_grant`", refusal(a.refreshes(again.at("refresh_token").(string))))
		for _, secret := range []string{access, refresh, again.at("refresh_token").(string)} {
			require.NotContains(t, w.logged.String(), secret)
		}
	}
}

func TestAPersonRefusesAnAgent(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	a, ada := w.register(), w.signedIn(w.issuer, "ada")
	form := consentForm(t, a.ask(ada), "decision", "deny")
	require.Equal(t, "access_denied", a.redirected(w.answers(ada, form)).Get("error"))
	form.Set("decision", "allow")
	require.Equal(t, http.StatusConflict, w.answers(ada, form).StatusCode, "a page has one use")
	for _, limit := range []string{"0", "-1", "1.5", "x", "1000000001"} {
		page := w.answers(ada, consentForm(t, a.ask(ada), "limit_seconds", limit))
		require.Equal(t, http.StatusOK, page.StatusCode)
		require.Contains(t, string(page.raw), "Enter a whole number")
		a.redirected(w.answers(ada, consentForm(t, page, "limit_seconds", "5")))
	}
	require.Equal(t, http.StatusBadRequest, w.answers(ada, consentForm(t, a.ask(ada), "mode", "all")).StatusCode)
	require.Equal(t, http.StatusBadRequest, w.answers(ada, consentForm(t, a.ask(ada), "decision", "perhaps")).StatusCode)
	form = consentForm(t, a.ask(ada))
	w.advance(11 * time.Minute)
	require.Equal(t, http.StatusGone, w.answers(ada, form).StatusCode)
	require.NoError(t, w.service.RestrictAccount(t.Context(), account.OwnedID(w.issuer.name, "ada"), "abuse", "test", ""))
	require.Equal(t, http.StatusForbidden, a.ask(ada).StatusCode)
}

// TestAnAgentSpendsAtMostItsLimit: the ledger refuses an agent more than the person allowed. The person's own key is
// not bound.
func TestAnAgentSpendsAtMostItsLimit(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	a, ada := w.register(), w.signedIn(w.issuer, "ada")
	access, _ := a.tokens(ada, "limit_seconds", "15")
	owner := account.OwnedID(w.issuer.name, "ada")
	_, err := w.service.GrantCredits(t.Context(), command.GrantCredits{CreditChange: command.CreditChange{AccountID: owner, Operator: "test"}, Kind: credit.Purchase, Seconds: 100})
	require.NoError(t, err)
	key, err := w.service.IssueKey(t.Context(), command.NewKey{AccountID: owner, Mode: account.Live, Tier: account.Paid, Operator: "test"})
	require.NoError(t, err)
	human := &client{w.world, key}
	videoID := human.ready()
	agent := (&client{w.world, command.IssuedKey{Secret: access}}).agent()
	ask := map[string]any{"video_id": videoID, "prompt": "Is there a dog?"}
	agent.done("create_analysis", ask)
	agent.done("create_analysis", ask)
	refused := agent.fails(fault.QuotaExceeded, "create_analysis", ask)
	require.Contains(t, string(refused.raw), "A person can authorize the agent again")
	got := human.do(http.MethodPost, "/v1/analyses", `{"video_id": "`+videoID+`", "prompt": "Is there a dog?"}`)
	require.Equal(t, http.StatusAccepted, got.StatusCode, string(got.raw))
	page := w.send(http.MethodGet, "/account/agents", "", "Cookie", ada.cookie)
	require.Contains(t, string(page.raw), "12 of 15 s")
}

func TestRegistrationsAreLimited(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	body := `{"redirect_uris": ["http://127.0.0.1/callback"]}`
	registered := 0
	for range 22 {
		got := w.registers(body)
		if got.StatusCode == http.StatusCreated {
			registered++
			continue
		}
		require.Equal(t, "429 `rate_limit_exceeded`", refusal(got))
		require.NotEmpty(t, got.Header.Get("Retry-After"))
	}
	require.Equal(t, 20, registered)
	w.advance(2 * time.Minute)
	require.Equal(t, "429 `rate_limit_exceeded`", refusal(w.registers(body)), "20 unused clients of an address")
	w.advance(grant.UnusedClientLife)
	require.Equal(t, http.StatusCreated, w.registers(body).StatusCode, "unused clients expire")
}

func TestARegistrationIsJSON(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	body := `{"redirect_uris": ["http://127.0.0.1/callback"]}`
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/json/x", "application/json; charset"} {
		got := w.post("/register", body, "Content-Type", kind)
		require.Equal(t, "400 `invalid_client_metadata`", refusal(got), kind)
		require.Contains(t, got.at("error_description"), "content type application/json")
	}
	require.Equal(t, http.StatusCreated, w.post("/register", body, "Content-Type", "Application/JSON; charset=utf-8").StatusCode)
}

func TestAnExpiredClientRegistersAgain(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	a := w.register()
	_, kept := func() (string, app) { b := w.register(); _, r := b.tokens(w.signedIn(w.issuer, "ada")); return r, b }()
	w.advance(grant.UnusedClientLife)
	require.Equal(t, "401 `invalid_client`", refusal(a.redeem("svcac_x")))
	require.Equal(t, "400, a page", refusal(a.ask(w.signedIn(w.issuer, "ada"))))
	require.Equal(t, "400 `invalid_grant`", refusal(kept.refreshes("svcrt_x")), "a person approved this client, so it lives on")
	require.Equal(t, "401 `invalid_client`", refusal(w.app("client_unknown").redeem("svcac_x")))
}

func TestAClientRevokesItsTokens(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	a, b, ada := w.register(), w.register(), w.signedIn(w.issuer, "ada")
	access, refresh := a.tokens(ada)
	revoke := func(a app, token string) int {
		return a.post("/revoke", url.Values{"client_id": {a.clientID}, "token": {token}}.Encode(), "Content-Type", "application/x-www-form-urlencoded").StatusCode
	}
	require.Equal(t, http.StatusOK, revoke(b, access), "an unknown token is answered like a known one")
	require.Equal(t, http.StatusOK, revoke(a, "svcat_x"))
	require.Equal(t, http.StatusOK, w.lists(access))
	require.Equal(t, http.StatusBadRequest, revoke(a, ""))
	require.Equal(t, http.StatusOK, revoke(a, refresh))
	require.Equal(t, http.StatusUnauthorized, w.lists(access))
}

func TestDocumentsAreCachedAndFailuresAreNot(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	a, ada := w.app(w.publisher.URL+"/agent.json"), w.signedIn(w.issuer, "ada")
	good := *w.publisher.answer.Load()
	w.publisher.says(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) })
	require.Equal(t, http.StatusSeeOther, a.ask(person{w.world, ""}).StatusCode)
	require.EqualValues(t, 0, w.publisher.fetched.Load(), "nothing is fetched for a stranger")
	require.Equal(t, http.StatusBadRequest, a.ask(ada).StatusCode)
	w.publisher.says(good)
	require.Equal(t, http.StatusOK, a.ask(ada).StatusCode)
	require.Equal(t, http.StatusOK, a.ask(ada).StatusCode)
	require.EqualValues(t, 2, w.publisher.fetched.Load())
	w.advance(16 * time.Minute)
	require.Equal(t, http.StatusOK, a.ask(w.signedIn(w.issuer, "ada")).StatusCode)
	require.EqualValues(t, 3, w.publisher.fetched.Load())
}

// TestAuthorizationNeedsItsOption: without the option the paths do not exist, and tokens are refused.
func TestAuthorizationNeedsItsOption(t *testing.T) {
	t.Parallel()
	w := open(t, withTools, func(o *httpapi.Options) { o.Authorization = nil })
	w.refused(w.do(http.MethodGet, "/.well-known/oauth-authorization-server", ""), http.StatusNotFound, fault.ResourceNotFound, "")
	got := authorizing{world: w}.post("/mcp", "{}", "Authorization", "Bearer svcat_x")
	require.Equal(t, "Bearer error=\"invalid_token\", error_description=\"invalid_api_key\"", got.Header.Get("WWW-Authenticate"))
}

// TestFixtureOfALivePermission: a person cannot give an agent a test key, but can allow the free sample video.
func TestFixtureOfALivePermission(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	a := w.register()
	next := func(mode string) result {
		access, _ := a.tokens(w.signedIn(w.issuer, "ada"), "mode", mode)
		return (&client{w.world, command.IssuedKey{Secret: access}}).agent().done("get_test_fixture", nil)
	}
	live := next("live")
	require.Contains(t, live.at("next"), "ask the person to connect this program again and to choose the free sample video")
	require.NotContains(t, live.at("next"), "test key")
	require.NotContains(t, live.json, "video_id")
	require.Equal(t, "Call create_analysis with this video_id and prompt. It is free.", next("test").at("next"))
}

// TestAPermissionForTheSampleShowsNoMoney: it gives no balance, no transactions and no import.
func TestAPermissionForTheSampleShowsNoMoney(t *testing.T) {
	t.Parallel()
	w := openAuthorizing(t)
	access, _ := w.register().tokens(w.signedIn(w.issuer, "ada"), "mode", "test")
	_, err := w.service.GrantCredits(t.Context(), command.GrantCredits{
		CreditChange: command.CreditChange{AccountID: account.OwnedID(w.issuer.name, "ada"), Operator: "test"}, Kind: credit.Purchase, Seconds: 987654,
	})
	require.NoError(t, err)
	agent := (&client{w.world, command.IssuedKey{Secret: access}}).agent()
	agent.fails(fault.InsufficientScope, "get_credits", nil)
	agent.fails(fault.InsufficientScope, "get_usage", nil)
	agent.fails(fault.InsufficientScope, "create_video_from_url", map[string]any{"url": "https://example.com/a.mp4"})
	fixture := agent.done("get_test_fixture", nil)
	question := map[string]any{"video_id": fixture.at("video_id"), "prompt": fixture.at("prompt")}
	created := agent.done("create_analysis", question)
	id := map[string]any{"analysis_id": created.at("analysis.id")}
	question["prompts"] = []any{"Is there a ball?", "Is there a dog?"}
	delete(question, "prompt")
	for _, got := range []result{
		created, agent.done("get_analysis", id), agent.done("wait_for_analysis", id), agent.done("create_analysis_batch", question),
		agent.done("list_video_analyses", map[string]any{"video_id": fixture.at("video_id")}), agent.done("list_videos", nil),
	} {
		require.NotContains(t, string(got.raw)+string(got.full.raw), "987654")
	}
}
