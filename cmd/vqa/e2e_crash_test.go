package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The limits of the kills. On a slow machine, fewer kills fit into the time.
const (
	killsFor  = 20 * time.Second
	killsMost = 10
	// recovery bounds the time in which interrupted work must end.
	recovery = 5 * time.Minute
)

// TestCrashes kills the real process during an analysis and after it. The parts share one service.
// Each part has its own account.
func TestCrashes(t *testing.T) {
	t.Parallel()
	temp := filepath.Join(t.TempDir(), "drawings")
	require.NoError(t, os.Mkdir(temp, 0o755))
	s := ownService(t, embeddedWorker, "VQA_MAX_CONCURRENT_ANALYSES=64", "TMPDIR="+temp)

	t.Run("in a drawing", func(t *testing.T) { killInDrawing(t, s, temp) })
	s.env = append(s.env, "VQA_ARTIFACTS=false") // from the next start on, the tests do not need them
	t.Run("in an analysis", func(t *testing.T) { killInAnalyses(t, s) })
	t.Run("read models", func(t *testing.T) { requireRebuiltEqual(t, s) })
}

// TestCrashesOfTransfers kills the real process, or its database, during an upload, a fetch and a
// request. It has its own service, so that it can wait beside TestCrashes.
func TestCrashesOfTransfers(t *testing.T) {
	t.Parallel()
	origin, err := newSite()
	require.NoError(t, err)
	t.Cleanup(origin.Close)
	s := ownService(t, append(origin.settings(), "VQA_ARTIFACTS=false")...)

	t.Run("in an upload", func(t *testing.T) { killInUpload(t, s) })
	t.Run("in a fetch", func(t *testing.T) { killInFetch(t, s, origin) })
	t.Run("stopped in an analysis", func(t *testing.T) { stopInAnalysis(t, s) })
	t.Run("Postgres", func(t *testing.T) { killPostgres(t, s) })
	t.Run("read models", func(t *testing.T) { requireRebuiltEqual(t, s) })
}

// killInAnalyses kills at random moments of analyses. Afterwards each analysis is completed and billed
// once, or failed and not billed. No hold remains.
func killInAnalyses(t *testing.T, s *service) {
	const grant, seconds = 1000, 7 // the clip's length, rounded up
	c := s.account(t, grant)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	asked := map[string]string{}
	var videos []string
	var starts []time.Duration
	for began := time.Now(); len(starts) < killsMost && time.Since(began) < killsFor; {
		if len(starts)%2 == 0 {
			// No analysis is interrupted so often that it fails as stuck.
			awaitAll(t, c, asked)
		}
		// Each question has its own video, because a stored survey would answer the next question.
		videoID := c.readyVideo(t, clip(t, signsClip))
		videos = append(videos, videoID)
		key := fmt.Sprint("question-", len(starts))
		a := c.ask(t, videoID, "Is there a stop sign?", "Idempotency-Key", key)
		require.Equal(t, http.StatusAccepted, a.status, "%s", a.raw)
		asked[key] = a.text("id")
		<-time.After(time.Duration(r.Int64N(int64(2500 * time.Millisecond))))
		s.kill()
		restarted := time.Now()
		require.NoError(t, s.start())
		starts = append(starts, time.Since(restarted))
		replay := c.ask(t, videoID, "Is there a stop sign?", "Idempotency-Key", key)
		require.Equal(t, a.text("id"), replay.text("id"), "%s", replay.raw)
	}
	t.Logf("killed %d times; ready again after %v", len(starts), starts)
	require.NotEmpty(t, asked)

	completed := 0.0
	for _, a := range awaitAll(t, c, asked) {
		if a.text("status") == "completed" {
			completed++
			require.Equal(t, "yes", a.text("result.answer"), "%s", a.raw)
			require.InDelta(t, seconds, a.number("usage.billed_seconds"), 0)
			continue
		}
		require.Equal(t, "failed", a.text("status"), "%s", a.raw)
		require.Equal(t, "stuck_timeout", a.text("error.code"))
		require.Zero(t, a.number("usage.billed_seconds"))
	}
	t.Logf("%v of %d completed, the others failed as stuck", completed, len(asked))
	credits := c.credits(t)
	require.InDelta(t, 0, credits.number("held_seconds"), 0)
	require.InDelta(t, grant-completed*seconds, credits.number("balance_seconds"), 0)
	debited := map[any]bool{}
	for _, txn := range credits.at("transactions").([]any) {
		x := txn.(map[string]any)
		if x["kind"] == "analysis_debit" {
			require.False(t, debited[x["source_id"]], "%v is billed twice", x["source_id"])
			debited[x["source_id"]] = true
		}
	}
	require.Len(t, debited, int(completed))
	require.Len(t, c.call(t, http.MethodGet, "/v1/analyses?limit=100", nil).at("data"), len(asked), "no request was executed twice")
	for _, videoID := range videos {
		require.Equal(t, http.StatusOK, c.call(t, http.MethodDelete, "/v1/videos/"+videoID, nil).status, "no analysis blocks the deletion of the video")
	}
}

