package httpapi_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/identity"
	"vqa/handlers/intake/egress"
)

// byHeader reads the address of a client from a header.
func byHeader(o *httpapi.Options) {
	o.SandboxAddress = func(r *http.Request) string { return "address " + r.Header.Get("X-Address") }
}

// sandbox creates a sandbox from its own address.
func (w *world) sandbox() *client {
	w.t.Helper()
	key, err := w.service.IssueSandbox(w.t.Context(), command.Caller{RequestID: "req_1"}, w.service.IDs.New("addr"))
	require.NoError(w.t, err)
	return &client{w, key}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := open(t, byHeader)
	c := w.sandbox()
	w.refused(c.do(http.MethodPost, "/v1/keys/upgrade", `{"token": "x"}`), 400, fault.ValidationFailed, "token")
	w.refused(c.do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": 7}`), 400, fault.ValidationFailed, "forge_token")
	w.refused(w.do(http.MethodPost, "/v1/keys/upgrade", ""), 401, fault.InvalidAPIKey, "")
	got := c.do(http.MethodPost, "/v1/keys/upgrade", "")
	require.Equal(t, http.StatusCreated, got.StatusCode, string(got.raw))
	require.Equal(t, []any{"api_key", true, "free_grant", float64(6000), nil}, []any{
		got.at("object"), got.at("livemode"), got.at("tier"), got.at("grant_seconds"), got.at("claim_flow"),
	})
	ends, err := time.Parse(time.RFC3339, got.at("expires_at").(string))
	require.NoError(t, err)
	require.WithinDuration(t, w.now().Add(30*24*time.Hour), ends, time.Minute)

	live := c.as(got.at("api_key").(string))
	require.Equal(t, int64(6000), live.balance().AvailableSeconds())
	require.Equal(t, "signup_grant", live.do(http.MethodGet, "/v1/credits", "").at("transactions").([]any)[0].(map[string]any)["kind"])
	w.refused(live.do(http.MethodPost, "/v1/keys/upgrade", ""), 403, fault.TestModeOnly, "")
	w.refused(c.do(http.MethodPost, "/v1/keys/upgrade", "{}", "X-Address", "another"), 409, fault.ResourceConflict, "")
	require.Equal(t, http.StatusOK, c.do(http.MethodGet, "/v1/videos", "").StatusCode, "the test key still works")

	for range 2 {
		require.Equal(t, http.StatusCreated, w.sandbox().do(http.MethodPost, "/v1/keys/upgrade", "{}").StatusCode)
	}
	refused := w.sandbox().do(http.MethodPost, "/v1/keys/upgrade", "")
	w.refused(refused, 429, fault.UpgradeLimitExceeded, "")
	w.namesTheCap(refused, 3, "VQA_UPGRADE_PER_IP")
	require.NotContains(t, w.logged.String(), got.at("api_key"))
}

func TestUpgradeNamesTheClaimFlowIfSessionsAreConfigured(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := open(t, func(o *httpapi.Options) {
		o.Sessions = edge.NewSessions(edge.SessionOptions{Issuer: i.name, KeysURL: i.server.URL, Transport: i.server.Client().Transport, Now: o.Service.Now})
	})
	got := w.sandbox().do(http.MethodPost, "/v1/keys/upgrade", "{}")
	require.Equal(t, http.StatusCreated, got.StatusCode, string(got.raw))
	require.Equal(t, w.url+"/claim", got.at("claim_flow.claim_url"))
	require.NotEmpty(t, got.at("claim_flow.instructions"))
}

// provider starts an identity provider on this machine, with TLS. The guarded client calls it. The
// token of account N is "token-N".
func provider(t *testing.T) *identity.Forge {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		number, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer token-")
		switch {
		case !ok:
			rw.WriteHeader(http.StatusUnauthorized)
		case number == "broken":
			rw.WriteHeader(http.StatusInternalServerError)
		default:
			_, _ = fmt.Fprintf(rw, `{"login": "jo", "id": %s}`, number)
		}
	}))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	out, err := egress.New(egress.Options{Allow: []string{server.Listener.Addr().String()}, CAFile: ca})
	require.NoError(t, err)
	f, err := identity.New(identity.Options{
		ClientID: "client-1", DeviceCodeURL: server.URL + "/device", AccessTokenURL: server.URL + "/token", UserURL: server.URL + "/user",
		Transport: out,
	})
	require.NoError(t, err)
	return f
}

