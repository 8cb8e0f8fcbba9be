package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake/egress"
	oauth "vqa/handlers/oauth/server"
)

// withAuthorization adds the authorization server. Its documents come from the hosts of client, or from public hosts.
func withAuthorization(o *httpapi.Options, client *egress.Client) {
	if client == nil {
		var err error
		if client, err = egress.New(egress.Options{}); err != nil {
			panic(err)
		}
	}
	handler, err := oauth.New(oauth.Options{
		Service: o.Service, Reader: o.Resources.(oauth.Reader), Ledger: o.Ledger, Transport: client, PublicURL: o.PublicURL,
		PricePerSecondCents: o.Pricing.PricePerSecondCents, FormKey: []byte("forms of agents"), Address: o.SandboxAddress,
	})
	if err != nil {
		panic(err)
	}
	o.Authorization = handler
}

// publisher serves metadata documents over https.
type publisher struct {
	*httptest.Server
	client *egress.Client
	// answer is called for each request, and fetched counts them.
	answer  atomic.Pointer[http.HandlerFunc]
	fetched atomic.Int32
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.fetched.Add(1)
		(*p.answer.Load())(w, r)
	}))
	t.Cleanup(p.Close)
	p.says(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"client_id": p.URL + r.URL.Path, "client_name": "Documented agent", "redirect_uris": []string{"http://127.0.0.1/callback"},
		})
	})
	authority := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o600))
	var err error
	p.client, err = egress.New(egress.Options{Allow: []string{p.Listener.Addr().String()}, CAFile: authority})
	require.NoError(t, err)
	return p
}

func (p *publisher) says(answer http.HandlerFunc) { p.answer.Store(&answer) }

// authorizing is a world with persons, agents and the authorization server.
type authorizing struct {
	*world
	issuer    *issuer
	publisher *publisher
}

func openAuthorizing(t *testing.T, adjust ...func(*httpapi.Options)) authorizing {
	t.Helper()
	issuer, publisher := newIssuer(t), newPublisher(t)
	w := open(t, append([]func(*httpapi.Options){withTools, func(o *httpapi.Options) {
		o.Sessions = issuer.sessions(o.Service.Now)
		withAuthorization(o, publisher.client)
	}}, adjust...)...)
	return authorizing{w, issuer, publisher}
}

// app is a program that asks a person for a permission.
type app struct {
	authorizing
	clientID, redirect, verifier, challenge string
}

const callback = "http://127.0.0.1:9/callback"

// register returns a program that registered itself.
func (w authorizing) register() app {
	w.t.Helper()
	got := w.registers(`{"client_name": "Test agent", "redirect_uris": ["http://127.0.0.1/callback"]}`)
	require.Equal(w.t, http.StatusCreated, got.StatusCode, string(got.raw))
	return w.app(got.at("client_id").(string))
}

// registers sends a registration.
func (w authorizing) registers(metadata string) response {
	w.t.Helper()
	return w.post("/register", metadata, "Content-Type", "application/json")
}

func (w authorizing) app(clientID string) app {
	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	return app{w, clientID, callback, verifier, base64.RawURLEncoding.EncodeToString(sum[:])}
}

// send sends a request without following redirects.
func (w authorizing) send(method, path, body string, headers ...string) response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	require.NoError(w.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(w.t, err)
	raw, err := io.ReadAll(got.Body)
	require.NoError(w.t, err)
	require.NoError(w.t, got.Body.Close())
	out := response{Response: got, raw: raw}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") {
		require.NoError(w.t, json.Unmarshal(raw, &out.json), string(raw))
	}
	return out
}

func (w authorizing) post(path, body string, headers ...string) response {
	w.t.Helper()
	return w.send(http.MethodPost, path, body, headers...)
}

// change changes parameters: pairs of a name and a value. The value "-" removes the parameter.
func change(v url.Values, changes []string) url.Values {
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == "-" {
			v.Del(changes[i])
		} else {
			v.Set(changes[i], changes[i+1])
		}
	}
	return v
}

// ask opens the consent page as a person.
func (a app) ask(p person, changes ...string) response {
	a.t.Helper()
	query := change(url.Values{
		"client_id": {a.clientID}, "redirect_uri": {a.redirect}, "response_type": {"code"}, "state": {"s"}, "code_challenge": {a.challenge},
		"code_challenge_method": {"S256"}, "scope": {"mcp"}, "resource": {a.url + edge.ToolsPath},
	}, changes)
	return a.send(http.MethodGet, "/authorize?"+query.Encode(), "", "Cookie", p.cookie)
}

