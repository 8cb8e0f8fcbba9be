package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// engineService starts a service with the engine of a test, without artifacts.
func engineService(t *testing.T, engine *faulty, settings ...string) *service {
	t.Helper()
	return ownService(t, append(settings, "VQA_INFERENCE_URL="+engine.URL, "VQA_ARTIFACTS=false")...)
}

// TestEngine checks the requests to the engine, and spoils its responses. The parts share one service
// and one engine. Each part has its own account.
func TestEngine(t *testing.T) {
	t.Parallel()
	engine := newFaulty(t)
	s := engineService(t, engine, fmt.Sprint("VQA_ANALYSIS_SLOTS=", engineSlots))
	t.Run("batch", func(t *testing.T) { batchIsOneLook(t, s, engine) })
	t.Run("queue", func(t *testing.T) { queueInOrder(t, s, engine) })
	t.Run("garbage", func(t *testing.T) { garbageFails(t, s, engine) })
	t.Run("ledger", func(t *testing.T) { requireLedgerClean(t, s) })
}

// TestEngineAway interrupts the engine. Analyses wait for it.
func TestEngineAway(t *testing.T) {
	t.Parallel()
	engine := newFaulty(t)
	s := engineService(t, engine, "VQA_INFERENCE_PATIENCE=10s")
	t.Run("before", func(t *testing.T) { awayRefuses(t, s, engine) })
	t.Run("in an analysis", func(t *testing.T) { awayIsAnIncident(t, s, engine) })
	t.Run("re-run", func(t *testing.T) { rerunAfterAnIncident(t, s, engine) })
	t.Run("ledger", func(t *testing.T) { requireLedgerClean(t, s) })
}

// TestSilentEngine uses an engine that reports that it is ready but never answers.
func TestSilentEngine(t *testing.T) {
	t.Parallel()
	engine := newFaulty(t)
	s := engineService(t, engine, "VQA_INFERENCE_TIMEOUT=2s", "VQA_INFERENCE_PATIENCE=2s")
	f := newFailing(t, s, engine)
	var waiting []string
	for name, spoiled := range silence() {
		before := len(s.incidents(t))
		engine.spoil(spoiled)
		a := f.ask(t, f.videoID, "Is there a stop sign?")
		require.Equal(t, http.StatusAccepted, a.status, "%s: %s", name, a.raw)
		require.True(t, pollEvery(500*time.Millisecond, recovery, func() bool { return len(s.incidents(t)) > before }), "%s is an outage", name)
		path := "/v1/analyses/" + a.text("id")
		require.False(t, f.call(t, http.MethodGet, path, nil).terminal(), "%s: the analysis waits", name)
		waiting = append(waiting, path)
	}
	// A real answer can take longer than 2 s, because other tests use the same cores.
	require.NoError(t, s.terminate())
	s.env = append(s.env, "VQA_INFERENCE_TIMEOUT=1m")
	engine.spoil(nil)
	require.NoError(t, s.start())
	for _, path := range waiting {
		a := f.await(t, path, recovery, answer.terminal)
		require.Equal(t, "yes", a.text("result.answer"), "%s", a.raw)
	}
	f.recovers(t)
	requireLedgerClean(t, s)
}

// untouched checks that nothing was billed to the account and that nothing is held.
func (c *apiClient) untouched(t *testing.T, grant float64) {
	t.Helper()
	credits := c.credits(t)
	require.InDelta(t, grant, credits.number("balance_seconds"), 0)
	require.InDelta(t, 0, credits.number("held_seconds"), 0)
	require.InDelta(t, 0, credits.number("used_seconds"), 0)
	require.Empty(t, credits.at("holds"))
}

// failing is a video whose analyses fail because of the engine.
type failing struct {
	*apiClient
	engine  *faulty
	videoID string
}

const failingGrant = 100

func newFailing(t *testing.T, s *service, engine *faulty) failing {
	t.Helper()
	c := s.account(t, failingGrant)
	return failing{c, engine, c.readyVideo(t, clip(t, briefClip))}
}