func TestUpgradeBehindTheIdentityCheck(t *testing.T) {
	t.Parallel()
	w := open(t, byHeader, func(o *httpapi.Options) { o.Service.Identities = provider(t) })
	c := w.sandbox()
	for _, body := range []string{"", "{}"} {
		got := c.do(http.MethodPost, "/v1/keys/upgrade", body)
		w.refused(got, 403, fault.ForgeVerificationRequired, "")
		details := got.at("error.details").(map[string]any)
		require.Equal(t, "client-1", details["client_id"])
		require.Regexp(t, `^https://.*/device$`, details["device_code_url"])
		require.Regexp(t, `^https://.*/token$`, details["access_token_url"])
	}
	w.refused(c.do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "a wrong one"}`), 401, fault.ForgeTokenInvalid, "")
	w.refused(c.do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "wrong"}`), 401, fault.ForgeTokenInvalid, "")
	w.refused(c.do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "token-broken"}`), 502, fault.UpstreamError, "")
	got := c.do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "token-583231"}`)
	require.Equal(t, http.StatusCreated, got.StatusCode, string(got.raw))
	again := w.sandbox().do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "token-583231"}`, "X-Address", "another")
	w.refused(again, 409, fault.ForgeAccountAlreadyUsed, "")

	require.NotContains(t, w.logged.String(), "token-583231")
	var kept int
	require.NoError(t, w.pool.QueryRow(t.Context(), "select count(*) from events where data::text like '%token-583231%' or meta::text like '%token-583231%'").Scan(&kept))
	require.Zero(t, kept, "the token is discarded")
	require.NoError(t, w.pool.QueryRow(t.Context(), "select count(*) from events where type = 'identity.claimed' and data::text like '%583231%'").Scan(&kept))
	require.Equal(t, 1, kept, "the account number is stored")
}

// TestUpgradedKeyEndsWhenIdle: every recorded use extends the life of the key.
func TestUpgradedKeyEndsWhenIdle(t *testing.T) {
	t.Parallel()
	var recorder *command.KeyUses
	w := open(t, func(o *httpapi.Options) {
		recorder = command.NewKeyUses(o.Service, slog.New(slog.DiscardHandler))
		o.KeyUsed = recorder.Note
	})
	recording, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { recorder.Run(recording) })
	t.Cleanup(func() { stop(); work.Wait() })

	got := w.sandbox().do(http.MethodPost, "/v1/keys/upgrade", "")
	require.Equal(t, http.StatusCreated, got.StatusCode, string(got.raw))
	live := w.customer(0).as(got.at("api_key").(string))
	used := func() map[string]any { return live.do(http.MethodGet, "/v1/api-keys", "").items()[0] }
	for range 3 {
		w.advance(29 * 24 * time.Hour)
		before := w.now()
		require.Eventually(t, func() bool {
			at, ok := used()["last_used_at"].(string)
			if !ok {
				return false
			}
			last, err := time.Parse(time.RFC3339, at)
			return err == nil && !last.Before(before.Truncate(time.Millisecond))
		}, 10*time.Second, 10*time.Millisecond)
		ends, err := time.Parse(time.RFC3339, used()["expires_at"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, w.now().Add(account.UpgradedKeyIdle+account.UseEvery), ends, time.Minute)
	}
	// This use is too soon after the recorded one to be recorded.
	w.advance(account.UseEvery - time.Minute)
	require.Equal(t, http.StatusOK, live.do(http.MethodGet, "/v1/videos", "").StatusCode)
	w.advance(account.UpgradedKeyIdle - time.Second)
	require.Equal(t, http.StatusOK, live.do(http.MethodGet, "/v1/videos", "").StatusCode, "30 full days have not passed")
	w.advance(account.UpgradedKeyIdle + account.UseEvery + time.Minute)
	w.refused(live.do(http.MethodGet, "/v1/api-keys", ""), 401, fault.KeyExpired, "")
}