// consentForm is the form of a consent page, with the decision to allow.
func consentForm(t *testing.T, page response, changes ...string) url.Values {
	t.Helper()
	require.Equal(t, http.StatusOK, page.StatusCode, string(page.raw))
	form := url.Values{"decision": {"allow"}, "mode": {"live"}, "limit_seconds": {""}}
	for _, field := range hiddenField.FindAllSubmatch(page.raw, -1) {
		form.Set(string(field[1]), unescape(string(field[2])))
	}
	require.Contains(t, form, "ticket", string(page.raw))
	return change(form, changes)
}

func unescape(s string) string { return strings.NewReplacer("&#43;", "+", "&amp;", "&").Replace(s) }

// answers sends the form of a consent page.
func (w authorizing) answers(p person, form url.Values, headers ...string) response {
	w.t.Helper()
	return w.post("/authorize", form.Encode(), append([]string{
		"Content-Type", "application/x-www-form-urlencoded", "Cookie", p.cookie, "Sec-Fetch-Site", "same-origin",
	}, headers...)...)
}

// redirected returns the parameters that a client gets.
func (a app) redirected(got response) url.Values {
	a.t.Helper()
	require.Equal(a.t, http.StatusSeeOther, got.StatusCode, string(got.raw))
	to, found := strings.CutPrefix(got.Header.Get("Location"), a.redirect+"?")
	require.True(a.t, found, got.Header.Get("Location"))
	values, err := url.ParseQuery(to)
	require.NoError(a.t, err)
	require.Equal(a.t, a.url, values.Get("iss"))
	require.Equal(a.t, "s", values.Get("state"))
	return values
}

// allowed returns the code that a person's approval gives.
func (a app) allowed(p person, changes ...string) string {
	a.t.Helper()
	code := a.redirected(a.answers(p, consentForm(a.t, a.ask(p), changes...))).Get("code")
	require.NotEmpty(a.t, code)
	return code
}

// exchange sends a request to the token endpoint.
func (a app) exchange(changes ...string) response {
	a.t.Helper()
	form := change(url.Values{"client_id": {a.clientID}}, changes)
	return a.post("/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// redeem exchanges a code.
func (a app) redeem(code string, changes ...string) response {
	a.t.Helper()
	return a.exchange(append([]string{
		"grant_type", "authorization_code", "code", code, "redirect_uri", a.redirect, "code_verifier", a.verifier, "resource", a.url + edge.ToolsPath,
	}, changes...)...)
}

// refreshes exchanges a refresh token.
func (a app) refreshes(token string, changes ...string) response {
	a.t.Helper()
	return a.exchange(append([]string{"grant_type", "refresh_token", "refresh_token", token}, changes...)...)
}

// tokens are the tokens of a new permission.
func (a app) tokens(p person, changes ...string) (access, refresh string) {
	a.t.Helper()
	got := a.redeem(a.allowed(p, changes...))
	require.Equal(a.t, http.StatusOK, got.StatusCode, string(got.raw))
	require.Equal(a.t, "no-store", got.Header.Get("Cache-Control"))
	require.Equal(a.t, "Bearer", got.at("token_type"))
	require.EqualValues(a.t, 3600, got.at("expires_in"))
	return got.at("access_token").(string), got.at("refresh_token").(string)
}

// lists sends a message to the tools with an access token, and returns the status.
func (w authorizing) lists(access string) int {
	w.t.Helper()
	got := w.post("/mcp", rpc("2025-11-25", "tools/list", ""), "Content-Type", "application/json", "Accept", "application/json, text/event-stream",
		"Authorization", "Bearer "+access, "Mcp-Protocol-Version", "2025-11-25")
	return got.StatusCode
}

// refusal describes a refused request of a program: its status and error.
func refusal(got response) string {
	if code, ok := got.at("error").(string); ok {
		return fmt.Sprintf("%d `%s`", got.StatusCode, code)
	}
	if code, ok := got.at("error.code").(string); ok {
		return fmt.Sprintf("%d `%s`", got.StatusCode, code)
	}
	return fmt.Sprintf("%d, a page", got.StatusCode)
}
