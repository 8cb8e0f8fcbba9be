package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/model"
	"vqa/domain/webhook"
	"vqa/handlers/identity"
	"vqa/handlers/intake/fixture"
)

const (
	askDog    = `{"video_id": "VIDEO", "prompt": "Is there a dog?"}`
	plainFile = `{"content_type": "video/mp4", "filename": "ball.mp4"}`
)

// producers send a real request whose response has the code. Each has its own world.
var producers = map[fault.Code]func(t *testing.T, w *world) response{
	fault.InvalidAPIKey: func(_ *testing.T, w *world) response { return w.do(http.MethodGet, "/v1/videos", "") },
	fault.KeyRevoked: func(t *testing.T, w *world) response {
		c := w.customer(0)
		require.NoError(t, w.service.RevokeKey(t.Context(), c.key.AccountID, c.key.KeyID, "test", ""))
		return c.do(http.MethodGet, "/v1/videos", "")
	},
	fault.KeyExpired: func(_ *testing.T, w *world) response {
		key := w.do(http.MethodPost, "/v1/sandbox", "").at("api_key").(string)
		w.advance(8 * 24 * time.Hour)
		return w.do(http.MethodGet, "/v1/videos", "", "Authorization", "Bearer "+key)
	},
	fault.TokenExpired: func(_ *testing.T, w *world) response {
		token := w.customer(0).token(`{"ttl_s": 60, "scopes": ["videos:write"]}`)
		w.advance(61 * time.Second)
		return w.do(http.MethodGet, "/v1/videos", "", "Authorization", "Bearer "+token)
	},
	fault.InsufficientScope: func(_ *testing.T, w *world) response {
		token := w.customer(0).token(`{"ttl_s": 60, "scopes": ["analyses:read"]}`)
		return w.do(http.MethodGet, "/v1/videos", "", "Authorization", "Bearer "+token)
	},
	fault.AccountRestricted: func(t *testing.T, w *world) response {
		c := w.customer(0)
		require.NoError(t, w.service.RestrictAccount(t.Context(), c.key.AccountID, "abuse", "test", ""))
		return c.do(http.MethodGet, "/v1/videos", "")
	},
	fault.TestModeOnly: func(_ *testing.T, w *world) response {
		return w.customer(0).do(http.MethodPost, "/v1/keys/upgrade", "")
	},
	fault.TestKeyFixtureOnly: func(_ *testing.T, w *world) response {
		return w.tester().do(http.MethodPost, "/v1/analyses", strings.ReplaceAll(askDog, "VIDEO", "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"))
	},
	fault.ForgeVerificationRequired: func(t *testing.T, w *world) response {
		w.forge(t, http.StatusOK, `{"id": 7}`)
		return w.tester().do(http.MethodPost, "/v1/keys/upgrade", "")
	},
	fault.ForgeTokenInvalid: func(t *testing.T, w *world) response {
		w.forge(t, http.StatusUnauthorized, `{}`)
		return w.tester().do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "none"}`)
	},
	fault.ForgeAccountAlreadyUsed: func(t *testing.T, w *world) response {
		w.forge(t, http.StatusOK, `{"id": 7}`)
		require.Equal(t, http.StatusCreated, w.tester().do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "good"}`).StatusCode)
		return w.tester().do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "good"}`)
	},
	fault.UpstreamError: func(t *testing.T, w *world) response {
		w.forge(t, http.StatusInternalServerError, `oops`)
		return w.tester().do(http.MethodPost, "/v1/keys/upgrade", `{"forge_token": "good"}`)
	},
	fault.UpgradeLimitExceeded: func(_ *testing.T, w *world) response {
		for range 3 {
			w.tester().do(http.MethodPost, "/v1/keys/upgrade", "")
		}
		return w.tester().do(http.MethodPost, "/v1/keys/upgrade", "")
	},
	fault.SandboxLimitExceeded: func(_ *testing.T, w *world) response {
		for range 3 {
			w.do(http.MethodPost, "/v1/sandbox", "")
		}
		return w.do(http.MethodPost, "/v1/sandbox", "")
	},
	fault.ValidationFailed: func(_ *testing.T, w *world) response {
		return w.customer(0).do(http.MethodPost, "/v1/videos", `{`)
	},
	fault.UploadIncomplete: func(_ *testing.T, w *world) response {
		c := w.customer(0)
		video := c.do(http.MethodPost, "/v1/videos", plainFile).at("id").(string)
		return c.do(http.MethodPost, "/v1/videos/"+video+"/complete", "")
	},
	fault.VideoUnreadable: func(_ *testing.T, w *world) response {
		c := w.customer(0)
		created := c.do(http.MethodPost, "/v1/videos", plainFile)
		c.upload(created, []byte("this is no video"))
		return c.do(http.MethodPost, "/v1/videos/"+created.at("id").(string)+"/complete", "")
	},
	fault.VideoTooLarge: func(_ *testing.T, w *world) response {
		return w.customer(0).do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4", "size_bytes": 2147483649}`)
	},
	fault.VideoTooLong: func(_ *testing.T, w *world) response {
		c := w.customer(0)
		created := c.do(http.MethodPost, "/v1/videos", plainFile)
		w.service.Limits.MaxVideoDuration = time.Second
		c.upload(created, fixture.Bytes())
		return c.do(http.MethodPost, "/v1/videos/"+created.at("id").(string)+"/complete", "")
	},
	fault.URLForbidden: func(_ *testing.T, w *world) response {
		return w.customer(0).do(http.MethodPost, "/v1/videos", `{"url": "https://127.0.0.1/a.mp4"}`)
	},
	fault.PromptEmpty: func(_ *testing.T, w *world) response {
		return w.customer(0).question(`{"video_id": "VIDEO", "prompt": " "}`)
	},
	fault.PromptTooLong: func(_ *testing.T, w *world) response {
		return w.customer(0).question(`{"video_id": "VIDEO", "prompt": "` + strings.Repeat("a", 2001) + `"}`)
	},
	fault.QueryInvalid: func(_ *testing.T, w *world) response {
		return w.customer(0).question(`{"video_id": "VIDEO", "query": {}}`)
	},
	fault.ModelNotFound: func(_ *testing.T, w *world) response {
		return w.customer(0).question(`{"video_id": "VIDEO", "prompt": "Is there a dog?", "model": "none"}`)
	},
	fault.ModelDeprecated: func(_ *testing.T, w *world) response {
		past := w.now().Add(-time.Hour)
		w.service.Catalog = append(w.service.Catalog, model.Model{ID: "past-1", Status: model.Deprecated, SunsetAt: &past})
		return w.customer(0).question(`{"video_id": "VIDEO", "prompt": "Is there a dog?", "model": "past-1"}`)
	},
	fault.PayloadTooLarge: func(_ *testing.T, w *world) response {
		return w.customer(0).do(http.MethodPost, "/v1/videos", `{"filename": "`+strings.Repeat("a", 1<<20)+`"}`)
	},
	fault.UnsupportedMediaType: func(_ *testing.T, w *world) response {
		return w.customer(0).do(http.MethodPost, "/v1/videos", plainFile, "Content-Type", "text/plain")
	},
	fault.ParseFailed: func(_ *testing.T, w *world) response {
		return w.do(http.MethodPost, "/v1/parse", `{"prompt": "?!"}`)
	},
	fault.EmptyPrompt: func(_ *testing.T, w *world) response {
		return w.do(http.MethodPost, "/v1/parse", `{"prompt": ""}`)
	},
	fault.ResourceNotFound: func(_ *testing.T, w *world) response {
		return w.customer(0).do(http.MethodGet, "/v1/videos/video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "")
	},
	fault.ResourceConflict: func(_ *testing.T, w *world) response {
		c := w.customer(100)
		video := c.ready()
		c.ask(video, "Is there a dog?")
		return c.do(http.MethodDelete, "/v1/videos/"+video, "")
	},
	fault.IdempotencyKeyReused: func(_ *testing.T, w *world) response {
		c := w.customer(0)
		c.do(http.MethodPost, "/v1/videos", plainFile, "Idempotency-Key", "k")
		return c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/quicktime"}`, "Idempotency-Key", "k")
	},
	fault.IdempotencyUnavailable: func(t *testing.T, w *world) response {
		c := w.customer(100)
		body := strings.ReplaceAll(askDog, "VIDEO", c.ready())
		slow, first := c.askSlowly(body)
		second := c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k")
		close(slow.closed)
		require.Equal(t, http.StatusAccepted, (<-first).StatusCode)
		return second
	},
	fault.AnalysisNotCancelable: func(_ *testing.T, w *world) response {
		c := w.customer(100)
		analysis := c.ask(c.ready(), "Is there a dog?")
		c.do(http.MethodPost, "/v1/analyses/"+analysis+"/cancel", "")
		return c.do(http.MethodPost, "/v1/analyses/"+analysis+"/cancel", "")
	},
	fault.RerunNotEligible: func(_ *testing.T, w *world) response {
		c := w.customer(100)
		return c.do(http.MethodPost, "/v1/analyses/"+c.ask(c.ready(), "Is there a dog?")+"/rerun", "")
	},
	fault.DeviceCodeExpired: func(_ *testing.T, w *world) response {
		code := w.do(http.MethodPost, "/v1/keys/request", "").at("device_code").(string)
		w.advance(16 * time.Minute)
		return w.do(http.MethodGet, "/v1/keys/request/"+code, "")
	},
	fault.InsufficientCredits: func(_ *testing.T, w *world) response { return w.customer(0).question(askDog) },
	fault.GrantExhausted: func(_ *testing.T, w *world) response {
		w.service.Limits.SignupGrantSeconds = 1
		upgraded := w.tester().do(http.MethodPost, "/v1/keys/upgrade", "")
		c := &client{w: w}
		c.key.Secret = upgraded.at("api_key").(string)
		return c.question(askDog)
	},
	fault.WebhookEndpointLimit: func(_ *testing.T, w *world) response {
		c := w.customer(0)
		for range webhook.MaxEndpoints {
			c.endpoint(`{}`)
		}
		return c.do(http.MethodPost, "/v1/webhook_endpoints", anEndpoint)
	},
	fault.RateLimitExceeded: func(_ *testing.T, w *world) response {
		code := w.do(http.MethodPost, "/v1/keys/request", "").at("device_code").(string)
		w.do(http.MethodGet, "/v1/keys/request/"+code, "")
		return w.do(http.MethodGet, "/v1/keys/request/"+code, "")
	},
	fault.ConcurrencyLimitExceeded: func(_ *testing.T, w *world) response {
		w.service.Limits.MaxConcurrentAnalyses = 0
		return w.customer(100).question(askDog)
	},
	fault.QuotaExceeded: func(_ *testing.T, w *world) response {
		w.service.Limits.QuotaSecondsPerMonth = 1
		return w.customer(100).question(askDog)
	},
	fault.CapacityExhausted: func(_ *testing.T, w *world) response {
		w.service.Limits.AnalysisQueueCap = 0
		return w.customer(100).question(askDog)
	},
	fault.InferenceUnavailable: func(_ *testing.T, w *world) response {
		w.engine.set(true)
		return w.customer(100).question(askDog)
	},
	fault.DBUnavailable: func(_ *testing.T, w *world) response {
		c := w.customer(0)
		w.database.cut()
		return c.do(http.MethodGet, "/v1/videos", "")
	},
	fault.InternalError: func(t *testing.T, w *world) response {
		c := w.customer(10)
		_, err := w.pool.Exec(t.Context(), `update credit_balances set doc = '"not a balance"' where id = $1`, c.key.AccountID)
		require.NoError(t, err)
		return c.do(http.MethodGet, "/v1/credits", "")
	},
}

