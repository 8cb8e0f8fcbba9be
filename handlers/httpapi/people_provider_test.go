package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/handlers/httpapi"
	"vqa/handlers/identity"
	"vqa/handlers/intake/egress"
)

// openIDProvider is an OpenID provider on this machine. It signs in every visitor as the same
// subject. It refuses a code without its verifier.
type openIDProvider struct {
	t      *testing.T
	server *httptest.Server

	mu sync.Mutex
	// subject is the person at the browser.
	subject string
	// codes are the requests of the codes that were not exchanged yet.
	codes map[string]url.Values
	// change changes the statement before it is signed, or is nil.
	change func(claims map[string]any)
	// broken makes the exchange fail with this status.
	broken int
	// exchanges counts the requests with a code.
	exchanges int
	// byForm makes the provider take the secret of its client in the form only.
	byForm bool
}

func newProvider(t *testing.T) *openIDProvider {
	t.Helper()
	p := &openIDProvider{t: t, subject: "ada-at-the-provider", codes: map[string]url.Values{}}
	routes := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
	}
	routes.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		at := p.server.URL
		methods := []string{"client_secret_basic"}
		if p.byForm {
			methods = []string{"client_secret_post", "private_key_jwt"}
		}
		answer(w, map[string]any{
			"token_endpoint_auth_methods_supported": methods,
			"issuer":                                at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "jwks_uri": at + "/keys",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	routes.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: rsaKeys()[0].Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	routes.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.exchanges++
		if p.broken != 0 {
			http.Error(w, "broken", p.broken)
			return
		}
		asked, known := p.codes[r.PostFormValue("code")]
		delete(p.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		id, secret, _ := r.BasicAuth()
		if p.byForm {
			id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
		}
		if !known || id != "client-1" || secret != "hush" || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") ||
			asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			w.WriteHeader(http.StatusBadRequest)
			answer(w, map[string]string{"error": "invalid_grant"})
			return
		}
		now := time.Now()
		claims := map[string]any{
			"iss": p.server.URL, "aud": "client-1", "sub": asked.Get("subject"), "nonce": asked.Get("nonce"), "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		}
		if p.change != nil {
			p.change(claims)
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: rsaKeys()[0], KeyID: "1"}}, nil)
		require.NoError(t, err)
		token, err := jwt.Signed(signer).Claims(claims).Serialize()
		require.NoError(t, err)
		answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": token})
	})
	p.server = httptest.NewTLSServer(routes)
	t.Cleanup(p.server.Close)
	return p
}

// signIn answers the browser that was sent to the provider: with the path of this service to come back to.
func (p *openIDProvider) signIn(at string) string {
	p.t.Helper()
	u, err := url.Parse(at)
	require.NoError(p.t, err)
	require.Equal(p.t, p.server.URL, u.Scheme+"://"+u.Host)
	asked := u.Query()
	require.Equal(p.t, "code", asked.Get("response_type"))
	require.Equal(p.t, "S256", asked.Get("code_challenge_method"))
	require.Equal(p.t, "client-1", asked.Get("client_id"))
	require.Equal(p.t, "openid email", asked.Get("scope"))
	p.mu.Lock()
	defer p.mu.Unlock()
	asked.Set("subject", p.subject)
	code := base64.RawURLEncoding.EncodeToString([]byte(asked.Get("nonce"))[:12])
	p.codes[code] = asked
	back, err := url.Parse(asked.Get("redirect_uri"))
	require.NoError(p.t, err)
	return back.Path + "?" + url.Values{"code": {code}, "state": {asked.Get("state")}}.Encode()
}

// openWithProvider starts a world whose people sign in at a provider.
func openWithProvider(t *testing.T) (*world, *openIDProvider) {
	t.Helper()
	p := newProvider(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}), 0o600))
	client, err := egress.New(egress.Options{Allow: []string{p.server.Listener.Addr().String()}, CAFile: ca})
	require.NoError(t, err)
	return openWithSignIn(t, func(o *httpapi.Options) {
		o.SignIn.Provider, err = identity.NewOpenID(identity.OpenIDOptions{
			Issuer: p.server.URL, ClientID: "client-1", ClientSecret: "hush", RedirectURL: o.PublicURL + "/signin/callback", Transport: client, Now: o.Service.Now,
		})
		require.NoError(t, err)
	}), p
}

// start begins a sign-in and returns the address at the provider.
func (v *visitor) start(returnTo string) string {
	v.w.t.Helper()
	got := v.open("/signin/provider?return_to=" + url.QueryEscape(returnTo))
	require.Equal(v.w.t, http.StatusSeeOther, got.StatusCode, string(got.raw))
	return got.Header.Get("Location")
}

func TestSignInAtAProvider(t *testing.T) {
	t.Parallel()
	w, p := openWithProvider(t)
	p.change = func(claims map[string]any) { claims["email"], claims["email_verified"] = "ada@example.com", true }
	v := w.visitor()
	require.Contains(t, string(v.open("/signin?return_to=/claim").raw), `href="/signin/provider?return_to=%2Fclaim"`)
	back := p.signIn(v.start("/claim"))
	// The browser comes from the page of the provider.
	got := v.send(http.MethodGet, back, "", "", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, "/claim", got.Header.Get("Location"), string(got.raw))
	says(t, v.open("/claim"), "Enter the code")
	require.Equal(t, 1, w.count("select count(*) from accounts where id = $1 and doc->>'email' = 'ada@example.com'", account.OwnedID(p.server.URL, p.subject)))
	require.Contains(t, string(v.open("/account/sessions").raw), "by provider")
	require.Zero(t, w.count("select count(*) from events where data::text like '%ada-at-the-provider%'"), "the subject is not stored")
	problem(t, v.open(back), http.StatusUnauthorized, "did not start this sign-in")
	for _, secret := range []string{back[len("/signin/callback?"):], "hush"} {
		require.NotContains(t, w.logged.String(), secret)
	}
}

