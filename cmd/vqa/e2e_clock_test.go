package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/faultbuild"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// aheadBy is more than every period that ends by itself within the test: uploads, holds and receipts
// end after at most 24 hours.
const aheadBy = 25 * time.Hour

// TestANodeWithAWrongClock starts a node whose clock is wrong beside another one. What one node makes,
// the other must accept, and both must decide alike.
func TestANodeWithAWrongClock(t *testing.T) {
	t.Parallel()
	shared, err := os.MkdirTemp(workshop, "shared-") //nolint:usetesting // other users must be able to enter the folder
	require.NoError(t, err)
	engine := newFaulty(t)
	settings := []string{
		"VQA_DATABASE_URL=" + storetest.Database(t, migrations.Up, migrations.Version()), "VQA_DATA_DIR=" + shared,
		"VQA_INFERENCE_URL=" + engine.URL, "VQA_ARTIFACTS=false", "VQA_RATE_PARSE=5",
	}
	right := ownService(t, settings...)
	wrong := ownServiceLater(t, settings...)
	ctx, cancel := context.WithTimeout(t.Context(), buildTimeout)
	defer cancel()
	wrong.binary, err = faultbuild.Build(ctx, shared)
	require.NoError(t, err)
	page, err := faultbuild.NewPage(filepath.Join(shared, "faults"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, page.Close()) })
	require.NoError(t, page.MoveClock(aheadBy))
	wrong.env = append(wrong.env, page.Env())

	// Everything that a clock could end exists before the other node starts and sweeps.
	here := right.account(t, 1000)
	there := &apiClient{wrong, here.key}
	resume := make(chan struct{})
	engine.spoil(func(_ http.ResponseWriter, r *http.Request) bool {
		if isInfer(r) {
			<-resume
		}
		return false
	})
	asked := here.ask(t, here.readyVideo(t, clip(t, signsClip)), "Is there a stop sign?")
	require.Equal(t, http.StatusAccepted, asked.status, "%s", asked.raw)
	awaited := map[string]any{"content_type": "video/mp4"}
	create := func(c *apiClient, key string) answer {
		v := c.call(t, http.MethodPost, "/v1/videos", awaited, "Idempotency-Key", key)
		require.Equal(t, http.StatusCreated, v.status, "%s", v.raw)
		return v
	}
	first := create(here, "first")
	code := here.call(t, http.MethodPost, "/v1/keys/request", nil)
	require.Equal(t, http.StatusAccepted, code.status, "%s", code.raw)
	token := here.call(t, http.MethodPost, "/v1/client_tokens", map[string]any{"scopes": []string{"analyses:read"}, "ttl_s": 600})
	require.Equal(t, http.StatusCreated, token.status, "%s", token.raw)
	ending := right.newKey(t, "--account", here.key.AccountID, "--expires-in", "1h")
	require.NoError(t, wrong.start())

	t.Run("credentials", func(t *testing.T) {
		for what, key := range map[string]string{"key": ending.APIKey, "token": token.text("token")} {
			got := (&apiClient{wrong, issued{APIKey: key}}).call(t, http.MethodGet, "/v1/analyses", nil)
			require.Equal(t, http.StatusOK, got.status, "%s: %s", what, got.raw)
		}
		polled := there.call(t, http.MethodGet, "/v1/keys/request/"+code.text("device_code"), nil)
		require.Equal(t, "pending", polled.text("status"), "%s", polled.raw)
		made := wrong.newKey(t, "--account", here.key.AccountID, "--expires-in", "1h") // by a tool with the wrong clock
		keys := here.call(t, http.MethodGet, "/v1/api-keys?limit=100", nil)
		require.Contains(t, string(keys.raw), made.KeyID)
	})
	t.Run("replays", func(t *testing.T) {
		again := create(there, "first")
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Equal(t, first.text("id"), again.text("id"))
		create(there, "second")
		require.Equal(t, "true", create(here, "second").header.Get("Idempotency-Replayed"))
	})
	t.Run("times", func(t *testing.T) {
		last := time.Time{}
		for i, c := range []*apiClient{here, there, here, there} {
			v := create(c, fmt.Sprint("times-", i))
			at, err := time.Parse(time.RFC3339Nano, v.text("created_at"))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), at, time.Hour)
			require.False(t, at.Before(last.Add(-time.Second)), "%s is before %s", at, last)
			last = at
			date, err := http.ParseTime(v.header.Get("Date"))
			require.NoError(t, err)
			require.WithinDuration(t, at, date, time.Hour)
		}
	})
	t.Run("uploads", func(t *testing.T) {
		data := clipBytes(t, signsClip)
		for _, pair := range []struct{ makes, serves *apiClient }{{here, there}, {there, here}} {
			v := create(pair.makes, "upload-"+pair.makes.addr)
			swapped := strings.ReplaceAll(string(v.raw), pair.makes.addr, pair.serves.addr)
			v.doc = nil
			require.NoError(t, json.Unmarshal([]byte(swapped), &v.doc))
			put := pair.serves.put(t, v, data)
			require.Equal(t, http.StatusOK, put.status, "%s", put.raw)
			done := pair.serves.complete(t, v.text("id"))
			require.Equal(t, "ready", done.text("status"), "%s", done.raw)
		}
		left := here.call(t, http.MethodGet, "/v1/videos/"+first.text("id"), nil)
		require.Equal(t, "awaiting_upload", left.text("status"), "no sweep ended the upload")
	})
	t.Run("rates", func(t *testing.T) {
		parse := func(c *apiClient) answer {
			return c.call(t, http.MethodPost, "/v1/parse", map[string]any{"prompt": "Is there a dog?"})
		}
		require.Equal(t, http.StatusOK, parse(there).status)
		require.True(t, poll(time.Minute, func() bool { return parse(there).status == http.StatusTooManyRequests }))
		for _, c := range []*apiClient{here, there} {
			var refused answer
			require.True(t, poll(time.Minute, func() bool { refused = parse(c); return refused.status == http.StatusTooManyRequests }))
			wait, err := strconv.Atoi(refused.header.Get("Retry-After"))
			require.NoError(t, err)
			reset, err := strconv.ParseInt(refused.header.Get("X-RateLimit-Reset"), 10, 64)
			require.NoError(t, err)
			require.LessOrEqual(t, wait, 120, "two windows")
			require.WithinDuration(t, time.Now(), time.Unix(reset, 0), 10*time.Minute)
		}
	})
	t.Run("holds", func(t *testing.T) {
		close(resume)
		a := there.await(t, "/v1/analyses/"+asked.text("id"), recovery, answer.terminal)
		require.Equal(t, "completed", a.text("status"), "%s", a.raw)
		credits := here.credits(t)
		require.InDelta(t, 0, credits.number("held_seconds"), 0)
		require.InDelta(t, 1000-a.number("usage.billed_seconds"), credits.number("balance_seconds"), 0)
		requireLedgerClean(t, right)
	})
}
