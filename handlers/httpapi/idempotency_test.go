package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/eventstore"
	"vqa/eventstore/node"
	"vqa/handlers/httpapi"
)

// beside starts another node of the service: with its own pipeline, edge and clock on the same
// database and object store.
func (w *world) beside(adjust ...func(*httpapi.Options)) *world {
	w.t.Helper()
	b := &world{
		t: w.t, contract: w.contract, engine: w.engine, database: w.database, pool: w.pool, objects: w.objects,
		wakers: map[chan struct{}]bool{}, logged: w.logged,
	}
	b.serve(w.t, slog.New(slog.NewTextHandler(w.logged, nil)), adjust...)
	return b
}

func TestEqualRequestsOnTwoNodesAreCarriedOutOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	videoID := c.ready()
	nodes := []*client{c, {w.beside(), c.key}}
	for _, request := range []struct{ path, body, list string }{
		{"/v1/videos", `{"content_type": "video/quicktime", "filename": "equal.mov"}`, "/v1/videos?status=awaiting_upload"},
		{"/v1/analyses", fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, videoID), "/v1/analyses"},
	} {
		answers := make([]response, 20)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i] = nodes[i%2].do(http.MethodPost, request.path, request.body, "Idempotency-Key", "twins"+request.path)
			})
		}
		all.Wait()
		carriedOut, id := 0, any(nil)
		for _, a := range answers {
			if a.StatusCode == http.StatusConflict {
				w.refused(a, 409, fault.IdempotencyUnavailable, "")
				require.Equal(t, "1", a.Header.Get("Retry-After"))
				continue
			}
			require.Less(t, a.StatusCode, 300, string(a.raw))
			if a.Header.Get("Idempotency-Replayed") == "" {
				carriedOut++
			}
			if id == nil {
				id = a.at("id")
			}
			require.Equal(t, id, a.at("id"))
		}
		require.Equal(t, 1, carriedOut)
		require.Len(t, c.do(http.MethodGet, request.list, "").at("data"), 1)
		for _, node := range nodes {
			again := node.do(http.MethodPost, request.path, request.body, "Idempotency-Key", "twins"+request.path)
			require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
			require.Equal(t, id, again.at("id"))
			w.refused(node.do(http.MethodPost, request.path, `{"other": 1}`, "Idempotency-Key", "twins"+request.path),
				409, fault.IdempotencyKeyReused, "")
		}
	}
}

// slowCompiler compiles no prompt until it is closed. Then the rules do.
type slowCompiler struct{ entered, closed chan struct{} }

func (s *slowCompiler) Compile(context.Context, string) (query.Query, error) {
	select {
	case s.entered <- struct{}{}:
	default:
	}
	<-s.closed
	return query.Query{}, errors.New("the rules compile it")
}

// slow keeps the creates of analyses open until the test closes it.
func (w *world) slow() *slowCompiler {
	s := &slowCompiler{make(chan struct{}, 1), make(chan struct{})}
	w.service.Compiler = s
	return s
}

// TestAWaitingCreateHasAResponse: a create that waits for its result has stored its response. A repeat gets it at once,
// and the final one when the wait is over.
func TestAWaitingCreateHasAResponse(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, c.ready())
	ask := func() response {
		return c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k", "Prefer", "wait=60")
	}
	first := make(chan response, 1)
	go func() { first <- ask() }()
	require.Eventually(t, func() bool { return w.waiting() == 1 }, 10*time.Second, time.Millisecond)
	again := ask()
	require.Equal(t, http.StatusAccepted, again.StatusCode, string(again.raw))
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, "queued", again.at("status"))
	require.EqualValues(t, 1, again.at("queue_position"))
	w.refused(c.do(http.MethodPost, "/v1/analyses", `{"video_id": "v"}`, "Idempotency-Key", "k"), 409, fault.IdempotencyKeyReused, "")
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/analyses/"+again.at("id").(string)+"/cancel", "").StatusCode)
	w.wake()
	done := <-first
	require.Equal(t, http.StatusOK, done.StatusCode, string(done.raw))
	require.Equal(t, again.at("id"), done.at("id"))
	require.Equal(t, string(done.raw), string(ask().raw))
}