// TestAProviderThatTakesTheSecretInTheForm: the client authenticates in the way that the provider describes.
func TestAProviderThatTakesTheSecretInTheForm(t *testing.T) {
	t.Parallel()
	w, p := openWithProvider(t)
	p.byForm = true
	v := w.visitor()
	require.Equal(t, "/claim", v.open(p.signIn(v.start("/claim"))).Header.Get("Location"))
	require.Equal(t, 1, p.exchanges)
}

// TestRepeatedAnswersOfAProvider: a program that keeps the cookie of a sign-in can repeat the answer of the provider. It
// gets no second session, and cannot make this service flood the provider.
func TestRepeatedAnswersOfAProvider(t *testing.T) {
	t.Parallel()
	w, p := openWithProvider(t)
	v := w.visitor()
	back := p.signIn(v.start("/claim"))
	ticket := v.cookie("vqa_signin")
	repeat := func(answer string) response {
		v.setCookie("vqa_signin", ticket)
		return v.open(answer)
	}
	require.Equal(t, "/claim", repeat(back).Header.Get("Location"))
	for range 30 {
		problem(t, repeat(back), http.StatusConflict, "already completed")
	}
	require.Equal(t, 1, p.exchanges)
	require.Equal(t, 1, w.count("select count(*) from sessions"))

	at, err := url.Parse(v.start("/claim"))
	require.NoError(t, err)
	ticket = v.cookie("vqa_signin")
	guess := "/signin/callback?" + url.Values{"code": {"guess"}, "state": {at.Query().Get("state")}}.Encode()
	for range 9 { // the answer that signed in was the first of this minute
		problem(t, repeat(guess), http.StatusUnauthorized, "did not confirm this sign-in")
	}
	problem(t, repeat(guess), http.StatusTooManyRequests, "Too many attempts")
	require.Equal(t, 10, p.exchanges)
}

// TestAttacksOnASignInAtAProvider: each answer that does not belong to the sign-in of this browser is refused.
func TestAttacksOnASignInAtAProvider(t *testing.T) {
	t.Parallel()
	w, p := openWithProvider(t)
	p.subject = "eve"
	attacker := w.visitor()
	theirs := p.signIn(attacker.start("/claim"))
	p.subject = "ada-at-the-provider"
	victim := w.visitor()
	problem(t, victim.open(theirs), http.StatusUnauthorized, "did not start this sign-in") // login CSRF
	mine := p.signIn(victim.start("/claim"))
	problem(t, victim.open(theirs), http.StatusUnauthorized, "belongs to another sign-in")
	problem(t, victim.open(mine), http.StatusUnauthorized, "did not start this sign-in") // its state is used up
	require.Empty(t, victim.cookie("vqa_session"))

	// A stolen state and code are useless without the cookie of the browser, and a stolen code in another sign-in.
	mine = p.signIn(victim.start("/claim"))
	stolen, err := url.Parse(mine)
	require.NoError(t, err)
	problem(t, w.visitor().open(mine), http.StatusUnauthorized, "did not start this sign-in")
	w.advance(time.Minute)
	at, err := url.Parse(attacker.start("/claim"))
	require.NoError(t, err)
	swapped := url.Values{"code": {stolen.Query().Get("code")}, "state": {at.Query().Get("state")}}
	problem(t, attacker.open("/signin/callback?"+swapped.Encode()), http.StatusUnauthorized, "did not confirm this sign-in")
	require.Empty(t, attacker.cookie("vqa_session"))

	late := w.visitor()
	answer := p.signIn(late.start("/claim"))
	w.advance(10 * time.Minute)
	problem(t, late.open(answer), http.StatusUnauthorized, "more than ten minutes")
	mixed := w.visitor()
	problem(t, mixed.open(p.signIn(mixed.start("/claim"))+"&iss=https%3A%2F%2Fevil.example"), http.StatusUnauthorized, "another provider")
	denied := w.visitor()
	at, err = url.Parse(denied.start("/claim"))
	require.NoError(t, err)
	problem(t, denied.open("/signin/callback?error=access_denied&error_description=%3Cb%3E&state="+at.Query().Get("state")), http.StatusUnauthorized, "did not sign you in")
	problem(t, w.visitor().open("/signin/provider?return_to=//evil.example"), http.StatusBadRequest, "return_to")
	require.Zero(t, w.count("select count(*) from sessions"))
}

func TestStatementsOfAProviderThatAreRefused(t *testing.T) {
	t.Parallel()
	w, p := openWithProvider(t)
	for name, change := range map[string]func(map[string]any){
		"of another issuer": func(c map[string]any) { c["iss"] = "https://evil.example" }, "for another client": func(c map[string]any) { c["aud"] = "client-2" },
		"that expired": func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }, "with another nonce": func(c map[string]any) { c["nonce"] = "x" },
		"without a nonce": func(c map[string]any) { delete(c, "nonce") }, "without a subject": func(c map[string]any) { delete(c, "sub") },
	} {
		t.Log("a statement", name)
		p.change = change
		v := w.visitor()
		problem(t, v.open(p.signIn(v.start("/claim"))), http.StatusUnauthorized, "did not confirm this sign-in")
		require.Empty(t, v.cookie("vqa_session"))
		w.advance(time.Minute)
	}
	p.change, p.broken = nil, http.StatusBadGateway
	v := w.visitor()
	problem(t, v.open(p.signIn(v.start("/claim"))), http.StatusBadGateway, "Try again later")
	p.broken = 0
	require.Equal(t, "/claim", v.open(p.signIn(v.start("/claim"))).Header.Get("Location"))
	p.server.Close()
}
