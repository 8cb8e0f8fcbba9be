package identity_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/identity"
	"vqa/handlers/intake/egress"
)

const token = "device-flow-token"

// forge starts a provider on this machine. Like a real one, it is called over TLS with the
// guarded client, which allows its address and trusts its certificate.
func forge(t *testing.T, user http.HandlerFunc) (*identity.Forge, *httptest.Server) {
	t.Helper()
	server := httptest.NewUnstartedServer(user)
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, certificate, 0o600))
	out, err := egress.New(egress.Options{Allow: []string{server.Listener.Addr().String()}, CAFile: ca})
	require.NoError(t, err)
	return with(t, server.URL+"/user", out), server
}

func with(t *testing.T, userURL string, out http.RoundTripper) *identity.Forge {
	t.Helper()
	f, err := identity.New(identity.Options{
		ClientID: "client-1", DeviceCodeURL: "https://forge.example/device", AccessTokenURL: "https://forge.example/token",
		UserURL: userURL, Transport: out, Timeout: 2 * time.Second,
	})
	require.NoError(t, err)
	return f
}

func TestVerify(t *testing.T) {
	t.Parallel()
	requests := make(chan *http.Request, 1)
	f, server := forge(t, func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		_, _ = w.Write([]byte(`{"login": "jo", "id": 583231, "email": "jo@example.org"}`))
	})
	got, err := f.Verify(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, account.Identity{Provider: server.Listener.Addr().String(), ID: 583231}, got)
	sent := <-requests
	require.Equal(t, "Bearer "+token, sent.Header.Get("Authorization"))
	require.Equal(t, "/user", sent.URL.Path)
}

func TestVerifyWithoutATokenReturnsTheDeviceFlow(t *testing.T) {
	t.Parallel()
	f, _ := forge(t, func(http.ResponseWriter, *http.Request) { t.Error("the provider must not be called") })
	_, err := f.Verify(t.Context(), "")
	require.True(t, fault.Has(err, fault.ForgeVerificationRequired), "%v", err)
	require.Equal(t, map[string]any{
		"client_id": "client-1", "device_code_url": "https://forge.example/device", "access_token_url": "https://forge.example/token",
	}, fault.Of(err).Details)
	for _, unfit := range []string{"a\r\nX-Evil: 1", "a b", "ä", "\x00", strings.Repeat("a", 1001)} {
		_, err := f.Verify(t.Context(), unfit)
		require.True(t, fault.Has(err, fault.ForgeTokenInvalid), "%q: %v", unfit, err)
	}
}

// TestProviderThatMisbehaves: the result is one of two faults, in time. No error contains the
// token or personal data from the provider.
func TestProviderThatMisbehaves(t *testing.T) {
	t.Parallel()
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, test := range map[string]struct {
		user http.HandlerFunc
		want fault.Code
	}{
		"401":             {says(401, `{"message": "Bad credentials"}`), fault.ForgeTokenInvalid},
		"403":             {says(403, ``), fault.ForgeTokenInvalid},
		"404":             {says(404, `{}`), fault.UpstreamError},
		"429":             {says(429, `{}`), fault.UpstreamError},
		"500":             {says(500, `{"id": 1}`), fault.UpstreamError},
		"204":             {says(204, ``), fault.UpstreamError},
		"no JSON":         {says(200, `<html>jo@example.org</html>`), fault.UpstreamError},
		"no id":           {says(200, `{"login": "jo@example.org"}`), fault.UpstreamError},
		"an id in words":  {says(200, `{"id": "jo@example.org"}`), fault.UpstreamError},
		"a broken number": {says(200, `{"id": 1.5}`), fault.UpstreamError},
		"a number beyond": {says(200, `{"id": 1e30}`), fault.UpstreamError},
		"null":            {says(200, `{"id": null}`), fault.UpstreamError},
		"zero":            {says(200, `{"id": 0}`), fault.UpstreamError},
		"a list":          {says(200, `[{"id": 1}]`), fault.UpstreamError},
		"two objects":     {says(200, `{"id": 1}{"id": 2}`), fault.UpstreamError},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"id": 1, "login": "`))
			for filler := bytes.Repeat([]byte("a"), 1<<10); r.Context().Err() == nil; {
				if _, err := w.Write(filler); err != nil {
					return
				}
			}
		}, fault.UpstreamError},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, fault.UpstreamError},
		"silent after its headers": {func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, fault.UpstreamError},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"id": 1`))
			panic(http.ErrAbortHandler)
		}, fault.UpstreamError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := forge(t, test.user)
			got, err := f.Verify(t.Context(), token)
			require.True(t, fault.Has(err, test.want), "%v", err)
			require.Zero(t, got)
			text := fmt.Sprintf("%v %v", err, fault.Of(err).Cause)
			require.NotContains(t, text, token)
			require.NotContains(t, text, "jo@example.org")
		})
	}
}

func TestTokenFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	f, _ := forge(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/user" {
			t.Errorf("the redirect was followed with %q", r.Header.Get("Authorization"))
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	_, err := f.Verify(t.Context(), token)
	require.True(t, fault.Has(err, fault.UpstreamError), "%v", err)
}

func TestUnreachableProvider(t *testing.T) {
	t.Parallel()
	f, server := forge(t, func(http.ResponseWriter, *http.Request) {})
	server.Close()
	_, err := f.Verify(t.Context(), token)
	require.True(t, fault.Has(err, fault.UpstreamError), "%v", err)
	require.NotContains(t, fmt.Sprint(fault.Of(err).Cause), token)

	out, err := egress.New(egress.Options{})
	require.NoError(t, err)
	_, err = with(t, "https://169.254.169.254/user", out).Verify(t.Context(), token)
	require.True(t, fault.Has(err, fault.UpstreamError), "the guarded client refuses it: %v", err)
}

func TestCanceledCaller(t *testing.T) {
	t.Parallel()
	f, _ := forge(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Verify(ctx, token)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := identity.Options{
		ClientID: "c", DeviceCodeURL: "https://a/b", AccessTokenURL: "https://a/c", UserURL: "https://a/d", Transport: http.DefaultTransport,
	}
	_, err := identity.New(good)
	require.NoError(t, err)
	for name, spoil := range map[string]func(*identity.Options){
		"no client id": func(o *identity.Options) { o.ClientID = "" },
		"no transport": func(o *identity.Options) { o.Transport = nil },
		"no user URL":  func(o *identity.Options) { o.UserURL = "" },
		"a path":       func(o *identity.Options) { o.DeviceCodeURL = "/device" },
		"no URL":       func(o *identity.Options) { o.AccessTokenURL = "https://a b" },
	} {
		bad := good
		spoil(&bad)
		_, err := identity.New(bad)
		require.Error(t, err, name)
	}
}
