package httpapi_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
)

// as sends a request with a credential.
func (w *world) as(credential, method, path, body string, headers ...string) response {
	w.t.Helper()
	return w.do(method, path, body, append([]string{"Authorization", "Bearer " + credential}, headers...)...)
}

// count returns the result of a query for a number.
func (w *world) count(query string, args ...any) (n int) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), query, args...).Scan(&n))
	return n
}

func TestSessions(t *testing.T) {
	t.Parallel()
	w, i := openWithSessions(t)
	ann, bob := i.session("ann-of-the-example", w.now()), i.session("bob", w.now())

	// Many concurrent first requests of a person open one account.
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v1/videos", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+ann)
			got, err := http.DefaultClient.Do(r)
			if err != nil || got.StatusCode != http.StatusOK {
				t.Errorf("first sign-in: %v, %v", got, err)
			}
			if err == nil {
				_ = got.Body.Close()
			}
		})
	}
	all.Wait()
	owned := account.OwnedID(i.name, "ann-of-the-example")
	require.Equal(t, 1, w.count("select count(*) from accounts"))
	require.Equal(t, 2, w.count("select count(*) from events where stream = 'account/' || $1", owned), "opened and signed up once")
	require.Zero(t, w.count("select count(*) from events where data::text like '%ann-of-the-example%'"), "the subject is not stored")

	// A session is live and paid, has all scopes, and sees only its account.
	created := w.as(ann, http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`)
	require.Equal(t, http.StatusCreated, created.StatusCode, string(created.raw))
	require.Equal(t, true, created.at("livemode"))
	path := "/v1/videos/" + created.at("id").(string)
	require.Equal(t, http.StatusOK, w.as(ann, http.MethodGet, path, "").StatusCode)
	w.refused(w.as(bob, http.MethodGet, path, ""), http.StatusNotFound, fault.ResourceNotFound, "")
	w.refused(w.as(w.customer(0).key.Secret, http.MethodGet, path, ""), http.StatusNotFound, fault.ResourceNotFound, "")
	require.EqualValues(t, 0, w.as(ann, http.MethodGet, "/v1/credits", "").at("balance_seconds"))
	w.refused(w.as(ann, http.MethodPost, "/v1/client_tokens", `{"scopes": ["analyses:read"]}`), http.StatusForbidden, fault.InsufficientScope, "")
	w.refused(w.as(ann, http.MethodPost, "/v1/keys/upgrade", ""), http.StatusForbidden, fault.TestModeOnly, "")

	// The API ignores cookies, because browsers send them by themselves.
	w.refused(w.do(http.MethodGet, "/v1/videos", "", "Cookie", "vqa_session="+ann), http.StatusUnauthorized, fault.InvalidAPIKey, "")

	require.NoError(t, w.service.RestrictAccount(t.Context(), owned, "test", "test", ""))
	w.refused(w.as(ann, http.MethodGet, "/v1/videos", ""), http.StatusForbidden, fault.AccountRestricted, "")
	require.Equal(t, http.StatusOK, w.as(bob, http.MethodGet, "/v1/videos", "").StatusCode)

	w.advance(2 * time.Hour)
	w.refused(w.as(bob, http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	forged := sign(t, jose.RS256, jose.JSONWebKey{Key: rsaKeys()[1], KeyID: "first"}, i.claims("ann-of-the-example", w.now()))
	w.refused(w.as(forged, http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	require.NotContains(t, w.logged.String(), ann, "a credential is never logged")
}

func TestSessionsThatCannotBeVerified(t *testing.T) {
	t.Parallel()
	w, i := openWithSessions(t)
	i.answers(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) })
	w.refused(w.as(i.session("ann-of-the-example", w.now()), http.MethodGet, "/v1/videos", ""), http.StatusBadGateway, fault.UpstreamError, "")
	require.Equal(t, http.StatusOK, w.customer(0).do(http.MethodGet, "/v1/videos", "").StatusCode, "keys do not depend on the issuer")

	off := open(t)
	off.refused(off.as(i.session("ann-of-the-example", off.now()), http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
}

// TestChallenges: WWW-Authenticate says why a credential is refused (RFC 6750, section 3).
func TestChallenges(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	reader := c.token(`{"scopes": ["analyses:read"]}`)
	tests := map[string]struct {
		authorization, path string
		status              int
		want                string
	}{
		"nothing":           {"", "/v1/videos", http.StatusUnauthorized, "Bearer"},
		"not a bearer":      {"Basic YTpi", "/v1/videos", http.StatusUnauthorized, "Bearer"},
		"an unknown key":    {"Bearer svc_live_x", "/v1/videos", http.StatusUnauthorized, `Bearer error="invalid_token", error_description="invalid_api_key"`},
		"a missing scope":   {"Bearer " + reader, "/v1/videos", http.StatusForbidden, `Bearer error="insufficient_scope", scope="videos:read"`},
		"another plane":     {"Bearer " + reader, "/v1/credits", http.StatusForbidden, `Bearer error="insufficient_scope", scope="usage:read"`},
		"a good credential": {"Bearer " + reader, "/v1/analyses", http.StatusOK, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			headers := []string{}
			if tt.authorization != "" {
				headers = append(headers, "Authorization", tt.authorization)
			}
			got := w.do(http.MethodGet, tt.path, "", headers...)
			require.Equal(t, tt.status, got.StatusCode, string(got.raw))
			require.Equal(t, tt.want, got.Header.Get("WWW-Authenticate"))
		})
	}
	w.advance(15 * time.Minute)
	got := w.as(reader, http.MethodGet, "/v1/analyses", "")
	w.refused(got, http.StatusUnauthorized, fault.TokenExpired, "")
	require.Equal(t, `Bearer error="invalid_token", error_description="token_expired"`, got.Header.Get("WWW-Authenticate"))
	require.NotContains(t, strings.ToLower(w.logged.String()), "svcct_")
}

// TestOptionalCredentials: an optional credential must be valid.
func TestOptionalCredentials(t *testing.T) {
	t.Parallel()
	w := open(t)
	const body = `{"prompt": "Is there a dog?"}`
	require.Equal(t, http.StatusOK, w.do(http.MethodPost, "/v1/parse", body).StatusCode)
	require.Equal(t, http.StatusOK, w.customer(0).do(http.MethodPost, "/v1/parse", body).StatusCode)
	w.refused(w.as("svc_live_unknown", http.MethodPost, "/v1/parse", body), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	w.refused(w.do(http.MethodPost, "/v1/parse", body, "Authorization", "Basic YTpi"), http.StatusUnauthorized, fault.InvalidAPIKey, "")
}
