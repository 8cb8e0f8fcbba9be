package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/handlers/httpapi"
)

// listening is an open stream of server-sent events.
type listening struct {
	*http.Response
	leave func()
}

// stream opens a stream of events and returns its first response.
func (w *world) stream(path, secret string) listening {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	require.NoError(w.t, err)
	r.Header.Set("Authorization", "Bearer "+secret)
	got, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, got.StatusCode)
	w.t.Cleanup(func() { cancel(); _ = got.Body.Close() })
	return listening{got, cancel}
}

// rest reads a stream until the server ends it.
func (l listening) rest(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := l.Body.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			require.EqualError(t, err, "EOF", "the stream ends as it should: %s", text.String())
			return text.String()
		}
	}
}

// endOf returns the reason in the last event of a stream.
func endOf(t *testing.T, text string) fault.Code {
	t.Helper()
	_, last, found := strings.Cut(text, "event: end\ndata: ")
	require.True(t, found, text)
	var reason struct {
		Code    fault.Code
		Message string
	}
	require.NoError(t, json.Unmarshal([]byte(last), &reason), last)
	require.NotEmpty(t, reason.Message)
	require.NotContains(t, last, "id:")
	return reason.Code
}

// TestAllEventStreamsOfAKeyShareOneLimit repeats an attack that opened 300 streams of one
// analysis.
func TestAllEventStreamsOfAKeyShareOneLimit(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	path := "/v1/analyses/" + c.ask(c.ready(), "Is there a dog?") + "/events"
	var last listening
	for range 10 {
		w.stream("/v1/events/stream", c.key.Secret)
		last = w.stream(path, c.key.Secret)
	}
	live := "/v1/streams/" + c.do(http.MethodPost, "/v1/streams", watch).at("id").(string) + "/events"
	for _, p := range []string{path, "/v1/events/stream", live} {
		refused := c.do(http.MethodGet, p, "")
		w.refused(refused, 429, fault.ConcurrencyLimitExceeded, "")
		require.Equal(t, "1", refused.Header.Get("Retry-After"))
	}
	last.leave()
	require.Eventually(t, func() bool { return w.waiting() == 19 }, 10*time.Second, time.Millisecond)
	w.stream(path, c.key.Secret)
}

// TestStreamsOfAnAccountAreBounded: the limit of an account covers all its keys.
func TestStreamsOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	for range 3 {
		_, made := c.mint(`{"name": "n"}`)
		for range 20 {
			w.stream("/v1/events/stream", made.at("api_key").(string))
		}
	}
	w.refused(c.do(http.MethodGet, "/v1/events/stream", ""), 429, fault.ConcurrencyLimitExceeded, "")
}

// TestStreamsEndWithTheirCredential ends the credential of an open stream in every way.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(w *world, c *client, token string)
		want fault.Code
	}{
		"revoked": {func(w *world, c *client, _ string) {
			require.Equal(w.t, http.StatusOK, c.do(http.MethodDelete, "/v1/api-keys/"+c.key.KeyID, "").StatusCode)
		}, fault.KeyRevoked},
		"restricted": {func(w *world, c *client, _ string) {
			require.NoError(w.t, w.service.RestrictAccount(w.t.Context(), c.key.AccountID, "test", "test", ""))
		}, fault.AccountRestricted},
		"token expired": {func(w *world, _ *client, _ string) { w.advance(61 * time.Second) }, fault.TokenExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, func(o *httpapi.Options) { o.Streams.Check = 20 * time.Millisecond })
			c := w.customer(100)
			video := c.ready()
			path := "/v1/analyses/" + c.ask(video, "Is there a dog?") + "/events"
			made := c.do(http.MethodPost, "/v1/client_tokens", `{"scopes": ["analyses:read"], "ttl_s": 60, "video_id": "`+video+`"}`)
			token := made.at("token").(string)
			byToken, byKey, feed := w.stream(path, token), w.stream(path, c.key.Secret), w.stream("/v1/events/stream", c.key.Secret)
			tt.end(w, c, token)
			require.Equal(t, tt.want, endOf(t, byToken.rest(t)))
			if tt.want == fault.TokenExpired {
				return // the key stays valid
			}
			require.Equal(t, tt.want, endOf(t, byKey.rest(t)))
			require.Equal(t, tt.want, endOf(t, feed.rest(t)))
		})
	}
}

// TestStreamsEndAfterTheirLife: a stream ends without an error, so that the client reconnects.
func TestStreamsEndAfterTheirLife(t *testing.T) {
	t.Parallel()
	w := open(t, func(o *httpapi.Options) { o.Streams.Life = 50 * time.Millisecond })
	c := w.customer(100)
	path := "/v1/analyses/" + c.ask(c.ready(), "Is there a dog?") + "/events"
	for _, p := range []string{path, "/v1/events/stream"} {
		require.Contains(t, w.stream(p, c.key.Secret).rest(t), ": This stream ends after 50ms. Connect again with Last-Event-ID.")
	}
	require.Zero(t, w.waiting())
}

// TestStreamsEndWithTheirSession: a session ends at its exp.
func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	w := open(t, func(o *httpapi.Options) {
		o.Sessions, o.Streams.Check = issuer.sessions(o.Service.Now), 20*time.Millisecond
	})
	s := w.stream("/v1/events/stream", issuer.session("ann", w.now()))
	w.advance(2 * time.Hour)
	require.Equal(t, fault.InvalidAPIKey, endOf(t, s.rest(t)))
}
