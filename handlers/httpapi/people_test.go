package httpapi_test

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
)

// openWithSignIn starts a world whose pages people sign in to.
func openWithSignIn(t *testing.T, adjust ...func(*httpapi.Options)) *world {
	t.Helper()
	return open(t, append([]func(*httpapi.Options){func(o *httpapi.Options) {
		o.SignIn = &httpapi.SignIn{Secret: bytes.Repeat([]byte{5}, 32), TicketKey: bytes.Repeat([]byte{6}, 32), Network: edge.ClientNetwork(nil)}
	}}, adjust...)...)
}

// link returns the secret of a new one-time link.
func (w *world) link() string {
	w.t.Helper()
	secret, _, err := w.service.CreateSignInLink(w.t.Context(), "jo", "")
	require.NoError(w.t, err)
	return secret
}

// operator returns a browser in which the operator is signed in.
func (w *world) operator() *visitor {
	w.t.Helper()
	v := w.visitor()
	got := v.post("/signin/link", url.Values{"link": {w.link()}})
	require.Equal(w.t, http.StatusSeeOther, got.StatusCode, string(got.raw))
	return v
}

// problem requires a page about a refusal.
func problem(t *testing.T, got response, status int, says string) {
	t.Helper()
	require.Equal(t, status, got.StatusCode, string(got.raw))
	require.Equal(t, "text/html; charset=utf-8", got.Header.Get("Content-Type"))
	require.Contains(t, string(got.raw), says)
	require.Empty(t, got.Header.Get("Location"), "a refusal redirects nowhere")
}

func TestSignInWithALink(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	v, link := w.visitor(), w.link()
	require.Equal(t, "/signin?return_to=%2Faccount%2Fsessions", v.open("/account/sessions").Header.Get("Location"))
	page := v.open("/signin")
	require.Contains(t, string(page.raw), "vqa signin")
	require.NotContains(t, string(page.raw), "<script")
	require.NotContains(t, string(page.raw), "come back to this page")
	require.Contains(t, string(v.open("/signin?return_to=/authorize").raw), "come back to this page and reload it")

	for range 3 { // previews
		require.Contains(t, string(w.visitor().open("/signin?link="+link+"&return_to=/claim").raw), "Sign in as operator")
	}
	page = v.open("/signin?link=" + link + "&return_to=/claim%3Fcode%3DBCDF-GHJK")
	form := url.Values{}
	for _, field := range hiddenField.FindAllSubmatch(page.raw, -1) {
		form.Set(string(field[1]), string(field[2]))
	}
	require.Equal(t, url.Values{"link": {link}, "return_to": {"/claim?code=BCDF-GHJK"}}, form)
	got := v.post("/signin/link", form)
	require.Equal(t, http.StatusSeeOther, got.StatusCode, string(got.raw))
	require.Equal(t, "/claim?code=BCDF-GHJK", got.Header.Get("Location"))
	set := got.Header.Get("Set-Cookie")
	require.Regexp(t, `^vqa_session=[\w-]{43}; Path=/; Max-Age=25\d{5}; HttpOnly; SameSite=Lax$`, set)

	says(t, v.open("/claim"), "Enter the code")
	page = v.open("/account/sessions")
	for _, text := range []string{"Firefox on Linux", "(this browser)", "from this machine", "by one-time link", command.OperatorAccount()} {
		require.Contains(t, string(page.raw), text)
	}
	problem(t, w.visitor().post("/signin/link", form), http.StatusUnauthorized, "This link is not valid")
	for _, secret := range []string{link, v.cookie("vqa_session")} {
		require.NotContains(t, w.logged.String(), secret)
		require.Zero(t, w.count("select count(*) from events where data::text like '%' || $1 || '%'", secret))
	}
}

func TestLinksThatDoNotSignIn(t *testing.T) {
	t.Parallel()
	w, foreign := openWithSignIn(t), openWithSignIn(t)
	late := w.link()
	elsewhere := foreign.link()
	w.advance(account.SignInLinkLife)
	for name, link := range map[string]string{"expired": late, "of another installation": elsewhere, "made up": "abc", "empty": ""} {
		v := w.visitor()
		t.Log(name)
		problem(t, v.post("/signin/link", url.Values{"link": {link}}), http.StatusUnauthorized, "This link is not valid")
		require.Empty(t, v.cookie("vqa_session"))
	}
	require.Zero(t, w.count("select count(*) from sessions"))
	require.NoError(t, w.service.RestrictAccount(t.Context(), w.operatorAccount(), "abuse", "jo", ""))
	problem(t, w.visitor().post("/signin/link", url.Values{"link": {w.link()}}), http.StatusForbidden, "restricted")
}