// resourceCodes appear in failed resources. The named test causes the failure.
var resourceCodes = map[fault.Code]string{
	fault.URLFetchFailed: "../jobs/fetch_test.go:TestFetchFails",
	fault.InferenceError: "../jobs/analyze_test.go:TestEngineFails",
	fault.StuckTimeout:   "../../cmd/vqa/e2e_crash_test.go:TestCrashes",
}

// notYet are codes of missing features, or codes that no request of these tests can cause.
var notYet = map[fault.Code]string{
	fault.StreamAlreadyActive: "streams",
	fault.ParseUnavailable:    "nothing: rules compile a prompt where a language model does not",
}

// TestEveryCodeOfTheRegistryIsProduced shows that every code of the registry occurs.
func TestEveryCodeOfTheRegistryIsProduced(t *testing.T) {
	t.Parallel()
	for _, entry := range fault.Registry() {
		produce, elsewhere, part := producers[entry.Code], resourceCodes[entry.Code], notYet[entry.Code]
		switch {
		case elsewhere != "":
			require.Nil(t, produce)
			requireTest(t, elsewhere)
		case part != "":
			require.Nil(t, produce, "%s is in notYet, and a producer exists", entry.Code)
		default:
			require.NotNil(t, produce, "nothing produces %s", entry.Code)
			t.Run(string(entry.Code), func(t *testing.T) {
				t.Parallel()
				w := open(t)
				got := produce(t, w)
				w.refused(got, entry.Status, entry.Code, "")
				require.NotEmpty(t, got.Header.Get("X-RateLimit-Limit"))
				if entry.Status == http.StatusTooManyRequests || entry.Status == http.StatusServiceUnavailable {
					require.Regexp(t, `^[1-9][0-9]*$`, got.Header.Get("Retry-After"))
				}
			})
		}
	}
}

// requireTest requires that a file declares a test.
func requireTest(t *testing.T, place string) {
	t.Helper()
	file, name, _ := strings.Cut(place, ":")
	source, err := os.ReadFile(filepath.FromSlash(file))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^func `+regexp.QuoteMeta(name)+`\(t \*testing\.T\)`, string(source), "%s declares no %s", file, name)
}

// question sends a body in which VIDEO is replaced by the id of a video of the customer.
func (c *client) question(body string) response {
	c.w.t.Helper()
	return c.do(http.MethodPost, "/v1/analyses", strings.ReplaceAll(body, "VIDEO", c.ready()))
}

// forge turns on the identity check with a provider that sends this response for every token.
func (w *world) forge(t *testing.T, status int, body string) {
	t.Helper()
	provider := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(status)
		_, _ = rw.Write([]byte(body))
	}))
	t.Cleanup(provider.Close)
	forge, err := identity.New(identity.Options{
		ClientID: "client", DeviceCodeURL: "https://forge.example/device", AccessTokenURL: "https://forge.example/token",
		UserURL: provider.URL, Transport: provider.Client().Transport,
	})
	require.NoError(t, err)
	w.service.Identities = forge
}
