package httpapi_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
)

// issuer signs sessions and publishes its keys over https.
type issuer struct {
	t      *testing.T
	name   string
	server *httptest.Server
	// fetched counts the fetches of the keys.
	fetched atomic.Int32

	mu     sync.Mutex
	rsaKey *rsa.PrivateKey
	id     string
	// answer replaces the published keys if it is set.
	answer http.HandlerFunc
}

// rsaKeys are created once, because this is slow. No test depends on which key it gets.
var rsaKeys = sync.OnceValue(func() [2]*rsa.PrivateKey {
	var keys [2]*rsa.PrivateKey
	for i := range keys {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		keys[i] = key
	}
	return keys
})

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, name: "https://id.example", rsaKey: rsaKeys()[0], id: "first"}
	i.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.fetched.Add(1)
		i.mu.Lock()
		answer, set := i.answer, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.rsaKey.Public(), KeyID: i.id, Algorithm: "RS256", Use: "sig"}}}
		i.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(set)
	}))
	t.Cleanup(i.server.Close)
	return i
}

// answers replaces the published keys. nil publishes the keys again.
func (i *issuer) answers(answer http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

// rotate signs with another key from now on.
func (i *issuer) rotate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rsaKey, i.id = rsaKeys()[1], "second"
}

func (i *issuer) sessions(now func() time.Time) *edge.Sessions {
	return edge.NewSessions(edge.SessionOptions{
		Issuer: i.name, KeysURL: i.server.URL, Transport: i.server.Client().Transport, Now: now,
	})
}

// claims returns the claims of a valid session.
func (i *issuer) claims(subject string, now time.Time) jwt.Claims {
	return jwt.Claims{Issuer: i.name, Subject: subject, IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(time.Hour))}
}

// session returns a valid session of a subject.
func (i *issuer) session(subject string, now time.Time) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return sign(i.t, jose.RS256, jose.JSONWebKey{Key: i.rsaKey, KeyID: i.id}, i.claims(subject, now))
}

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key any, claims any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	require.NoError(t, err)
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	require.NoError(t, err)
	return token
}

// hour is a clock that a test sets.
type hour struct{ at atomic.Pointer[time.Time] }

func newHour() *hour {
	h := &hour{}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h.at.Store(&at)
	return h
}

func (h *hour) now() time.Time { return *h.at.Load() }

func (h *hour) advance(d time.Duration) { at := h.now().Add(d); h.at.Store(&at) }