// awaitAll waits until every analysis has ended.
func awaitAll(t *testing.T, c *apiClient, ids map[string]string) []answer {
	t.Helper()
	var all []answer
	for _, id := range ids {
		all = append(all, c.await(t, "/v1/analyses/"+id, recovery, answer.terminal))
	}
	return all
}

// killInUpload kills during an upload. A partial upload does not count, and the caller can repeat it.
func killInUpload(t *testing.T, s *service) {
	c := s.account(t, 100)
	data := clipBytes(t, signsClip)
	v := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4", "size_bytes": len(data)})
	require.Equal(t, http.StatusCreated, v.status, "%s", v.raw)
	body, half := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, v.text("upload.url"), body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "video/mp4")
	req.ContentLength = int64(len(data))
	ended := make(chan error, 1)
	go func() { _, err := exchange(req); ended <- err }()
	_, err = half.Write(data[:len(data)/2])
	require.NoError(t, err)
	require.True(t, poll(time.Minute, func() bool { return partial(t, s) > 0 }), "bytes have arrived")
	s.kill()
	require.NoError(t, half.Close())
	require.Error(t, <-ended)

	require.NoError(t, s.start())
	path := "/v1/videos/" + v.text("id")
	refused := c.complete(t, v.text("id"))
	require.Equal(t, "upload_incomplete", refused.code(), "%s", refused.raw)
	v = c.call(t, http.MethodGet, path, nil)
	require.Equal(t, "awaiting_upload", v.text("status"))
	require.Equal(t, http.StatusOK, c.put(t, v, data).status)
	require.Equal(t, "ready", c.complete(t, v.text("id")).text("status"))
}

// partial counts the unfinished files of the object store.
func partial(t *testing.T, s *service) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "objects", "*", "*.tmp"))
	require.NoError(t, err)
	return len(found)
}

func killInFetch(t *testing.T, s *service, origin *site) {
	c := s.account(t, 100)
	v := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"url": origin.URL + "/slow.mp4"})
	require.Equal(t, http.StatusCreated, v.status, "%s", v.raw)
	requireArrival(t, origin)
	s.kill()
	require.NoError(t, s.start())
	requireArrival(t, origin)
	close(origin.resume)
	v = c.await(t, "/v1/videos/"+v.text("id"), recovery, func(a answer) bool { return a.text("status") != "processing" })
	require.Equal(t, "ready", v.text("status"), "%s", v.raw)
	require.InDelta(t, signsClipS, v.number("duration_s"), 0.01)
}

func requireArrival(t *testing.T, origin *site) {
	t.Helper()
	select {
	case <-origin.arrived:
	case <-time.After(recovery):
		require.Fail(t, "the service did not fetch")
	}
}