// operatorAccount opens the account of the operator.
func (w *world) operatorAccount() string {
	w.t.Helper()
	w.operator()
	return command.OperatorAccount()
}

func TestReturnToStaysOnTheService(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	for _, evil := range []string{
		"//evil.example", `/\evil.example`, `\\evil.example`, "/%2fevil.example", "/%2Fevil.example", "/%5cevil.example", "/%252fevil.example", "/\t/evil.example",
		"/%09/evil.example", "/./%2fevil.example", "/a/..//evil.example", "/.//evil.example", "https://evil.example", "javascript:alert(1)", "evil.example",
		"/\r\nSet-Cookie: a=b", " /x", "/signout", "/%73ignout", "///evil.example", "/a#//evil.example", "/" + strings.Repeat("a", 5000), "http:evil.example", "@evil.example",
	} {
		problem(t, w.visitor().open("/signin?return_to="+url.QueryEscape(evil)), http.StatusBadRequest, "return_to")
		v := w.visitor()
		problem(t, v.post("/signin/link", url.Values{"link": {"x"}, "return_to": {evil}}, "X-Forwarded-For", evil[:1]), http.StatusBadRequest, "return_to")
		w.advance(time.Minute) // attempts are limited
	}
	for _, fine := range []string{"/authorize?client_id=https%3A%2F%2Fa.example%2F&state=%2F%2Fx", "/claim?code=BCDF-GHJK", "/live"} {
		got := w.visitor().post("/signin/link", url.Values{"link": {w.link()}, "return_to": {fine}})
		require.Equal(t, fine, got.Header.Get("Location"), string(got.raw))
		w.advance(time.Minute)
	}
}

// TestLoginCSRF: no other site signs a browser in or out, or uses its session.
func TestLoginCSRF(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	v, link := w.operator(), w.link()
	held := v.cookie("vqa_session")
	for path, form := range map[string]url.Values{
		"/signin/link": {"link": {link}}, "/signout": {}, "/account/sessions/revoke": {"session": {"others"}}, "/session/token": {},
	} {
		for _, from := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
			{"Sec-Fetch-Site", "", "Origin", "null"},
		} {
			problem(t, v.post(path, form, from...), http.StatusForbidden, "from another site")
		}
	}
	require.Equal(t, held, v.cookie("vqa_session"))
	require.Equal(t, http.StatusOK, v.open("/account/sessions").StatusCode)
	require.Equal(t, http.StatusSeeOther, w.visitor().post("/signin/link", url.Values{"link": {link}}).StatusCode, "the link was not used")
}

// TestSessionFixation: a secret that an attacker put into a browser is never the secret of a session.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	attacker := w.operator()
	planted := attacker.cookie("vqa_session")
	for _, value := range []string{"planted-by-an-attacker-planted-by-an-attacker", planted} {
		victim := w.visitor()
		victim.setCookie("vqa_session", value)
		require.Equal(t, http.StatusSeeOther, victim.post("/signin/link", url.Values{"link": {w.link()}}).StatusCode)
		require.NotEqual(t, value, victim.cookie("vqa_session"))
		require.Equal(t, http.StatusOK, victim.open("/account/sessions").StatusCode)
	}
	require.Equal(t, http.StatusSeeOther, attacker.open("/account/sessions").StatusCode, "the session that the attacker planted ended")
}

func TestEndOfASession(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	signedOut, idle, used, revoked, revoker := w.operator(), w.operator(), w.operator(), w.operator(), w.operator()
	token := signedOut.post("/session/token", nil, "Accept", "application/json").at("token").(string)
	require.Equal(t, http.StatusOK, w.as(token, http.MethodGet, "/v1/videos", "").StatusCode)
	got := signedOut.post("/signout", nil)
	require.Equal(t, "/signin", got.Header.Get("Location"))
	require.Empty(t, signedOut.cookie("vqa_session"))
	w.refused(w.as(token, http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")

	require.Equal(t, 4, w.count("select count(*) from sessions where not ended"))
	require.Equal(t, http.StatusSeeOther, revoker.post("/account/sessions/revoke", url.Values{"session": {w.sessionOf(revoked)}}).StatusCode)
	require.Equal(t, "/signin?return_to=%2Faccount%2Fsessions", revoked.open("/account/sessions").Header.Get("Location"))
	problem(t, revoked.post("/session/token", nil), http.StatusUnauthorized, "Your session has ended")

	for range 4 {
		w.advance(account.SessionIdle - time.Hour)
		require.Equal(t, http.StatusOK, used.open("/account/sessions").StatusCode, "each use delays the end")
	}
	w.advance(account.SessionIdle - time.Hour)
	problem(t, idle.post("/session/token", nil), http.StatusUnauthorized, "Your session has ended")
	require.Equal(t, http.StatusSeeOther, used.open("/account/sessions").StatusCode, "30 days are over")
}

// sessionOf returns the id of the session of a browser.
func (w *world) sessionOf(v *visitor) (id string) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), "select id from sessions where secret_hash = $1", account.HashSecret(v.cookie("vqa_session"))).Scan(&id))
	return id
}

