package main_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/media/demo"
)

// clipTolerance is how far an edge of a clip may lie from the truth, seconds: half the
// interval between two samples.
const clipTolerance = 0.25

// TestDrawnScenes asks the whole service, with its real worker, about scenes that are
// drawn here, so that every answer, number, place and time is known exactly. Actions are
// not among the questions: the detector does not take drawn people for people.
func TestDrawnScenes(t *testing.T) {
	t.Parallel()
	c := ownService(t, "VQA_ARTIFACTS=false").account(t, 6000)
	for _, d := range drawings {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), d.name+".mp4")
			require.NoError(t, demo.Encode(t.Context(), path, suiteFPS, d.seconds*suiteFPS, d.painter()))
			videoID := c.readyVideo(t, path)
			for _, q := range d.asks {
				a := c.ask(t, videoID, q.prompt, "Prefer", "wait=100")
				require.Equal(t, http.StatusOK, a.status, "%s", a.raw)
				require.Equal(t, "completed", a.text("status"), "%s: %s", q.prompt, a.raw)
				t.Run(q.prompt, func(t *testing.T) { d.check(t, q, a) })
			}
		})
	}
}

// check compares an answer with what was drawn.
func (d drawing) check(t *testing.T, q asked, a answer) {
	t.Helper()
	switch {
	case q.unknown != "":
		require.Equal(t, "indeterminate", a.text("result.answer"), "%s", a.raw)
		require.Equal(t, q.unknown, a.text("result.indeterminate_reason"), "%s", a.raw)
	case q.counted != "":
		n := d.most(q.counted, true)
		require.Equal(t, n, d.most(q.counted, false), "the scene itself must be clear")
		require.Equal(t, yesNo(q.enough(n)), a.text("result.answer"), "%s", a.raw)
		require.Equal(t, float64(n), a.at("result.detected_count"), "%s", a.raw)
	default:
		sure, possible := d.spans(q, true), d.spans(q, false)
		require.Equal(t, len(sure), len(possible), "the scene itself must be clear")
		require.Equal(t, yesNo((len(sure) > 0) != q.never), a.text("result.answer"), "%s", a.raw)
		if q.never || q.clipless {
			sure, possible = nil, nil
		}
		checkClips(t, sure, possible, a)
	}
}

// checkClips holds each clip against the part of the video that surely, and that
// possibly, belongs to it.
func checkClips(t *testing.T, sure, possible []span, a answer) {
	t.Helper()
	clips, _ := a.at("result.clips").([]any)
	require.Len(t, clips, len(sure), "%s", a.raw)
	for i, c := range clips {
		from, to := c.(map[string]any)["start_s"].(float64), c.(map[string]any)["end_s"].(float64)
		require.GreaterOrEqual(t, from, possible[i].from-clipTolerance, "clip %d, drawn %v: %s", i, possible, a.raw)
		require.LessOrEqual(t, from, sure[i].from+clipTolerance, "clip %d, drawn %v: %s", i, sure, a.raw)
		require.GreaterOrEqual(t, to, sure[i].to-clipTolerance, "clip %d, drawn %v: %s", i, sure, a.raw)
		require.LessOrEqual(t, to, possible[i].to+clipTolerance, "clip %d, drawn %v: %s", i, possible, a.raw)
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
