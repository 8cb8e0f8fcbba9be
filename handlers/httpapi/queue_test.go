package httpapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi"
	"vqa/projections/resources"
)

// TestEstimatedStart follows two questions through the queue of a node with one slot.
func TestEstimatedStart(t *testing.T) {
	t.Parallel()
	estimator := &resources.Estimator{Slots: 1, Nodes: func(context.Context) (int, error) { return 1, nil }}
	w := open(t, func(o *httpapi.Options) { o.Resources.(*resources.Reader).Estimator = estimator })
	estimator.Pool, estimator.Now, estimator.Log = w.pool, w.now, slog.New(slog.DiscardHandler)
	c := w.customer(100)
	videoID, other := c.ready(), c.ready()
	first, second := c.ask(videoID, "Is there a dog?"), c.ask(other, "Is there a dog?")
	estimate := func(analysisID string) any {
		w.advance(time.Minute) // longer than a forecast is used
		got := c.do(http.MethodGet, "/v1/analyses/"+analysisID, "")
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Contains(t, string(got.raw), `"estimated_start_s":`)
		return got.at("estimated_start_s")
	}
	require.EqualValues(t, 0, estimate(first), "the slot is free")
	require.Nil(t, estimate(second), "no analysis has run yet")

	run := c.claim(videoID, first)
	require.Nil(t, estimate(first), "only while queued")
	w.advance(time.Minute)
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, yesResult(), 6_000_000, 12, nil))
	require.EqualValues(t, 0, estimate(second))
	third := c.ask(videoID, "Is there a cat?")
	waiting := estimate(third)
	require.IsType(t, 0.0, waiting)
	require.Greater(t, waiting.(float64), 60.0, "the duration of the first analysis")
	page := c.do(http.MethodGet, "/v1/analyses?status=queued", "")
	require.Equal(t, waiting, page.at("data").([]any)[0].(map[string]any)["estimated_start_s"], "a list has the same value")
}