// stopInAnalysis stops the service with SIGTERM during an analysis.
func stopInAnalysis(t *testing.T, s *service) {
	c := s.account(t, 100)
	videoID := c.readyVideo(t, clip(t, longClip))
	a := c.ask(t, videoID, "Is there a stop sign?")
	path := "/v1/analyses/" + a.text("id")
	before := c.await(t, path, recovery, func(a answer) bool { return a.text("status") == "analyzing" || a.terminal() })
	require.False(t, before.terminal(), "%s", before.raw)
	require.NoError(t, s.terminate())
	require.NoError(t, s.start())
	percent := before.number("progress.percent")
	a = c.await(t, path, recovery, func(a answer) bool {
		if !a.terminal() {
			require.GreaterOrEqual(t, a.number("progress.percent"), percent, "progress never falls")
			percent = a.number("progress.percent")
		}
		return a.terminal()
	})
	require.Equal(t, "completed", a.text("status"), "%s", a.raw)
	require.Equal(t, "yes", a.text("result.answer"))
	require.InDelta(t, longClipS, a.number("usage.billed_seconds"), 0)
	require.InDelta(t, 100-longClipS, c.credits(t).number("balance_seconds"), 0)
}

// killPostgres kills the database of a running service. The service restarts it, but only after the test
// has let go of the lock that a restart needs.
func killPostgres(t *testing.T, s *service) {
	c := s.account(t, 100)
	videoID := c.readyVideo(t, clip(t, briefClip))
	lock, err := os.Open(filepath.Join(s.dir, "postgres", "start.lock"))
	require.NoError(t, err)
	defer func() { _ = lock.Close() }()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	require.NoError(t, syscall.Kill(postmaster(s), syscall.SIGKILL))

	for _, request := range []func() answer{
		func() answer { return c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil) },
		func() answer { return c.ask(t, videoID, "Is there a dog?") },
		func() answer { return c.call(t, http.MethodPost, "/v1/sandbox", nil) },
	} {
		var a answer
		// The backends notice the end of the postmaster with a delay.
		require.True(t, poll(time.Minute, func() bool { a = request(); return a.status >= 500 }), "%s", a.raw)
		require.Equal(t, http.StatusServiceUnavailable, a.status, "%s", a.raw)
		require.Equal(t, "db_unavailable", a.code())
		requireRetryAfter(t, a)
	}
	// A node keeps the result of a probe for two seconds.
	require.True(t, poll(recovery, func() bool {
		return (&apiClient{service: s}).call(t, http.MethodGet, "/readyz", nil).status == http.StatusServiceUnavailable
	}), "the node is still ready without its database")

	require.NoError(t, lock.Close())
	require.True(t, poll(recovery, func() bool { return c.call(t, http.MethodGet, "/readyz", nil).status == http.StatusOK }), "the service did not restart its database")
	require.Equal(t, http.StatusOK, c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil).status)
	a := c.ask(t, videoID, "Are there stop signs?", "Prefer", "wait=100")
	require.Equal(t, "yes", a.text("result.answer"), "%s", a.raw)
}

// requireRebuiltEqual rebuilds every read model from the log, beside the running service.
func requireRebuiltEqual(t *testing.T, s *service) {
	t.Helper()
	var verdict struct {
		Equal  bool `json:"equal"`
		Tables []struct {
			Table string `json:"table"`
			Rows  int    `json:"rows"`
		} `json:"tables"`
	}
	out := s.tool(t, "projections", "rebuild", "--all", "--json")
	require.NoError(t, json.Unmarshal(out, &verdict))
	require.True(t, verdict.Equal, "%s", out)
	rows := map[string]int{}
	for _, table := range verdict.Tables {
		rows[table.Table] = table.Rows
	}
	// The tables that these tests fill. Other tables, such as incidents, may be empty.
	for _, table := range []string{"accounts", "api_keys", "videos", "analyses", "credit_balances", "credit_transactions"} {
		require.Positive(t, rows[table], "%s: %s", table, out)
	}
	require.Equal(t, http.StatusOK, s.account(t, 5).credits(t).status, "the new tables serve")
}