func TestRevokeAllOtherSessions(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	mine, other := w.operator(), w.operator()
	stranger, err := w.service.OpenPersonSession(t.Context(), command.Person{Issuer: "https://id.example", Subject: "eve", Proof: "1"}, command.Browser{RequestID: "req_1"})
	require.NoError(t, err)
	eve := w.visitor()
	eve.setCookie("vqa_session", stranger.Secret)
	// Another account sees and ends nothing here.
	page := eve.open("/account/sessions")
	require.NotContains(t, string(page.raw), w.sessionOf(mine))
	problem(t, eve.post("/account/sessions/revoke", url.Values{"session": {w.sessionOf(mine)}}), http.StatusNotFound, "There is no resource")
	require.Equal(t, http.StatusSeeOther, mine.post("/account/sessions/revoke", url.Values{"session": {"others"}}).StatusCode)
	require.Equal(t, http.StatusOK, mine.open("/account/sessions").StatusCode)
	require.Equal(t, http.StatusOK, eve.open("/account/sessions").StatusCode)
	require.Equal(t, http.StatusSeeOther, other.open("/account/sessions").StatusCode)
}

// TestSessionsOfAnAccountAreLimited: a sign-in ends the oldest sessions beyond the limit, also those of other nodes.
func TestSessionsOfAnAccountAreLimited(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	first, second := w.operator(), w.operator()
	w.advance(time.Minute)
	for range account.MaxSessions - 2 {
		_, err := w.service.UseSignInLink(t.Context(), w.link(), command.Browser{RequestID: "req_1"})
		require.NoError(t, err)
	}
	active := "select count(*) from sessions where not ended"
	require.Equal(t, account.MaxSessions, w.count(active))
	w.advance(time.Minute)
	newest := w.operator()
	require.Equal(t, account.MaxSessions, w.count(active))
	require.Equal(t, http.StatusOK, newest.open("/account/sessions").StatusCode)
	open := 0
	for _, v := range []*visitor{first, second} {
		if v.open("/account/sessions").StatusCode == http.StatusOK {
			open++
		}
	}
	require.Equal(t, 1, open, "one of the two oldest ended")
	// Sessions that have expired do not count and hide none.
	w.advance(account.SessionIdle)
	again := w.operator()
	require.Equal(t, 1, strings.Count(string(again.open("/account/sessions").raw), "(this browser)"))
	require.Equal(t, account.MaxSessions+1, w.count(active))
}