// fails asks while the engine is spoiled. An impossible response of the engine never becomes an
// answer, and the analysis is not billed.
func (f failing) fails(t *testing.T, name string, spoiled fault) answer {
	t.Helper()
	f.engine.spoil(spoiled)
	a := f.ask(t, f.videoID, "Is there a stop sign?", "Prefer", "wait=120")
	require.Equal(t, http.StatusOK, a.status, "%s: %s", name, a.raw)
	require.Equal(t, "failed", a.text("status"), "%s: %s", name, a.raw)
	require.Equal(t, "inference_error", a.text("error.code"), name)
	require.Nil(t, a.at("result"), name)
	require.InDelta(t, 0, a.number("usage.billed_seconds"), 0, name)
	require.InDelta(t, failingGrant, a.number("usage.credit_balance_after"), 0, name)
	f.untouched(t, failingGrant)
	return a
}

// recovers asks the engine when it works again.
func (f failing) recovers(t *testing.T) {
	t.Helper()
	f.engine.spoil(nil)
	a := f.ask(t, f.videoID, "Is there a stop sign?", "Prefer", "wait=120")
	require.Equal(t, "yes", a.text("result.answer"), "no spoiled response was stored: %s", a.raw)
	require.Equal(t, http.StatusOK, f.call(t, http.MethodDelete, "/v1/videos/"+f.videoID, nil).status, "no analysis blocks the deletion of the video")
}

func garbageFails(t *testing.T, s *service, engine *faulty) {
	f := newFailing(t, s, engine)
	for name, spoiled := range garbage() {
		a := f.fails(t, name, spoiled)
		require.Equal(t, false, a.at("rerun_eligible"), "%s may be caused by the input", name)
		refused := f.call(t, http.MethodPost, "/v1/analyses/"+a.text("id")+"/rerun", nil)
		require.Equal(t, "rerun_not_eligible", refused.code(), "%s", refused.raw)
	}
	f.recovers(t)
}

// awayRefuses checks that the service refuses new work without an engine, and does everything else.
func awayRefuses(t *testing.T, s *service, engine *faulty) {
	const grant = 100
	c := s.account(t, grant)
	tester := &apiClient{service: s, key: issued{APIKey: s.newTestKey(t)}}
	videoID := c.readyVideo(t, clip(t, briefClip))
	fixture := tester.call(t, http.MethodGet, "/v1/videos", nil).text("data.0.id")
	question := map[string]any{"video_id": videoID, "prompt": "Is there a stop sign?"}
	batch := map[string]any{"video_id": videoID, "prompts": []string{"Is there a stop sign?", "Is there a dog?"}}
	engine.spoil(away)
	health := &apiClient{service: s}
	require.True(t, poll(time.Minute, func() bool {
		return health.call(t, http.MethodGet, "/readyz", nil).status == http.StatusServiceUnavailable
	}), "the state of the engine is cached for a moment")
	for path, body := range map[string]map[string]any{"/v1/analyses": question, "/v1/analyses/batch": batch} {
		a := c.call(t, http.MethodPost, path, body, "Idempotency-Key", path)
		require.Equal(t, http.StatusServiceUnavailable, a.status, "%s: %s", path, a.raw)
		require.Equal(t, "inference_unavailable", a.code())
		requireRetryAfter(t, a)
	}

	for _, path := range []string{"/v1/videos/" + videoID, "/v1/analyses", "/v1/credits", "/v1/usage", "/v1/models"} {
		require.Equal(t, http.StatusOK, c.call(t, http.MethodGet, path, nil).status, path)
	}
	question["validate_only"] = true
	preview := c.call(t, http.MethodPost, "/v1/analyses", question)
	require.Equal(t, "analysis_preview", preview.text("object"), "%s", preview.raw)
	refused := c.ask(t, videoID, "What is happening?")
	require.Equal(t, "completed", refused.text("status"), "a question that needs no engine is answered: %s", refused.raw)
	canned := tester.ask(t, fixture, "Is there a ball?")
	require.Equal(t, http.StatusOK, canned.status, "test mode is never refused: %s", canned.raw)
	require.Equal(t, "completed", canned.text("status"))
	c.untouched(t, grant)

	engine.spoil(nil)
	delete(question, "validate_only")
	var a answer
	require.True(t, poll(time.Minute, func() bool {
		a = c.call(t, http.MethodPost, "/v1/analyses", question, "Idempotency-Key", "/v1/analyses", "Prefer", "wait=120")
		return a.status != http.StatusServiceUnavailable
	}), "%s", a.raw)
	require.Equal(t, "yes", a.text("result.answer"), "the same idempotency key can be used again: %s", a.raw)
}

