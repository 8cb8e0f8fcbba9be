package httpapi_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/admission"
	"vqa/domain/fault"
	"vqa/eventstore/storetest"
	"vqa/handlers/httpapi"
	"vqa/handlers/httpapi/edge"
	"vqa/migrations"
)

// overloadClients is the number of clients that create videos all the time.
const overloadClients = 40

// TestOverload makes the database slow while many clients create videos. Live creates are shed, and
// no others. When the database is quick again, nothing is shed.
func TestOverload(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	w := openOn(t, url, func(o *httpapi.Options) {
		o.Creates = edge.NewCreates(admission.Default, o.Log)
		o.Rates = edge.Rates{Reads: 100_000, Writes: 100_000, AnalysesCreate: 100_000}
	})
	live, tester := w.customer(0), w.tester()
	owner, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, owner.Close(t.Context())) }()
	run := func(sql string) {
		t.Helper()
		_, err := owner.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	run(`create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return null; end $$;
		create trigger slow before insert on events for each statement execute function slow()`)

	create := func() response { return live.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`) }
	ended, shed := make(chan struct{}), make(chan response, 100_000)
	var clients sync.WaitGroup
	for range overloadClients {
		clients.Go(func() {
			for {
				if got := create(); got.StatusCode != http.StatusCreated {
					shed <- got
				}
				select {
				case <-ended:
					return
				case <-time.After(50 * time.Millisecond): // the pause of a client that does not obey Retry-After
				}
			}
		})
	}
	stop := sync.OnceFunc(func() { close(ended); clients.Wait() })
	defer stop()
	for range 3 * overloadClients {
		var got response
		select {
		case got = <-shed:
		case <-time.After(time.Minute):
			t.Fatal("nothing is shed")
		}
		w.refused(got, http.StatusServiceUnavailable, fault.CapacityExhausted, "")
		after, err := strconv.Atoi(got.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.True(t, after >= 1 && after <= 30, "Retry-After %d", after)
		require.NotEmpty(t, got.Header.Get("X-RateLimit-Remaining"))
	}
	for i := range 3 {
		asked := tester.do(http.MethodPost, "/v1/analyses", `{"video_id": "`+tester.key.FixtureVideoID+`", "prompt": "Is there a ball?"}`,
			"Idempotency-Key", "test-"+strconv.Itoa(i))
		require.Equal(t, http.StatusOK, asked.StatusCode, string(asked.raw))
		require.Equal(t, http.StatusOK, live.do(http.MethodGet, "/v1/videos", "").StatusCode)
	}
	stop()
	require.Contains(t, w.logged.String(), "refusing live creates")

	run("drop trigger slow on events")
	for deadline := time.Now().Add(time.Minute); ; {
		before := len(shed)
		var round sync.WaitGroup
		for range overloadClients / 2 {
			round.Go(func() {
				if got := create(); got.StatusCode != http.StatusCreated {
					shed <- got
				}
			})
		}
		round.Wait()
		if len(shed) == before {
			return
		}
		require.True(t, time.Now().Before(deadline), "creates are still shed")
		time.Sleep(100 * time.Millisecond) // the gate measures in intervals
	}
}

func registerVideo(c *client) response {
	return c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`)
}

// occupy sends a create that the log blocks until release, so that it occupies the only place.
func occupy(t *testing.T, url string, creates *edge.Creates, c *client) (blocked chan response, release func()) {
	t.Helper()
	owner, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, owner.Close(context.WithoutCancel(t.Context()))) })
	blocker, err := owner.Begin(t.Context())
	require.NoError(t, err)
	_, err = blocker.Exec(t.Context(), "lock table events in share mode")
	require.NoError(t, err)
	blocked = make(chan response, 1)
	go func() { blocked <- registerVideo(c) }()
	require.Eventually(t, func() bool { return creates.Stats().Inside == 1 }, 30*time.Second, time.Millisecond)
	return blocked, func() { require.NoError(t, blocker.Rollback(t.Context())) }
}

