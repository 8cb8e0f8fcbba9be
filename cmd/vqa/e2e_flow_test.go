package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMainJob asks about a video with known contents, and checks the bill.
func TestMainJob(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 1000)
	videoID := c.readyVideo(t, clip(t, signsClip))
	v := c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil)
	require.InDelta(t, signsClipS, v.number("duration_s"), 0.01)
	require.InDelta(t, 512, v.number("width"), 0)
	require.InDelta(t, 288, v.number("height"), 0)
	require.Equal(t, true, v.at("livemode"))
	require.Nil(t, v.at("upload"))

	const seconds = 7 // 6.5 s, rounded up
	count := func(n float64) any { return n }
	tests := []struct {
		prompt, answer string
		count          any
		clip           bool
	}{
		{"Is there a stop sign?", "yes", nil, true},
		{"Is there a dog?", "no", nil, false},
		{"Is there no dog?", "yes", nil, false},
		{"How many stop signs are there?", "yes", count(2), false},
		{"How many dogs are there?", "no", count(0), false},
		{"Are there at least two stop signs?", "yes", count(2), false},
		{"Are there at least three stop signs?", "no", count(2), false},
	}
	balance := 1000.0
	for _, tt := range tests {
		a := c.ask(t, videoID, tt.prompt, "Prefer", "wait=100")
		require.Equal(t, http.StatusOK, a.status, "%s", a.raw)
		require.Equal(t, "completed", a.text("status"), "%s", a.raw)
		require.Equal(t, tt.answer, a.text("result.answer"), "%s", a.raw)
		require.Equal(t, tt.count, a.at("result.detected_count"), "%s", a.raw)
		require.GreaterOrEqual(t, a.number("result.confidence"), 0.6, "%s", a.raw)
		require.InDelta(t, seconds, a.number("usage.billed_seconds"), 0)
		balance -= seconds
		require.InDelta(t, balance, a.number("usage.credit_balance_after"), 0)
		if tt.clip {
			clips := a.at("result.clips").([]any)
			require.Len(t, clips, 1)
			require.InDelta(t, 2, a.number("result.clips.0.start_s"), 0.6)
			require.InDelta(t, 5, a.number("result.clips.0.end_s"), 0.6)
			checkArtifacts(t, a)
		}
	}
	unsupported := c.ask(t, videoID, "What is happening?", "Prefer", "wait=100")
	require.Equal(t, "indeterminate", unsupported.text("result.answer"), "%s", unsupported.raw)
	require.Zero(t, unsupported.number("usage.billed_seconds"))
	require.NotNil(t, unsupported.at("result.unsupported_action"))

	checkBill(t, c, 1000, seconds, len(tests))
	checkLists(t, c, videoID, len(tests)+1)
	checkPlayback(t, c, videoID)
}

// checkBill checks the ledger of the account.
func checkBill(t *testing.T, c *apiClient, grant, seconds float64, analyses int) {
	t.Helper()
	credits := c.credits(t)
	used := seconds * float64(analyses)
	require.InDelta(t, grant-used, credits.number("balance_seconds"), 0)
	require.InDelta(t, grant, credits.number("grant_seconds"), 0)
	require.InDelta(t, used, credits.number("used_seconds"), 0)
	require.InDelta(t, 0, credits.number("held_seconds"), 0)
	transactions := credits.at("transactions").([]any)
	require.Len(t, transactions, analyses+1)
	balance := grant - used
	for _, txn := range transactions {
		x := txn.(map[string]any)
		require.InDelta(t, balance, x["balance_after_seconds"], 0)
		balance -= x["seconds_delta"].(float64)
	}
	require.InDelta(t, 0, balance, 0)
	require.Equal(t, "signup_grant", transactions[analyses].(map[string]any)["kind"])
}

// checkLists pages through the analyses of a video.
func checkLists(t *testing.T, c *apiClient, videoID string, analyses int) {
	t.Helper()
	seen := map[any]bool{}
	path := "/v1/videos/" + videoID + "/analyses?limit=3"
	for next := path; ; {
		page := c.call(t, http.MethodGet, next, nil)
		require.Equal(t, http.StatusOK, page.status, "%s", page.raw)
		data := page.at("data").([]any)
		for _, a := range data {
			require.False(t, seen[a.(map[string]any)["id"]])
			seen[a.(map[string]any)["id"]] = true
		}
		if page.at("has_more") == false {
			break
		}
		require.Len(t, data, 3)
		next = path + "&starting_after=" + data[2].(map[string]any)["id"].(string)
	}
	require.Len(t, seen, analyses)
	same := c.call(t, http.MethodGet, "/v1/analyses?limit=100&status=completed&video_id="+videoID, nil)
	require.Len(t, same.at("data"), analyses)
	require.Empty(t, c.call(t, http.MethodGet, "/v1/analyses?status=failed", nil).at("data"))
}