// awayIsAnIncident interrupts the engine during an analysis. The analysis waits and completes.
func awayIsAnIncident(t *testing.T, s *service, engine *faulty) {
	const grant = 100
	c := s.account(t, grant)
	videoID := c.readyVideo(t, clip(t, briefClip))
	s.awaitNoIncident(t)
	before := len(s.incidents(t))
	drain(engine.asked)
	engine.spoil(func(w http.ResponseWriter, r *http.Request) bool { return isInfer(r) && away(w, r) })
	a := c.ask(t, videoID, "Is there a stop sign?")
	require.Equal(t, http.StatusAccepted, a.status, "%s", a.raw)
	select {
	case <-engine.asked:
	case <-time.After(recovery):
		require.Fail(t, "the engine was not asked")
	}
	engine.spoil(away)
	path := "/v1/analyses/" + a.text("id")
	var open []shown
	require.True(t, pollEvery(500*time.Millisecond, recovery, func() bool { open = s.incidents(t, "--open"); return len(open) > 0 }))
	require.Len(t, open, 1)
	require.NotEmpty(t, open[0].Title)
	require.True(t, pollEvery(500*time.Millisecond, recovery, func() bool {
		return strings.Contains(string(s.tool(t, "why", a.text("id"))), "cancelled")
	}), "the attempt ends, and the analysis waits")
	require.False(t, c.call(t, http.MethodGet, path, nil).terminal())

	engine.spoil(nil)
	a = c.await(t, path, recovery, answer.terminal)
	require.Equal(t, "yes", a.text("result.answer"), "%s", a.raw)
	s.awaitNoIncident(t)
	require.Len(t, s.incidents(t), before+1, "one outage is one incident")
}

// rerunAfterAnIncident follows an analysis that fails during an incident to its free re-run.
func rerunAfterAnIncident(t *testing.T, s *service, engine *faulty) {
	f := newFailing(t, s, engine)
	s.tool(t, "incidents", "open", "The engine returns nonsense.")
	a := f.fails(t, "not JSON", says(http.StatusOK, "It works!"))
	path := "/v1/analyses/" + a.text("id")
	require.Equal(t, true, a.at("rerun_eligible"), "it failed during an incident: %s", a.raw)
	engine.spoil(away)
	require.True(t, poll(time.Minute, func() bool {
		return (&apiClient{service: s}).call(t, http.MethodGet, "/readyz", nil).status == http.StatusServiceUnavailable
	}))
	unavailable := f.call(t, http.MethodPost, path+"/rerun", nil)
	require.Equal(t, http.StatusServiceUnavailable, unavailable.status, "%s", unavailable.raw)
	require.Equal(t, "inference_unavailable", unavailable.code())
	requireRetryAfter(t, unavailable)

	engine.spoil(nil)
	var rerun answer
	require.True(t, poll(time.Minute, func() bool {
		rerun = f.call(t, http.MethodPost, path+"/rerun", nil)
		return rerun.status != http.StatusServiceUnavailable
	}))
	require.Equal(t, http.StatusAccepted, rerun.status, "a refusal does not use up the free re-run: %s", rerun.raw)
	require.NotEqual(t, a.text("id"), rerun.text("id"))
	for _, same := range []string{"video_id", "prompt", "query", "model", "options", "metadata"} {
		require.Equal(t, a.at(same), rerun.at(same), same)
	}
	require.Nil(t, rerun.at("usage"))
	done := f.await(t, "/v1/analyses/"+rerun.text("id"), recovery, answer.terminal)
	require.Equal(t, "yes", done.text("result.answer"), "%s", done.raw)
	require.Nil(t, done.at("usage"), "usage of a free re-run stays null")
	f.untouched(t, failingGrant)
	again := f.call(t, http.MethodPost, path+"/rerun", nil)
	require.Equal(t, http.StatusConflict, again.status)
	require.Equal(t, "rerun_not_eligible", again.code())
	require.JSONEq(t, string(a.raw), string(f.call(t, http.MethodGet, path, nil).raw), "the original is unchanged")
	notFailed := f.call(t, http.MethodPost, "/v1/analyses/"+rerun.text("id")+"/rerun", nil)
	require.Equal(t, "rerun_not_eligible", notFailed.code(), "%s", notFailed.raw)
}

func drain(signals chan struct{}) {
	select {
	case <-signals:
	default:
	}
}

// shown is an incident in the output of `vqa incidents list --json`.
type shown struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Open  bool   `json:"open"`
}