// TestTheCookieIsForPagesOnly: the API accepts the token of a page, never its cookie or the secret in it.
func TestTheCookieIsForPagesOnly(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	v := w.operator()
	secret := v.cookie("vqa_session")
	w.refused(w.do(http.MethodGet, "/v1/videos", "", "Cookie", "vqa_session="+secret), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	w.refused(w.as(secret, http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	says(t, w.do(http.MethodGet, "/claim", "", "Authorization", "Bearer "+secret), "You are not signed in")

	got := v.post("/session/token", nil)
	require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	token := got.at("token").(string)
	require.Equal(t, command.OperatorAccount(), got.at("account_id"))
	require.Equal(t, http.StatusOK, w.as(token, http.MethodGet, "/v1/api-keys", "").StatusCode)
	require.NotContains(t, w.logged.String(), token)
	problem(t, w.visitor().post("/session/token", nil), http.StatusUnauthorized, "no session")
	problem(t, v.post("/session/token", nil, "Sec-Fetch-Site", ""), http.StatusForbidden, "Only a page of this service")

	w.advance(5*time.Minute + 2*time.Second)
	w.refused(w.as(token, http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	parts := strings.Split(v.post("/session/token", nil).at("token").(string), ".")
	for name, forged := range map[string]string{
		"another signature": parts[0] + "." + parts[1] + "." + strings.Split(token, ".")[2], "no signature": parts[0] + "." + parts[1] + ".",
		"another body": parts[0] + "." + strings.Split(token, ".")[1] + "." + parts[2],
	} {
		t.Log(name)
		w.refused(w.as(forged, http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	}
	require.NoError(t, w.service.RestrictAccount(t.Context(), command.OperatorAccount(), "abuse", "jo", ""))
	problem(t, v.post("/session/token", nil), http.StatusForbidden, "restricted")
}

// TestTokensOfAnotherInstallation: another secret or another address makes tokens that this service refuses.
func TestTokensOfAnotherInstallation(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	w.operator()
	for name, of := range map[string]struct {
		secret byte
		issuer string
		status int
	}{"same": {5, w.url, http.StatusOK}, "another secret": {6, w.url, http.StatusUnauthorized}, "another address": {5, "https://other.example", http.StatusUnauthorized}} {
		t.Log(name)
		tokens, err := edge.NewSessionTokens(bytes.Repeat([]byte{of.secret}, 32), of.issuer, w.now)
		require.NoError(t, err)
		var id string
		require.NoError(t, w.pool.QueryRow(t.Context(), "select id from sessions").Scan(&id))
		token, _, err := tokens.Issue(account.Session{ID: id, AccountID: command.OperatorAccount()})
		require.NoError(t, err)
		require.Equal(t, of.status, w.as(token, http.MethodGet, "/v1/videos", "").StatusCode)
		other, _, err := tokens.Issue(account.Session{ID: id, AccountID: "acct_01M7XTVXA3TP1KT3CVT6KX006G"})
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, w.as(other, http.MethodGet, "/v1/videos", "").StatusCode, "a session of another account")
	}
}

func TestAttemptsToSignInAreLimited(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	v := w.visitor()
	for range 10 {
		problem(t, v.post("/signin/link", url.Values{"link": {"guess"}}), http.StatusUnauthorized, "not valid")
	}
	got := v.post("/signin/link", url.Values{"link": {w.link()}})
	problem(t, got, http.StatusTooManyRequests, "Too many attempts")
	require.NotEmpty(t, got.Header.Get("Retry-After"))
}

func TestSecureCookies(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t, func(o *httpapi.Options) { o.PublicURL = "https://vqa.example" })
	got := w.visitor().post("/signin/link", url.Values{"link": {w.link()}})
	set := got.Header.Get("Set-Cookie")
	require.Regexp(t, `^__Host-vqa_session=[\w-]{43}; Path=/; Max-Age=\d+; HttpOnly; Secure; SameSite=Lax$`, set)
	secret, _, _ := strings.Cut(strings.TrimPrefix(set, "__Host-vqa_session="), ";")
	page := w.do(http.MethodGet, "/claim", "", "Cookie", "__Host-vqa_session="+secret)
	says(t, page, "Enter the code")
	// A sister host can set a cookie without the prefix.
	says(t, w.do(http.MethodGet, "/claim", "", "Cookie", "vqa_session="+secret), "You are not signed in")
	v := w.visitor()
	v.setCookie("__Host-vqa_session", secret)
	token := v.post("/session/token", nil).at("token").(string)
	says(t, w.do(http.MethodGet, "/claim", "", "Authorization", "Bearer "+token), "Enter the code")
	says(t, w.do(http.MethodGet, "/claim", "", "Cookie", "vqa_session="+token), "You are not signed in")
}

func TestPagesOfPeopleAreClosedToOthers(t *testing.T) {
	t.Parallel()
	w := openWithSignIn(t)
	v := w.operator()
	for _, path := range []string{"/signin", "/signin?link=x", "/account/sessions", "/account/none"} {
		h := v.open(path).Header
		if path == "/account/none" {
			require.Equal(t, http.StatusNotFound, v.open(path).StatusCode)
			continue
		}
		require.Equal(t, "no-store", h.Get("Cache-Control"), path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		require.Equal(t, "DENY", h.Get("X-Frame-Options"), path)
		require.Empty(t, h.Get("Access-Control-Allow-Origin"), path)
		for _, rule := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			require.Contains(t, h.Get("Content-Security-Policy"), rule, path)
		}
	}
	problem(t, v.send(http.MethodPut, "/signin", "", ""), http.StatusNotFound, "does not accept this method")
	problem(t, v.send(http.MethodPost, "/signin/link", "application/json", "{}"), http.StatusUnsupportedMediaType, "content type")
	problem(t, v.post("/signin/link", url.Values{"link": {strings.Repeat("x", 20_000)}}), http.StatusRequestEntityTooLarge, "larger than")
	problem(t, v.post("/signin/link", url.Values{"link": {"a", "b"}}), http.StatusBadRequest, "only once")
	require.Equal(t, "/account/sessions", v.open("/account").Header.Get("Location"))
	without := open(t)
	require.Equal(t, http.StatusNotFound, without.visitor().open("/signin").StatusCode)
}