// checkPlayback plays the source and then deletes it.
func checkPlayback(t *testing.T, c *apiClient, videoID string) {
	t.Helper()
	v := c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil)
	play := func() answer {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.text("media.url"), nil)
		require.NoError(t, err)
		a, err := exchange(req)
		require.NoError(t, err)
		return a
	}
	played := play()
	require.Equal(t, http.StatusOK, played.status)
	require.Equal(t, "video/mp4", played.header.Get("Content-Type"))
	require.Equal(t, clipBytes(t, signsClip), played.raw)

	deleted := c.call(t, http.MethodDelete, "/v1/videos/"+videoID, nil)
	require.Equal(t, http.StatusOK, deleted.status, "%s", deleted.raw)
	require.Equal(t, true, deleted.at("deleted"))
	require.Equal(t, http.StatusNotFound, c.call(t, http.MethodGet, "/v1/videos/"+videoID, nil).status)
	require.Equal(t, http.StatusNotFound, play().status, "the bytes are gone at once")
}

func TestURLMode(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	c := s.account(t, 100)
	tests := map[string]struct{ status, code string }{
		"/clip.mp4": {"ready", ""},
		"/redirect?to=" + shared.site.URL + "/clip.mp4": {"ready", ""},
		"/absent.mp4": {"failed", "url_fetch_failed"},
		"/cut.mp4":    {"failed", "url_fetch_failed"},
		"/huge.mp4":   {"failed", "video_too_large"},
		"/text.mp4":   {"failed", "video_unreadable"},
		"/redirect?to=http://example.com/clip.mp4":                                           {"failed", "url_forbidden"},
		"/redirect?to=https://127.0.0.1/clip.mp4":                                            {"failed", "url_forbidden"},
		"/redirect?to=https://[::ffff:127.0.0.1]/clip.mp4":                                   {"failed", "url_forbidden"},
		"/redirect?to=https://169.254.169.254/latest/meta-data":                              {"failed", "url_forbidden"},
		"/redirect?to=https://10.1.2.3/clip.mp4":                                             {"failed", "url_forbidden"},
		"/redirect?to=https://2130706433/clip.mp4":                                           {"failed", "url_forbidden"},
		"/redirect?to=" + strings.Replace(shared.site.URL, "https", "http", 1) + "/clip.mp4": {"failed", "url_forbidden"},
	}
	for path, tt := range tests {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			v := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"url": shared.site.URL + path})
			require.Equal(t, http.StatusCreated, v.status, "%s", v.raw)
			require.Equal(t, "url", v.text("source"))
			v = c.await(t, "/v1/videos/"+v.text("id"), time.Minute, func(a answer) bool { return a.text("status") != "processing" })
			require.Equal(t, tt.status, v.text("status"), "%s", v.raw)
			require.Equal(t, tt.code, v.text("error.code"), "%s", v.raw)
			if tt.status == "ready" {
				require.InDelta(t, signsClipS, v.number("duration_s"), 0.01)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 100)
	videoID := c.readyVideo(t, clip(t, longClip))
	a := c.ask(t, videoID, "Is there a dog?")
	require.Equal(t, http.StatusAccepted, a.status, "%s", a.raw)
	require.InDelta(t, longClipS, c.credits(t).number("held_seconds"), 0)
	inUse := c.call(t, http.MethodDelete, "/v1/videos/"+videoID, nil)
	require.Equal(t, http.StatusConflict, inUse.status)
	require.Equal(t, "resource_conflict", inUse.code())

	canceled := c.call(t, http.MethodPost, "/v1/analyses/"+a.text("id")+"/cancel", nil)
	require.Equal(t, http.StatusOK, canceled.status, "%s", canceled.raw)
	require.Equal(t, "canceled", canceled.text("status"))
	credits := c.credits(t)
	require.InDelta(t, 0, credits.number("held_seconds"), 0)
	require.InDelta(t, 100, credits.number("balance_seconds"), 0)
	again := c.call(t, http.MethodPost, "/v1/analyses/"+a.text("id")+"/cancel", nil)
	require.Equal(t, http.StatusConflict, again.status)
	require.Equal(t, "analysis_not_cancelable", again.code())
	require.Equal(t, http.StatusOK, c.call(t, http.MethodDelete, "/v1/videos/"+videoID, nil).status)
}

