package main

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func TestCheckSessions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		issuer, keys string
		wrong        string
	}{
		"off":                {"", "", ""},
		"on":                 {"https://id.example", "https://id.example/keys", ""},
		"an issuer alone":    {"https://id.example", "", "or neither"},
		"keys alone":         {"", "https://id.example/keys", "or neither"},
		"keys in clear text": {"https://id.example", "http://id.example/keys", "VQA_SESSION_JWKS_URL"},
		"keys of no host":    {"https://id.example", "https:keys", "VQA_SESSION_JWKS_URL"},
		"an issuer's name":   {"id.example", "https://id.example/keys", "VQA_SESSION_ISSUER"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := config{SessionIssuer: tt.issuer, SessionKeysURL: tt.keys}.checkSessions()
			if tt.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.wrong)
		})
	}
}

// TestSessionsOfAPrivateHost checks that the keys may be on a private host with a certificate of the
// operator's own authority.
func TestSessionsOfAPrivateHost(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "one"}}})
	}))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(authority, encoded, 0o600))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "one"}}, nil)
	require.NoError(t, err)
	token, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: "https://id.example", Subject: "ann", Expiry: jwt.NewNumericDate(time.Now().Add(time.Minute)),
	}).Serialize()
	require.NoError(t, err)

	c := config{SessionIssuer: "https://id.example", SessionKeysURL: server.URL + "/keys", EgressCAFile: authority}
	sessions, err := c.sessions(time.Now)
	require.NoError(t, err)
	subject, err := sessions.Verify(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, "ann", subject.Subject)

	c.EgressCAFile = ""
	distrusting, err := c.sessions(time.Now)
	require.NoError(t, err)
	_, err = distrusting.Verify(t.Context(), token)
	require.True(t, fault.Has(err, fault.UpstreamError), "%v", err)

	none, err := config{}.sessions(time.Now)
	require.NoError(t, err)
	require.Nil(t, none)
}