// TestAShedCreateRecordsNothing repeats a shed request with its Idempotency-Key.
func TestAShedCreateRecordsNothing(t *testing.T) {
	t.Parallel()
	p := admission.Default
	p.First, p.Least, p.Most, p.Burst = 1, 1, 1, 0
	creates := edge.NewCreates(p, slog.New(slog.DiscardHandler))
	url := storetest.Database(t, migrations.Up, migrations.Version())
	w := openOn(t, url, func(o *httpapi.Options) { o.Creates = creates })
	live := w.customer(100)
	videoID := live.ready()
	body := `{"video_id": "` + videoID + `", "prompt": "Is there a ball?"}`

	// A request that waits for its result does not occupy the only place.
	waiting := make(chan response, 1)
	go func() { waiting <- live.do(http.MethodPost, "/v1/analyses", body, "Prefer", "wait=3") }()
	require.Eventually(t, func() bool { return w.waiting() > 0 }, 30*time.Second, 10*time.Millisecond)
	require.Zero(t, creates.Stats().Inside)

	// The log blocks the next create, which occupies it.
	blocked, release := occupy(t, url, creates, live)
	shed := live.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "again")
	w.refused(shed, http.StatusServiceUnavailable, fault.CapacityExhausted, "")
	require.Equal(t, "1", shed.Header.Get("Retry-After"))
	// A preview is the same work.
	w.refused(live.do(http.MethodPost, "/v1/analyses", body[:len(body)-1]+`, "validate_only": true}`),
		http.StatusServiceUnavailable, fault.CapacityExhausted, "")
	release()
	<-blocked
	require.Eventually(t, func() bool { return creates.Stats().Inside == 0 }, 30*time.Second, time.Millisecond)

	first := live.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "again")
	require.Equal(t, http.StatusAccepted, first.StatusCode, string(first.raw))
	require.Empty(t, first.Header.Get("Idempotency-Replayed"))
	second := live.do(http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "again")
	require.Equal(t, "true", second.Header.Get("Idempotency-Replayed"))
	require.Equal(t, first.at("id"), second.at("id"))
	require.Equal(t, http.StatusOK, live.do(http.MethodPost, "/v1/analyses/"+first.at("id").(string)+"/cancel", "").StatusCode)
	<-waiting
}

// TestASpentKeyTakesNoPlace occupies the only place. A key that has spent its rate gets 429 without
// a place, so it cannot keep other accounts out. Nor can an address with invented keys.
func TestASpentKeyTakesNoPlace(t *testing.T) {
	t.Parallel()
	p := admission.Default
	p.First, p.Least, p.Most, p.Burst = 1, 1, 1, 0
	creates := edge.NewCreates(p, slog.New(slog.DiscardHandler))
	url := storetest.Database(t, migrations.Up, migrations.Version())
	w := openOn(t, url, func(o *httpapi.Options) {
		o.Creates = creates
		o.Rates = edge.Rates{Writes: 3}
	})
	spent, other := w.customer(0), w.customer(0)
	require.Equal(t, http.StatusCreated, registerVideo(other).StatusCode) // the node knows its key
	var refused response
	for range 4 {
		refused = registerVideo(spent)
	}
	w.refused(refused, http.StatusTooManyRequests, fault.RateLimitExceeded, "")
	invented := func() response {
		return w.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`, "Authorization", "Bearer svc_live_"+rand.Text())
	}
	for range 4 {
		refused = invented()
	}
	w.refused(refused, http.StatusTooManyRequests, fault.RateLimitExceeded, "")

	blocked, release := occupy(t, url, creates, other)
	for range 10 {
		again := registerVideo(spent)
		w.refused(again, http.StatusTooManyRequests, fault.RateLimitExceeded, "")
		require.NotEmpty(t, again.Header.Get("Retry-After"))
		require.Equal(t, "3", again.Header.Get("X-RateLimit-Limit"))
		w.refused(invented(), http.StatusTooManyRequests, fault.RateLimitExceeded, "")
	}
	require.Zero(t, creates.Stats().Shed["busy"]+creates.Stats().Shed["slow"])
	release()
	require.Equal(t, http.StatusCreated, (<-blocked).StatusCode)
}
