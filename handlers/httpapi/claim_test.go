package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/httpapi"
)

// person is a signed-in person with a browser.
type person struct {
	w      *world
	cookie string
}

// page opens the claim page with a code, like the link in claim_url.
func (p person) page(code string) response {
	p.w.t.Helper()
	return p.w.do(http.MethodGet, "/claim?"+url.Values{"code": {code}}.Encode(), "", "Cookie", p.cookie)
}

// send sends a form of the page. headers are added to those of a browser.
func (p person) send(form url.Values, headers ...string) response {
	p.w.t.Helper()
	all := append([]string{
		"Content-Type", "application/x-www-form-urlencoded", "Cookie", p.cookie, "Sec-Fetch-Site", "same-origin",
	}, headers...)
	return p.w.do(http.MethodPost, "/claim", form.Encode(), all...)
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// form is the form of the page with a decision.
func formOf(t *testing.T, page response, decision string) url.Values {
	t.Helper()
	form := url.Values{"decision": {decision}}
	for _, field := range hiddenField.FindAllSubmatch(page.raw, -1) {
		form.Set(string(field[1]), string(field[2]))
	}
	require.Len(t, form, 3, "the page has no form:\n%s", page.raw)
	return form
}

// says requires a page that contains these texts.
func says(t *testing.T, page response, texts ...string) {
	t.Helper()
	require.Equal(t, http.StatusOK, page.StatusCode, string(page.raw))
	require.Equal(t, "text/html", page.Header.Get("Content-Type"))
	for _, text := range texts {
		require.Contains(t, string(page.raw), text)
	}
}

func TestApproveOnThePage(t *testing.T) {
	t.Parallel()
	w, issuer := openWithSessions(t)
	p := w.signedIn(issuer, "ada")
	claim := w.requestedKey(w.tester().do(http.MethodPost, "/v1/keys/request", ""))

	page := p.page(claim.userCode)
	says(t, page, claim.userCode, "billed to your account", "a program that already has an API key", "less than a minute ago", "15 minutes</time>")
	require.Contains(t, string(page.raw), account.OwnedID(issuer.name, "ada"))
	done := p.send(formOf(t, page, "approve"))
	says(t, done, "Approved.")
	says(t, p.page(claim.userCode), "You approved this")
	consumed := claim.poll()
	require.Equal(t, "consumed", consumed.at("status"), string(consumed.raw))
	key := consumed.at("api_key").(string)
	require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/v1/credits", "", "Authorization", "Bearer "+key).StatusCode)
	says(t, p.page(claim.userCode), "This request is closed")

	for _, secret := range []string{claim.deviceCode, claim.userCode, key, p.cookie} {
		require.NotContains(t, w.logged.String(), secret)
	}
}

func TestDenyOnThePage(t *testing.T) {
	t.Parallel()
	w, issuer := openWithSessions(t)
	p := w.signedIn(issuer, "ada")
	claim := w.requestKey()
	page := p.page(strings.ToLower(strings.ReplaceAll(claim.userCode, "-", "")))
	says(t, page, claim.userCode, "a program without an API key")
	says(t, p.send(formOf(t, page, "deny")), "Denied.")
	w.refused(claim.poll(), http.StatusGone, fault.DeviceCodeExpired, "")
	says(t, p.send(formOf(t, page, "approve")), "This request is closed")
}

// TestPagesThatHaveNoForm checks the pages for people who cannot decide.
func TestPagesThatHaveNoForm(t *testing.T) {
	t.Parallel()
	w, issuer := openWithSessions(t)
	p, other := w.signedIn(issuer, "ada"), w.signedIn(issuer, "bob")
	claim := w.requestKey()

	stranger := person{w, ""}.page(strings.ToLower(claim.userCode))
	says(t, stranger, "Sign in", issuer.name+"?return_to="+strings.ReplaceAll(url.QueryEscape(w.url+"/claim?code="+claim.userCode), "&", "&amp;"))
	require.NotContains(t, string(stranger.raw), "<form")
	says(t, w.customer(0).do(http.MethodGet, "/claim?code="+claim.userCode, ""), "Sign in")
	says(t, w.signedOut(issuer, "ada").page(claim.userCode), "Sign in")

	says(t, w.do(http.MethodGet, "/claim", "", "Authorization", "Bearer "+issuer.session("ada", w.now())), "Enter the code", `name="code"`)
	says(t, p.page("BCDF-GHJK"), "no request with this code", `role="alert"`)
	says(t, p.page("BCDF"), "eight letters")
	says(t, p.page(`"><script>alert(1)</script>`), "eight letters", "&#34;&gt;&lt;script&gt;")

	// A code is decided once.
	says(t, other.send(formOf(t, other.page(claim.userCode), "approve")), "Approved.")
	says(t, p.page(claim.userCode), "already approved or denied")

	late := w.requestKey()
	page := p.page(late.userCode)
	w.advance(account.DeviceCodeLife)
	says(t, p.page(late.userCode), "This request is closed")
	says(t, p.send(formOf(t, page, "approve")), "This request is closed")
	w.refused(late.poll(), http.StatusGone, fault.DeviceCodeExpired, "")
}

func TestClaimPageWithoutSessions(t *testing.T) {
	t.Parallel()
	w := open(t)
	requested := w.do(http.MethodPost, "/v1/keys/request", "")
	require.Contains(t, requested.at("instructions"), "sign-in is not configured")
	claim := w.requestedKey(requested)
	says(t, person{w, ""}.page(claim.userCode), "sign-in is not configured")
	form := url.Values{"code": {claim.userCode}, "decision": {"approve"}, "token": {"x"}}
	w.refused(person{w, ""}.send(form), http.StatusUnauthorized, fault.InvalidAPIKey, "")
}

func TestARestrictedAccountClaimsNothing(t *testing.T) {
	t.Parallel()
	w, issuer := openWithSessions(t)
	p := w.signedIn(issuer, "ada")
	claim := w.requestKey()
	form := formOf(t, p.page(claim.userCode), "approve")
	require.NoError(t, w.service.RestrictAccount(t.Context(), account.OwnedID(issuer.name, "ada"), "abuse", "test", ""))
	says(t, p.page(claim.userCode), "restricted")
	w.refused(p.send(form), http.StatusForbidden, fault.AccountRestricted, "")
	require.Equal(t, "pending", claim.poll().at("status"))
}

// TestForgedForms: a form that does not come from the person's page has no effect.
func TestForgedForms(t *testing.T) {
	t.Parallel()
	w, issuer := openWithSessions(t)
	p, other := w.signedIn(issuer, "ada"), w.signedIn(issuer, "eve")
	claim, another := w.requestKey(), w.requestKey()
	form := formOf(t, p.page(claim.userCode), "approve")
	with := func(name, value string) url.Values {
		changed := url.Values{}
		for n, v := range form {
			changed[n] = v
		}
		changed.Set(name, value)
		return changed
	}
	without := with("token", "")
	without.Del("token")
	twice := with("decision", "approve")
	twice.Add("decision", "deny")
	for name, test := range map[string]struct {
		send   func() response
		status int
		code   fault.Code
	}{
		"of another site":      {func() response { return p.send(form, "Sec-Fetch-Site", "cross-site") }, 403, fault.InsufficientScope},
		"of a sister site":     {func() response { return p.send(form, "Sec-Fetch-Site", "same-site") }, 403, fault.InsufficientScope},
		"of another origin":    {func() response { return p.send(form, "Sec-Fetch-Site", "", "Origin", "https://evil.example") }, 403, fault.InsufficientScope},
		"of an opaque origin":  {func() response { return p.send(form, "Sec-Fetch-Site", "", "Origin", "null") }, 403, fault.InsufficientScope},
		"of another person":    {func() response { return other.send(form) }, 403, fault.InsufficientScope},
		"for another code":     {func() response { return p.send(with("code", another.userCode)) }, 403, fault.InsufficientScope},
		"with a made-up token": {func() response { return p.send(with("token", "made up")) }, 403, fault.InsufficientScope},
		"without a token":      {func() response { return p.send(without) }, 400, fault.ValidationFailed},
		"without a session":    {func() response { return person{w, ""}.send(form) }, 401, fault.InvalidAPIKey},
		"with an expired session": {func() response {
			return w.signedOut(issuer, "ada").send(form)
		}, 401, fault.InvalidAPIKey},
		"with another decision": {func() response { return p.send(with("decision", "perhaps")) }, 400, fault.ValidationFailed},
		"with a field too many": {func() response { return p.send(with("account_id", "acct_1")) }, 400, fault.ValidationFailed},
		"with two decisions":    {func() response { return p.send(twice) }, 400, fault.ValidationFailed},
		"as JSON":               {func() response { return p.send(form, "Content-Type", "application/json") }, 415, fault.UnsupportedMediaType},
		"as plain text":         {func() response { return p.send(form, "Content-Type", "text/plain") }, 415, fault.UnsupportedMediaType},
		"too large":             {func() response { return p.send(with("code", strings.Repeat("B", 9000))) }, 413, fault.PayloadTooLarge},
		"in the address": {func() response {
			return w.do(http.MethodPost, "/claim?"+form.Encode(), "", "Cookie", p.cookie, "Content-Type", "application/x-www-form-urlencoded")
		}, 400, fault.ValidationFailed},
		"that is none": {func() response {
			return w.do(http.MethodPost, "/claim", "%zz", "Cookie", p.cookie, "Content-Type", "application/x-www-form-urlencoded")
		}, 400, fault.ValidationFailed},
	} {
		t.Log("a form", name)
		w.refused(test.send(), test.status, test.code, "")
	}
	require.Equal(t, "pending", claim.poll().at("status"))
	require.Equal(t, "pending", another.poll().at("status"))
	says(t, p.send(form), "Approved.")
}

// TestGuessingCodes: after ten wrong codes, the page refuses all codes of this person, and
// still works for others.
func TestGuessingCodes(t *testing.T) {
	t.Parallel()
	w, issuer := openWithSessions(t)
	p := w.signedIn(issuer, "eve")
	claim := w.requestKey()
	page := p.page(claim.userCode)
	form := formOf(t, page, "approve")
	for range account.MaxMissedCodes {
		says(t, p.page("BCDF-GHJK"), "no request with this code")
	}
	says(t, p.page("BCDF-GHJK"), "Too many wrong codes")
	says(t, p.page(claim.userCode), "Too many wrong codes")
	says(t, p.send(form), "Too many wrong codes")
	require.Equal(t, "pending", claim.poll().at("status"))
	says(t, w.signedIn(issuer, "ada").page(claim.userCode), claim.userCode)
	w.advance(account.MissedCodesWindow)
	fresh := w.requestKey()
	says(t, p.page(fresh.userCode), fresh.userCode)
}

func TestClaimPageIsClosedToOthers(t *testing.T) {
	t.Parallel()
	w, issuer := openWithSessions(t)
	page := w.signedIn(issuer, "ada").page(w.requestKey().userCode)
	h := page.Header
	require.Equal(t, "no-store", h.Get("Cache-Control"))
	require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
	require.Equal(t, "DENY", h.Get("X-Frame-Options"))
	require.Empty(t, h.Get("Access-Control-Allow-Origin"))
	require.NotContains(t, string(page.raw), "<script")
	require.NotContains(t, string(page.raw), "style=")
	policy := h.Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		require.Contains(t, policy, rule)
	}
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindSubmatch(page.raw)
	require.NotNil(t, style)
	sum := sha256.Sum256(style[1])
	require.Contains(t, policy, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "the page has a style")
}

// openWithSessions starts a world with an issuer of sessions.
func openWithSessions(t *testing.T, adjust ...func(*httpapi.Options)) (*world, *issuer) {
	t.Helper()
	issuer := newIssuer(t)
	return open(t, append([]func(*httpapi.Options){func(o *httpapi.Options) { o.Sessions = issuer.sessions(o.Service.Now) }}, adjust...)...), issuer
}

// signedIn returns a person with a valid session.
func (w *world) signedIn(i *issuer, subject string) person {
	return person{w, "vqa_session=" + i.session(subject, w.now())}
}

// signedOut returns a person with an expired session.
func (w *world) signedOut(i *issuer, subject string) person {
	return person{w, "vqa_session=" + i.session(subject, w.now().Add(-2*time.Hour))}
}
