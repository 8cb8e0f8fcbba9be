package main

import (
	"testing"

	"github.com/stretchr/testify/require"
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