func TestTestMode(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	stranger := &apiClient{service: s}
	open := func() answer { return stranger.call(t, http.MethodPost, "/v1/sandbox", nil) }
	sandbox := open()
	require.Equal(t, http.StatusCreated, sandbox.status, "%s", sandbox.raw)
	require.Equal(t, false, sandbox.at("livemode"))
	expires, err := time.Parse(time.RFC3339, sandbox.text("expires_at"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(7*24*time.Hour), expires, time.Hour)

	c := &apiClient{s, issued{APIKey: sandbox.text("api_key")}}
	require.True(t, strings.HasPrefix(c.key.APIKey, "svc_test_"))
	fixtureID := sandbox.text("fixture_video_id")
	var first answer
	for range 2 {
		a := c.ask(t, fixtureID, sandbox.text("fixture_prompt"))
		require.Equal(t, http.StatusOK, a.status, "%s", a.raw)
		require.Equal(t, "completed", a.text("status"))
		require.Equal(t, sandbox.text("expected_answer"), a.text("result.answer"))
		require.Equal(t, false, a.at("livemode"))
		require.Zero(t, a.number("usage.billed_seconds"))
		if first.doc != nil {
			require.Equal(t, first.at("result"), a.at("result"), "test results are always the same")
		}
		first = a
	}
	other := s.account(t, 10).call(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4"})
	own := c.call(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4"})
	for _, videoID := range []string{other.text("id"), own.text("id"), "video_00000000000000000000000000"} {
		a := c.ask(t, videoID, "Is there a ball?")
		require.Equal(t, http.StatusForbidden, a.status, "%s", a.raw)
		require.Equal(t, "test_key_fixture_only", a.code())
	}
	credits := c.credits(t)
	require.Zero(t, credits.number("balance_seconds"))
	require.Empty(t, credits.at("transactions"))

	require.Equal(t, http.StatusCreated, open().status)
	require.Equal(t, http.StatusCreated, open().status)
	fourth := open()
	require.Equal(t, http.StatusTooManyRequests, fourth.status, "%s", fourth.raw)
	require.Equal(t, "sandbox_limit_exceeded", fourth.code())
	requireRetryAfter(t, fourth)
}

func requireRetryAfter(t testing.TB, a answer) {
	t.Helper()
	var seconds int
	_, err := fmt.Sscan(a.header.Get("Retry-After"), &seconds)
	require.NoError(t, err)
	require.GreaterOrEqual(t, seconds, 1)
}

// TestIdempotentCreates sends the same request many times at once.
func TestIdempotentCreates(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 1000)
	videoID := c.readyVideo(t, clip(t, briefClip))
	ask := func() answer { return c.ask(t, videoID, "Is there a dog?", "Idempotency-Key", "the-same") }
	var wg sync.WaitGroup
	answers := make([]answer, 8)
	for i := range answers {
		wg.Go(func() { answers[i] = ask() })
	}
	wg.Wait()
	ids := map[string]bool{}
	for _, a := range answers {
		if a.status == http.StatusConflict {
			require.Equal(t, "idempotency_unavailable", a.code(), "%s", a.raw)
			continue
		}
		require.Equal(t, http.StatusAccepted, a.status, "%s", a.raw)
		ids[a.text("id")] = true
	}
	require.Len(t, ids, 1)
	require.Len(t, c.call(t, http.MethodGet, "/v1/analyses", nil).at("data"), 1)
	replay := ask()
	require.True(t, ids[replay.text("id")], "%s", replay.raw)

	reused := c.ask(t, videoID, "Is there a cat?", "Idempotency-Key", "the-same")
	require.Equal(t, http.StatusConflict, reused.status)
	require.Equal(t, "idempotency_key_reused", reused.code())
}

// TestCreditsForHalfOfTheClients lets 64 clients of one account create analyses at once, with credits
// for 32.
func TestCreditsForHalfOfTheClients(t *testing.T) {
	t.Parallel()
	const clients, seconds = 64, 7
	const grant = clients / 2 * seconds
	c := sharedService(t).account(t, grant)
	videoID := c.readyVideo(t, clip(t, signsClip))
	var wg sync.WaitGroup
	answers := make([]answer, clients)
	for i := range answers {
		wg.Go(func() { answers[i] = c.ask(t, videoID, "Is there a dog?") })
	}
	wg.Wait()
	var accepted []string
	for _, a := range answers {
		if a.status == http.StatusAccepted {
			accepted = append(accepted, a.text("id"))
			continue
		}
		require.Equal(t, http.StatusPaymentRequired, a.status, "%s", a.raw)
		require.Equal(t, "insufficient_credits", a.code())
		require.Equal(t, "credit_seconds", a.text("error.details.meter"))
	}
	require.Len(t, accepted, clients/2)
	credits := c.credits(t)
	require.Zero(t, credits.number("available_seconds"))

	canceled := 0.0
	for _, id := range accepted {
		a := c.call(t, http.MethodPost, "/v1/analyses/"+id+"/cancel", nil)
		if a.status == http.StatusOK {
			canceled++
		} else {
			require.Equal(t, "analysis_not_cancelable", a.code(), "%s", a.raw)
		}
	}
	credits = c.credits(t)
	require.InDelta(t, 0, credits.number("held_seconds"), 0)
	require.InDelta(t, canceled*seconds, credits.number("balance_seconds"), 0)
}