func TestSessionVerify(t *testing.T) {
	t.Parallel()
	i, h := newIssuer(t), newHour()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	own, foreign := rsaKeys()[0], rsaKeys()[1]
	public := func(key crypto.Signer, id, algorithm, use string) jose.JSONWebKey {
		return jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: algorithm, Use: use}
	}
	i.answers(func(w http.ResponseWriter, _ *http.Request) {
		set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
			public(own, "rsa", "RS256", "sig"), public(ec, "ec", "", ""), public(wide, "wide", "", ""),
			public(foreign, "enc", "", "enc"), public(foreign, "other-algorithm", "RS512", ""),
		}})
		require.NoError(t, err)
		// Unknown keys must not break the others.
		_, _ = w.Write([]byte(strings.Replace(string(set), `"keys":[`, `"keys":[{"kty":"FUTURE","kid":"x"},{"kty":"RSA"},7,`, 1)))
	})
	sessions := i.sessions(h.now)
	good := func(change ...func(*jwt.Claims)) jwt.Claims {
		c := i.claims("user", h.now())
		for _, f := range change {
			f(&c)
		}
		return c
	}
	expiring := func(d time.Duration) func(*jwt.Claims) {
		return func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(h.now().Add(d)) }
	}
	withRSA := func(c any) string { return sign(t, jose.RS256, jose.JSONWebKey{Key: own, KeyID: "rsa"}, c) }
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + strings.Split(withRSA(good()), ".")[1] + "."
	modulus := own.Public().(*rsa.PublicKey).N.Bytes()

	tests := map[string]struct {
		token string
		ok    bool
	}{
		"RS256":                      {withRSA(good()), true},
		"ES256":                      {sign(t, jose.ES256, jose.JSONWebKey{Key: ec, KeyID: "ec"}, good()), true},
		"without a key id":           {sign(t, jose.RS256, own, good()), true},
		"expired within the leeway":  {withRSA(good(expiring(-59 * time.Second))), true},
		"not yet valid, nearly":      {withRSA(good(func(c *jwt.Claims) { c.NotBefore = jwt.NewNumericDate(h.now().Add(59 * time.Second)) })), true},
		"expired":                    {withRSA(good(expiring(-61 * time.Second))), false},
		"not yet valid":              {withRSA(good(func(c *jwt.Claims) { c.NotBefore = jwt.NewNumericDate(h.now().Add(61 * time.Second)) })), false},
		"without an end":             {withRSA(good(func(c *jwt.Claims) { c.Expiry = nil })), false},
		"without a subject":          {withRSA(good(func(c *jwt.Claims) { c.Subject = "" })), false},
		"of another issuer":          {withRSA(good(func(c *jwt.Claims) { c.Issuer = i.name + "/" })), false},
		"of no issuer":               {withRSA(good(func(c *jwt.Claims) { c.Issuer = "" })), false},
		"by another key of that id":  {sign(t, jose.RS256, jose.JSONWebKey{Key: foreign, KeyID: "rsa"}, good()), false},
		"by a key for encryption":    {sign(t, jose.RS256, jose.JSONWebKey{Key: foreign, KeyID: "enc"}, good()), false},
		"by a key of another use":    {sign(t, jose.RS256, jose.JSONWebKey{Key: foreign, KeyID: "other-algorithm"}, good()), false},
		"by an unknown key":          {sign(t, jose.RS256, jose.JSONWebKey{Key: own, KeyID: "unknown"}, good()), false},
		"RS512":                      {sign(t, jose.RS512, jose.JSONWebKey{Key: own, KeyID: "rsa"}, good()), false},
		"ES384":                      {sign(t, jose.ES384, jose.JSONWebKey{Key: wide, KeyID: "wide"}, good()), false},
		"HS256 with the public key":  {sign(t, jose.HS256, jose.JSONWebKey{Key: modulus, KeyID: "rsa"}, good()), false},
		"no signature":               {none, false},
		"a changed claim":            {strings.Replace(withRSA(good()), ".", ".e30", 1), false},
		"an expiry that is no time":  {withRSA(map[string]any{"iss": i.name, "sub": "user", "exp": "never"}), false},
		"a subject that is no text":  {withRSA(map[string]any{"iss": i.name, "sub": 7, "exp": h.now().Add(time.Hour).Unix()}), false},
		"dots alone":                 {"..", false},
		"not a token":                {"a.b.c", false},
		"a session signed with much": {withRSA(map[string]any{"iss": i.name, "sub": "user", "exp": 1e300}), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			person, err := sessions.Verify(t.Context(), tt.token)
			if tt.ok {
				require.NoError(t, err)
				require.Equal(t, command.Person{Issuer: i.name, Subject: "user"}, person)
				return
			}
			require.True(t, fault.Has(err, fault.InvalidAPIKey), "%v", err)
			require.Empty(t, person)
		})
	}
}

// TestASessionStatesTheEmail: the address of an account follows the sessions of its owner.
func TestASessionStatesTheEmail(t *testing.T) {
	t.Parallel()
	w, i := openWithSessions(t)
	for _, email := range []string{"ada@example.com", "ada@example.org"} {
		claims := struct {
			jwt.Claims
			Email    string `json:"email"`
			Verified bool   `json:"email_verified"`
		}{i.claims("ada", w.now()), email, true}
		raw := sign(t, jose.RS256, jose.JSONWebKey{Key: i.rsaKey, KeyID: i.id}, claims)
		for range 2 {
			require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/v1/videos", "", "Authorization", "Bearer "+raw).StatusCode)
		}
		require.Equal(t, 1, w.count("select count(*) from accounts where id = $1 and doc->>'email' = $2", account.OwnedID(i.name, "ada"), email))
	}
	require.Equal(t, 2, w.count("select count(*) from events where type = 'account.email_stated'"))
}

