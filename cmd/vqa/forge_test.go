package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
)

func TestForgeConfiguration(t *testing.T) {
	t.Parallel()
	whole := func() config {
		return config{
			ForgeClientID: "c", ForgeDeviceCodeURL: "https://forge.example/device", ForgeAccessTokenURL: "https://forge.example/token",
			ForgeUserURL: "https://forge.example/user",
		}
	}
	require.NoError(t, config{}.checkForge(), "none")
	require.NoError(t, whole().checkForge(), "all four")
	for name, spoil := range map[string]func(*config){
		"no client id":  func(c *config) { c.ForgeClientID = "" },
		"no device URL": func(c *config) { c.ForgeDeviceCodeURL = "" },
		"no token URL":  func(c *config) { c.ForgeAccessTokenURL = "" },
		"no user URL":   func(c *config) { c.ForgeUserURL = "" },
		"plain http":    func(c *config) { c.ForgeUserURL = "http://forge.example/user" },
		"credentials":   func(c *config) { c.ForgeUserURL = "https://u:p@forge.example/user" },
		"a path":        func(c *config) { c.ForgeUserURL = "/user" },
		"private http":  func(c *config) { c.ForgeUserURL, c.EgressAllow = "http://10.0.0.1:9/user", []string{"10.0.0.1:9"} },
	} {
		c := whole()
		spoil(&c)
		require.Error(t, c.checkForge(), name)
	}
	without, err := config{}.identities()
	require.NoError(t, err)
	require.Nil(t, without, "no identity check is configured")
	_, err = whole().identities()
	require.NoError(t, err)
}

// TestForgeOnThisMachine checks that a provider without TLS is accepted on a loopback address.
func TestForgeOnThisMachine(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id": 7}`)) }))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	c := config{
		ForgeClientID: "c", ForgeDeviceCodeURL: server.URL + "/device", ForgeAccessTokenURL: server.URL + "/token", ForgeUserURL: server.URL + "/user",
	}
	require.NoError(t, c.checkForge())
	provider, err := c.identities()
	require.NoError(t, err)
	got, err := provider.Verify(t.Context(), "token")
	require.NoError(t, err)
	require.Equal(t, account.Identity{Provider: u.Host, ID: 7}, got)
}

func TestGeneralAvailability(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-21": "2027-11-21T00:00:00Z", "2026-11-21T10:00:00+02:00": "2027-11-21T08:00:00Z",
	} {
		w, err := config{GAAnnouncedAt: text}.legacyKeys()
		require.NoError(t, err)
		end, known := w.End()
		require.True(t, known)
		require.Equal(t, want, end.Format("2006-01-02T15:04:05Z07:00"))
	}
	w, err := config{}.legacyKeys()
	require.NoError(t, err)
	_, known := w.End()
	require.False(t, known, "not announced")
	_, err = config{GAAnnouncedAt: "soon"}.legacyKeys()
	require.Error(t, err)
}