// TestARunningRequestIsKnownOnEveryNode keeps a request open before it creates anything.
func TestARunningRequestIsKnownOnEveryNode(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	there := &client{w.beside(), c.key}
	videoID := c.ready()
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, videoID)
	ask := func(c *client, body string) response {
		return c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k")
	}
	slow, first := w.slow(), make(chan response, 1)
	go func() { first <- ask(c, body) }()
	<-slow.entered
	for _, node := range []*client{c, there} {
		running := ask(node, body)
		w.refused(running, 409, fault.IdempotencyUnavailable, "")
		require.Equal(t, "1", running.Header.Get("Retry-After"))
		w.refused(ask(node, `{"video_id": "v"}`), 409, fault.IdempotencyKeyReused, "")
	}
	close(slow.closed)
	done := <-first
	require.Equal(t, http.StatusAccepted, done.StatusCode, string(done.raw))
	again := ask(there, body)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, string(done.raw), string(again.raw))
}

// askSlowly sends a question with the Idempotency-Key "k" and returns while its request waits to be compiled.
func (c *client) askSlowly(body string) (slow *slowCompiler, done chan response) {
	c.w.t.Helper()
	slow, done = c.w.slow(), make(chan response, 1)
	go func() { done <- c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k") }()
	<-slow.entered
	return slow, done
}

// TestTheLockOfARunningRequestIsRenewed keeps a request open, and checks that its lock is extended.
func TestTheLockOfARunningRequestIsRenewed(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	slow, done := c.askSlowly(fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, c.ready()))
	until := func() (at time.Time) {
		require.NoError(t, w.pool.QueryRow(t.Context(), "select until from idempotency_locks").Scan(&at))
		return at
	}
	first := until()
	require.LessOrEqual(t, first.Sub(w.now()), 10*time.Second)
	require.Eventually(t, func() bool { return until().After(first) }, time.Minute, 10*time.Millisecond)
	close(slow.closed)
	require.Equal(t, http.StatusAccepted, (<-done).StatusCode)
	var locks int
	require.NoError(t, w.pool.QueryRow(t.Context(), "select count(*) from idempotency_locks").Scan(&locks))
	require.Zero(t, locks)
}

// TestAKeyIsUnlockedAfterALostConnection cuts the database off while a request runs, so that the node
// can neither store its response nor unlock its key. The node itself lives on.
func TestAKeyIsUnlockedAfterALostConnection(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	body := fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?"}`, c.ready())
	slow, done := c.askSlowly(body)
	w.database.sever()
	close(slow.closed)
	first := <-done
	lost := time.Now()
	w.database.restore()
	require.Eventually(t, func() bool {
		living, err := node.Count(t.Context(), w.pool)
		return err == nil && living == 1
	}, time.Minute, 10*time.Millisecond, "the node is alive, so its locks are valid")
	require.Contains(t, w.logged.String(), "cannot unlock the idempotency key", "the lock was left behind: %d %s", first.StatusCode, first.raw)

	var again response
	require.Eventually(t, func() bool {
		again = c.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "k")
		return again.StatusCode == http.StatusAccepted
	}, time.Minute, 500*time.Millisecond, "last: %s", &again.raw)
	t.Logf("the first request got %d; its key was free again after %s", first.StatusCode, time.Since(lost).Round(100*time.Millisecond))
	require.Len(t, c.do(http.MethodGet, "/v1/analyses", "").at("data"), 1)
}

func TestARefusedRequestUnlocksItsKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	const unknown = `{"video_id": "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "prompt": "Is there a dog?"}`
	for range 2 {
		w.refused(c.do(http.MethodPost, "/v1/analyses", unknown, "Idempotency-Key", "k"), 404, fault.ResourceNotFound, "")
		w.refused(c.do(http.MethodPost, "/v1/videos", `{}`, "Idempotency-Key", "k"), 400, fault.ValidationFailed, "content_type")
	}
	videoID := c.ready()
	preview := fmt.Sprintf(`{"video_id": %q, "prompt": "Is there a dog?", "validate_only": true}`, videoID)
	for range 2 {
		got := c.do(http.MethodPost, "/v1/analyses", preview, "Idempotency-Key", "k")
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		require.Empty(t, got.Header.Get("Idempotency-Replayed"), "nothing was carried out")
	}
	require.Equal(t, http.StatusCreated, c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`, "Idempotency-Key", "k").StatusCode)
	n, err := w.locks.DeleteExpired(t.Context(), w.now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Zero(t, n, "every key is unlocked")
}

// TestALockOfADeadNodeIsVoid creates the state after a crash during a request.
func TestALockOfADeadNodeIsVoid(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	locks, die := joinNode(w, "a node that dies")
	claim := eventstore.Claim{AccountID: c.key.AccountID, Key: "k", RequestID: "req_1", Until: w.now().Add(time.Hour)}
	claimed, err := locks.Acquire(t.Context(), claim, w.now())
	require.NoError(t, err)
	require.True(t, claimed.Held)
	const body = `{"content_type": "video/mp4"}`
	w.refused(c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k"), 409, fault.IdempotencyKeyReused, "")
	die()
	require.Eventually(t, func() bool {
		return c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k").StatusCode == http.StatusCreated
	}, 10*time.Second, 10*time.Millisecond)
}

// TestKeysOfBothModesAreApart: a test key that repeats the request of a live key of the same
// account must not get the live response.
func TestKeysOfBothModesAreApart(t *testing.T) {
	t.Parallel()
	w := open(t, byHeader)
	tester := w.sandbox()
	live := tester.as(tester.do(http.MethodPost, "/v1/keys/upgrade", "").at("api_key").(string))
	create := func(c *client) response {
		return c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`, "Idempotency-Key", "k")
	}
	first, other := create(live), create(tester)
	require.Equal(t, []any{201, true}, []any{first.StatusCode, first.at("livemode")}, string(first.raw))
	require.Equal(t, []any{201, false}, []any{other.StatusCode, other.at("livemode")}, string(other.raw))
	require.Empty(t, other.Header.Get("Idempotency-Replayed"))
	require.NotEqual(t, first.at("id"), other.at("id"))
	for c, want := range map[*client]response{live: first, tester: other} {
		again := create(c)
		require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
		require.Equal(t, want.at("id"), again.at("id"))
	}
}

func TestBodiesAreComparedAsValues(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	create := func(body string) response {
		return c.do(http.MethodPost, "/v1/videos", body, "Idempotency-Key", "k")
	}
	first := create(`{"content_type": "video/mp4", "size_bytes": 1000, "metadata": {"a": "1", "b": "2"}}`)
	require.Equal(t, http.StatusCreated, first.StatusCode, string(first.raw))
	for _, same := range []string{
		`{"metadata":{"b":"2","a":"1"},"size_bytes":1e3,"content_type":"video\/mp4"}`,
		" {\n\"size_bytes\": 1000.0, \"content_type\": \"video/mp4\", \"metadata\": {\"a\": \"1\", \"b\": \"2\"}, \"filename\": null}\n",
	} {
		again := create(same)
		require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"), "%s: %s", same, again.raw)
		require.Equal(t, first.at("id"), again.at("id"))
	}
	for _, another := range []string{
		`{"content_type": "video/mp4", "size_bytes": 1001, "metadata": {"a": "1", "b": "2"}}`,
		`{"content_type": "video/mp4", "size_bytes": 1000, "metadata": {"a": "2", "b": "1"}}`,
	} {
		w.refused(create(another), 409, fault.IdempotencyKeyReused, "")
	}
}

