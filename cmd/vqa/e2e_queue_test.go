package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// engineSlots is the number of analyses that the service of these tests runs at once.
const engineSlots = 3

// batchIsOneLook checks that ten prompts of a batch send as many frames to the engine as one prompt,
// and that the bill has the discount.
func batchIsOneLook(t *testing.T, s *service, engine *faulty) {
	c := s.account(t, 1000)
	alone, together := c.readyVideo(t, clip(t, signsClip)), c.readyVideo(t, clip(t, signsClip))
	engine.frames.Store(0)
	one := c.ask(t, alone, "Is there a stop sign?", "Prefer", "wait=100")
	require.Equal(t, "yes", one.text("result.answer"), "%s", one.raw)
	looked := engine.frames.Swap(0)
	require.GreaterOrEqual(t, looked, int64(signsClipS*2), "two frames a second")

	answers := map[string]string{
		"Is there a stop sign?": "yes", "Is there a dog?": "no", "How many stop signs are there?": "yes", "Is there no cat?": "yes",
		"Are there at least two stop signs?": "yes", "Are there more than five stop signs?": "no", "Is there a stop sign and a dog?": "no",
		"Is there a stop sign or a dog?": "yes", "Is a stop sign red?": "yes", "Is a person sitting?": "no",
	}
	prompts := make([]string, 0, len(answers))
	for prompt := range answers {
		prompts = append(prompts, prompt)
	}
	slices.Sort(prompts)
	full, half := 7.0, 3.0 // 6.5 seconds rounded up, and half of that rounded down
	batch := c.call(t, http.MethodPost, "/v1/analyses/batch", map[string]any{"video_id": together, "prompts": prompts})
	require.Equal(t, http.StatusAccepted, batch.status, "%s", batch.raw)
	require.InDelta(t, full+9*half, batch.number("pricing.estimated_total_seconds"), 0)
	require.InDelta(t, 50, batch.number("pricing.discount_pct"), 0)
	require.InDelta(t, 9, batch.number("pricing.discounted_prompts"), 0)
	for i, prompt := range prompts {
		a := c.await(t, "/v1/analyses/"+batch.text(fmt.Sprintf("analyses.%d.id", i)), recovery, answer.terminal)
		require.Equal(t, prompt, a.text("prompt"))
		require.Equal(t, answers[prompt], a.text("result.answer"), "%s: %s", prompt, a.raw)
		billed := half
		if i == 0 {
			billed = full
		}
		require.InDelta(t, billed, a.number("usage.billed_seconds"), 0, prompt)
	}
	require.Equal(t, looked, engine.frames.Load(), "ten prompts examine the frames once")
	require.InDelta(t, 1000-full-(full+9*half), c.credits(t).number("balance_seconds"), 0)
	require.InDelta(t, 0, c.credits(t).number("held_seconds"), 0)
}

// queueInOrder checks that the queue has places over all accounts, which take turns, and that work
// starts in this order.
func queueInOrder(t *testing.T, s *service, engine *faulty) {
	alice, bob := s.account(t, 1000), s.account(t, 1000)
	type asked struct {
		by *apiClient
		id string
	}
	questions := make([]asked, engineSlots+3)
	videos := make([]string, len(questions))
	for i := range questions {
		questions[i].by = []*apiClient{alice, bob}[i%2]
		film := signsClip
		if i >= engineSlots { // short clips, because the longer ones before them determine the wait
			film = briefClip
		}
		videos[i] = questions[i].by.readyVideo(t, clip(t, film))
	}
	gate := make(chan struct{})
	engine.spoil(func(_ http.ResponseWriter, r *http.Request) bool {
		if isInfer(r) {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		return false
	})
	opened := false
	open := func() {
		if !opened {
			close(gate)
			engine.spoil(nil)
		}
		opened = true
	}
	t.Cleanup(open)
	for i := range questions {
		a := questions[i].by.ask(t, videos[i], "Is there a stop sign?")
		require.Equal(t, http.StatusAccepted, a.status, "%s", a.raw)
		questions[i].id = a.text("id")
	}
	read := func(q asked) answer { return q.by.call(t, http.MethodGet, "/v1/analyses/"+q.id, nil) }
	for _, q := range questions[:engineSlots] {
		a := q.by.await(t, "/v1/analyses/"+q.id, recovery, func(a answer) bool { return a.text("status") != "queued" })
		require.Nil(t, a.at("queue_position"), "only while queued")
		require.Nil(t, a.at("estimated_start_s"))
	}
	// Alice has started two videos and Bob one, so both videos of Bob come before hers.
	waiting := []asked{questions[engineSlots], questions[engineSlots+2], questions[engineSlots+1]}
	canceled := waiting[1]
	place := func(q asked, position int) answer { // a forecast is used for some milliseconds
		return q.by.await(t, "/v1/analyses/"+q.id, recovery, func(a answer) bool { return a.number("queue_position") == float64(position) })
	}
	last := 0.0
	for i, q := range waiting {
		a := place(q, i+1)
		estimate, known := a.at("estimated_start_s").(float64)
		require.True(t, known, "earlier analyses make an estimate possible: %s", a.raw)
		// The remaining wait becomes shorter between two reads.
		require.GreaterOrEqual(t, estimate, last-2, "it does not start before the analysis in front of it")
		last = estimate
	}
	require.Positive(t, last)
	require.Equal(t, "canceled", canceled.by.call(t, http.MethodPost, "/v1/analyses/"+canceled.id+"/cancel", nil).text("status"))
	waiting = slices.Delete(waiting, 1, 2)
	for i, q := range waiting {
		place(q, i+1) // a canceled analysis leaves the queue
	}
	listed := map[string]any{}
	for _, c := range []*apiClient{alice, bob} {
		for _, item := range c.call(t, http.MethodGet, "/v1/analyses?status=queued", nil).at("data").([]any) {
			a := item.(map[string]any)
			listed[a["id"].(string)] = a["queue_position"]
		}
	}
	require.Len(t, listed, len(waiting))
	for i, q := range waiting {
		require.EqualValues(t, i+1, listed[q.id])
	}

	open()
	var before time.Time
	for _, q := range append(slices.Clone(questions[:engineSlots]), waiting...) {
		a := q.by.await(t, "/v1/analyses/"+q.id, recovery, answer.terminal)
		require.Equal(t, "yes", a.text("result.answer"), "%s", a.raw)
		started, err := time.Parse(time.RFC3339, a.text("started_at"))
		require.NoError(t, err)
		require.False(t, started.Before(before.Add(-startTogether)), "work starts in the order of the queue")
		before = started
	}
	require.Nil(t, read(canceled).at("started_at"))
}

// startTogether bounds the difference between two starts whose slots became free at the same time.
const startTogether = time.Second