func TestSessionAudience(t *testing.T) {
	t.Parallel()
	i, h := newIssuer(t), newHour()
	sessions := edge.NewSessions(edge.SessionOptions{
		Issuer: i.name, Audience: "vqa", KeysURL: i.server.URL, Transport: i.server.Client().Transport, Now: h.now,
	})
	for _, tt := range []struct {
		audience jwt.Audience
		ok       bool
	}{{jwt.Audience{"vqa"}, true}, {jwt.Audience{"other", "vqa"}, true}, {jwt.Audience{"other"}, false}, {nil, false}} {
		claims := i.claims("user", h.now())
		claims.Audience = tt.audience
		_, err := sessions.Verify(t.Context(), sign(t, jose.RS256, jose.JSONWebKey{Key: i.rsaKey, KeyID: i.id}, claims))
		require.Equal(t, !tt.ok, fault.Has(err, fault.InvalidAPIKey), "%v: %v", tt.audience, err)
	}
}

func TestSessionKeysAreFetchedAtABoundedPace(t *testing.T) {
	t.Parallel()
	i, h := newIssuer(t), newHour()
	sessions := i.sessions(h.now)
	verify := func(token string) error { _, err := sessions.Verify(t.Context(), token); return err }
	first := i.session("user", h.now())

	// Many concurrent requests wait for one fetch.
	var all sync.WaitGroup
	var failed atomic.Int32
	for range 50 {
		all.Go(func() {
			if verify(first) != nil {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	require.Zero(t, failed.Load())
	require.EqualValues(t, 1, i.fetched.Load())

	// A new key is found, but invented ids do not cause a fetch each.
	i.rotate()
	second := i.session("user", h.now())
	require.True(t, fault.Has(verify(second), fault.InvalidAPIKey), "the last fetch is too recent")
	require.EqualValues(t, 1, i.fetched.Load())
	h.advance(10 * time.Second)
	require.NoError(t, verify(second))
	require.EqualValues(t, 2, i.fetched.Load())
	require.True(t, fault.Has(verify(first), fault.InvalidAPIKey), "a withdrawn key is not accepted")
	for n := range 20 {
		require.Error(t, verify(sign(t, jose.RS256, jose.JSONWebKey{Key: rsaKeys()[0], KeyID: "made-up" + string(rune('a'+n))}, i.claims("user", h.now()))))
	}
	require.EqualValues(t, 2, i.fetched.Load())

	// Old keys work during an outage and are fetched again after it.
	i.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	h.advance(16 * time.Minute)
	second = i.session("user", h.now())
	require.NoError(t, verify(second))
	require.NoError(t, verify(second))
	require.EqualValues(t, 3, i.fetched.Load())
	i.answers(nil)
	h.advance(10 * time.Second)
	require.NoError(t, verify(second))
	require.EqualValues(t, 4, i.fetched.Load())
	require.NoError(t, verify(second))
	require.EqualValues(t, 4, i.fetched.Load(), "fresh keys are not fetched again")
}

func TestSessionKeysThatWereNeverFetched(t *testing.T) {
	t.Parallel()
	weak := func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: []byte("a shared secret of enough bytes to be one"), KeyID: "first", Algorithm: "HS256"}}})
	}
	for name, answer := range map[string]http.HandlerFunc{
		"an error":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"a redirect":     func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"no JSON":        func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no keys":        func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) },
		"a secret":       weak,
		"an endless one": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) },
		"a cut one": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"keys":`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, h := newIssuer(t), newHour()
			i.answers(answer)
			sessions := i.sessions(h.now)
			_, err := sessions.Verify(t.Context(), i.session("user", h.now()))
			require.True(t, fault.Has(err, fault.UpstreamError), "%v", err)
			i.answers(nil)
			h.advance(10 * time.Second)
			_, err = sessions.Verify(t.Context(), i.session("user", h.now()))
			require.NoError(t, err, "the next fetch succeeds")
		})
	}
}