// TestSecretsAreShownAgainToTheirCallerOnly: every create with a secret runs once. Its caller
// gets the response again, although the database contains no readable secret.
func TestSecretsAreShownAgainToTheirCallerOnly(t *testing.T) {
	t.Parallel()
	w := open(t, byHeader)
	c, tester := w.customer(0), w.sandbox()
	second, _ := c.mint(`{"name": "another of the account"}`)
	_, old := c.mint(`{"name": "to rotate"}`)
	endpointID := c.endpoint(`{}`).at("id").(string)
	credential := func(c *client) []string { return []string{"Authorization", "Bearer " + c.key.Secret} }
	for name, tt := range map[string]struct {
		path, body, secret string
		by                 []string
		// stranger is another key of the account, or another address. It must not get the
		// response.
		stranger []string
		refusal  int
	}{
		"key":          {"/v1/api-keys", `{"name": "once"}`, "api_key", credential(c), credential(second), 409},
		"rotation":     {"/v1/api-keys/" + old.at("id").(string) + "/rotate", "", "api_key", credential(c), credential(second), 409},
		"endpoint":     {"/v1/webhook_endpoints", anEndpoint, "secret", credential(c), credential(second), 409},
		"new secret":   {"/v1/webhook_endpoints/" + endpointID + "/rotate_secret", "", "secret", credential(c), credential(second), 409},
		"client token": {"/v1/client_tokens", `{"scopes": ["videos:write"]}`, "token", credential(c), credential(second), 409},
		"upgrade":      {"/v1/keys/upgrade", "", "api_key", credential(tester), nil, 0},
		"sandbox":      {"/v1/sandbox", "", "api_key", nil, []string{"X-Address", "elsewhere"}, 201},
		"claim":        {"/v1/keys/request", "", "device_code", nil, []string{"X-Address", "elsewhere"}, 202},
		"own claim":    {"/v1/keys/request", "", "device_code", credential(c), credential(second), 409},
	} {
		send := func(headers []string) response {
			return w.do(http.MethodPost, tt.path, tt.body, append([]string{"Idempotency-Key", strings.ReplaceAll(name, " ", "-")}, headers...)...)
		}
		first := send(tt.by)
		require.Less(t, first.StatusCode, 300, "%s: %s", name, first.raw)
		secret := first.at(tt.secret).(string)
		again := send(tt.by)
		require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"), "%s: %s", name, again.raw)
		require.Equal(t, string(first.raw), string(again.raw), name)
		require.Equal(t, "no-store", again.Header.Get("Cache-Control"), name)
		if tt.stranger != nil {
			got := send(tt.stranger)
			require.Equal(t, tt.refusal, got.StatusCode, "%s: %s", name, got.raw)
			require.NotContains(t, string(got.raw), secret, name)
		}
		var readable int
		require.NoError(t, w.pool.QueryRow(t.Context(), `select count(*) from receipts
			where position(convert_to($1, 'UTF8') in body) > 0 or key = $1`, secret).Scan(&readable))
		require.Zero(t, readable, "%s: the database contains the secret", name)
	}
	require.Len(t, c.do(http.MethodGet, "/v1/webhook_endpoints", "").items(), 2, "one was created once")
	names := map[any]int{}
	for _, key := range c.do(http.MethodGet, "/v1/api-keys", "").items() {
		names[key["name"]]++
	}
	require.Equal(t, 1, names["once"])
	require.Equal(t, 2, names["to rotate"], "the old key and its one replacement")
}

// TestALostSecretIsReported creates the state after a crash between commit and response.
func TestALostSecretIsReported(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	first := c.do(http.MethodPost, "/v1/api-keys", `{"name": "lost"}`, "Idempotency-Key", "k")
	require.Equal(t, http.StatusCreated, first.StatusCode, string(first.raw))
	_, err := w.pool.Exec(t.Context(), "update receipts set status = 0, body = ''")
	require.NoError(t, err)
	got := c.do(http.MethodPost, "/v1/api-keys", `{"name": "lost"}`, "Idempotency-Key", "k")
	w.refused(got, 409, fault.ResourceConflict, "")
	require.Contains(t, got.at("error.message"), first.at("id"))

	endpoint := c.do(http.MethodPost, "/v1/webhook_endpoints", anEndpoint, "Idempotency-Key", "e")
	require.Equal(t, http.StatusCreated, endpoint.StatusCode, string(endpoint.raw))
	_, err = w.pool.Exec(t.Context(), "update receipts set status = 0, body = ''")
	require.NoError(t, err)
	got = c.do(http.MethodPost, "/v1/webhook_endpoints", anEndpoint, "Idempotency-Key", "e")
	w.refused(got, 409, fault.ResourceConflict, "")
	require.Contains(t, got.at("error.message"), "/v1/webhook_endpoints/"+endpoint.at("id").(string)+"/rotate_secret")
}
