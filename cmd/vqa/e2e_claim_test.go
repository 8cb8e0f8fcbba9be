package main_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"
)

// signInService publishes its keys and signs people in. Its settings make a service accept its
// sessions.
func signInService(t *testing.T) (settings []string, signIn func(subject string) string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public(), KeyID: "1", Algorithm: "RS256"}}})
	}))
	t.Cleanup(server.Close)
	certificate, err := os.CreateTemp(workshop, "sign-in-*.pem")
	require.NoError(t, err)
	require.NoError(t, pem.Encode(certificate, &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	require.NoError(t, certificate.Close())
	const issuer = "https://id.example/sign-in"
	settings = []string{
		"VQA_SESSION_ISSUER=" + issuer, "VQA_SESSION_JWKS_URL=" + server.URL, "VQA_EGRESS_CA_FILE=" + certificate.Name(),
	}
	return settings, func(subject string) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: private, KeyID: "1"}}, nil)
		require.NoError(t, err)
		session, err := jwt.Signed(signer).Claims(jwt.Claims{
			Issuer: issuer, Subject: subject, Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour)),
		}).Serialize()
		require.NoError(t, err)
		return session
	}
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// TestAPersonApprovesAKey checks that a person at a browser can approve a key for a program, and that
// no other party learns the key.
func TestAPersonApprovesAKey(t *testing.T) {
	t.Parallel()
	settings, signIn := signInService(t)
	program := &apiClient{service: ownService(t, settings...)}
	asked := program.call(t, http.MethodPost, "/v1/keys/request", nil)
	require.Equal(t, http.StatusAccepted, asked.status, string(asked.raw))
	claimURL, err := url.Parse(asked.text("claim_url"))
	require.NoError(t, err)
	require.Equal(t, program.addr, claimURL.Host)

	stranger := program.call(t, http.MethodGet, claimURL.RequestURI(), nil)
	require.Contains(t, string(stranger.raw), "https://id.example/sign-in?return_to="+url.QueryEscape(claimURL.String()))
	session := signIn("ada")
	page := program.call(t, http.MethodGet, claimURL.RequestURI(), nil, "Cookie", "vqa_session="+session)
	form := url.Values{"decision": {"approve"}}
	for _, field := range hiddenField.FindAllSubmatch(page.raw, -1) {
		form.Set(string(field[1]), string(field[2]))
	}
	sent := program.call(t, http.MethodPost, "/claim", form.Encode(), "Cookie", "vqa_session="+session,
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	require.Contains(t, string(sent.raw), "Approved.")

	poll := "/v1/keys/request/" + asked.text("device_code")
	got := program.call(t, http.MethodGet, poll, nil)
	require.Equal(t, "consumed", got.text("status"), string(got.raw))
	require.Equal(t, http.StatusGone, program.call(t, http.MethodGet, poll, nil).status)
	owner := &apiClient{program.service, issued{APIKey: got.text("api_key")}}
	require.Equal(t, http.StatusOK, owner.call(t, http.MethodGet, "/v1/credits", nil).status)

	said := program.said.String()
	for _, secret := range []string{asked.text("device_code"), got.text("api_key"), session, claimURL.Query().Get("code")} {
		require.NotContains(t, said, secret, "a secret is in the log of the service")
	}
}