func (s *service) incidents(t *testing.T, args ...string) (list []shown) {
	t.Helper()
	out := s.tool(t, append([]string{"incidents", "list", "--json"}, args...)...)
	require.NoError(t, json.Unmarshal(out, &list), "%s", out)
	return list
}

// awaitNoIncident waits until the service has closed its incidents.
func (s *service) awaitNoIncident(t *testing.T) {
	t.Helper()
	require.True(t, pollEvery(500*time.Millisecond, recovery, func() bool { return len(s.incidents(t, "--open")) == 0 }))
}

func requireLedgerClean(t *testing.T, s *service) {
	t.Helper()
	var verdict struct {
		Sound bool `json:"sound"`
	}
	out := s.tool(t, "ledger", "verify", "--json")
	require.NoError(t, json.Unmarshal(out, &verdict), "%s", out)
	require.True(t, verdict.Sound, "%s", out)
}

// TestFaultsOfTheWorker kills or stops the embedded worker during an analysis. The next worker
// completes it.
func TestFaultsOfTheWorker(t *testing.T) {
	t.Parallel()
	s := ownService(t, embeddedWorker, "VQA_INFERENCE_TIMEOUT=30s", "VQA_ARTIFACTS=false")
	for _, harm := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(fmt.Sprint(harm), func(t *testing.T) {
			c := s.account(t, 100)
			videoID := c.readyVideo(t, clip(t, longClip))
			worker := s.worker(t)
			a := c.ask(t, videoID, "Is there a stop sign?")
			path := "/v1/analyses/" + a.text("id")
			a = c.await(t, path, recovery, func(a answer) bool { return a.text("status") == "analyzing" || a.terminal() })
			require.False(t, a.terminal(), "%s", a.raw)
			require.NoError(t, syscall.Kill(worker, harm))
			a = c.await(t, path, recovery, answer.terminal)
			require.Equal(t, "completed", a.text("status"), "%s", a.raw)
			require.Equal(t, "yes", a.text("result.answer"))
			require.InDelta(t, longClipS, a.number("usage.billed_seconds"), 0)
			require.InDelta(t, 100-longClipS, c.credits(t).number("balance_seconds"), 0)
			require.NotEqual(t, worker, s.worker(t), "a new worker runs")
			require.ErrorIs(t, syscall.Kill(worker, 0), syscall.ESRCH, "the first worker has ended")
		})
	}
	requireLedgerClean(t, s)
}

// TestSilentWorkerIsReplaced stops an idle worker. The service refuses new work until a new worker
// runs. It has its own service, so that it can wait beside TestFaultsOfTheWorker.
func TestSilentWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	s := ownService(t, embeddedWorker, "VQA_INFERENCE_TIMEOUT=30s", "VQA_ARTIFACTS=false")
	c := s.account(t, 100)
	videoID := c.readyVideo(t, clip(t, briefClip))
	worker := s.worker(t)
	require.NoError(t, syscall.Kill(worker, syscall.SIGSTOP))
	health := &apiClient{service: s}
	require.True(t, poll(time.Minute, func() bool {
		return health.call(t, http.MethodGet, "/readyz", nil).status == http.StatusServiceUnavailable
	}))
	refused := c.ask(t, videoID, "Is there a stop sign?")
	require.Equal(t, http.StatusServiceUnavailable, refused.status, "%s", refused.raw)
	require.Equal(t, "inference_unavailable", refused.code())
	requireRetryAfter(t, refused)
	require.Equal(t, http.StatusOK, c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil).status)

	var a answer
	require.True(t, pollEvery(time.Second, recovery, func() bool {
		a = c.ask(t, videoID, "Is there a stop sign?", "Prefer", "wait=120")
		return a.status != http.StatusServiceUnavailable
	}), "%s", a.raw)
	require.Equal(t, "yes", a.text("result.answer"), "%s", a.raw)
	require.NotEqual(t, worker, s.worker(t))
	requireLedgerClean(t, s)
}

// worker is the process id of the embedded worker.
func (s *service) worker(t *testing.T) (pid int) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range found {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the process has just ended
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(after) // state, parent
		command, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || len(fields) < 2 || fields[1] != strconv.Itoa(s.cmd.Process.Pid) || !bytes.Contains(command, []byte("main.js")) {
			continue
		}
		pid, err = strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(t, err)
		return pid
	}
	require.Fail(t, "no worker runs")
	return 0
}
