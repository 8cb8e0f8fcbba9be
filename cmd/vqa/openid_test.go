package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOpenIDConfiguration(t *testing.T) {
	t.Parallel()
	whole := config{OIDCIssuer: "https://id.example", OIDCClientID: "c", OIDCClientSecret: "s", PublicURL: "https://vqa.example"}
	require.NoError(t, config{}.checkOIDC(), "none")
	require.NoError(t, whole.checkOIDC())
	require.NoError(t, config{OIDCIssuer: "https://id.example", OIDCClientID: "c"}.checkOIDC(), "a public client")
	require.ErrorContains(t, config{OIDCIssuer: "https://id.example"}.checkOIDC(), "VQA_OIDC_CLIENT_ID")
	require.ErrorContains(t, config{OIDCClientID: "c"}.checkOIDC(), "VQA_OIDC_ISSUER")
	require.ErrorContains(t, config{OIDCClientSecret: "s"}.checkOIDC(), "VQA_OIDC_ISSUER")
	require.ErrorContains(t, config{OIDCIssuer: "http://id.example", OIDCClientID: "c"}.checkOIDC(), "must be an https URL")

	key := make([]byte, keyBytes)
	o, err := whole.signIn(key, nil, time.Now)
	require.NoError(t, err)
	require.Equal(t, "id.example", o.Provider.Name())
	require.NotEqual(t, o.Secret, o.TicketKey, "each key has one purpose")
	none, err := config{}.signIn(key, nil, time.Now)
	require.NoError(t, err)
	require.Nil(t, none.Provider)
}
