package main_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/query"
)

const (
	// clipTolerance is how far an edge of a clip may lie from the truth, seconds: a step
	// of the closest look.
	clipTolerance = 0.125
	// sampleS is the time between two samples, which is how exactly a narrative tells.
	sampleS = 0.5
	// suitePatience covers an answer on cores that other tests use as well.
	suitePatience = 3 * time.Minute
)

// TestDrawnScenes asks the whole service, with its real worker, about scenes that are
// drawn here, so that every answer, number, place and time is known exactly. Of actions
// only moving is asked for: the detector does not take drawn people for people.
func TestDrawnScenes(t *testing.T) {
	t.Parallel()
	c := ownService(t, "VQA_ARTIFACTS=false").account(t, 6000)
	for _, d := range drawings {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), d.name+".mp4")
			require.NoError(t, d.encode(t, path))
			videoID := c.readyVideo(t, path)
			for _, q := range d.asks {
				a := c.ask(t, videoID, q.prompt, "Prefer", "wait=100")
				if !a.terminal() {
					a = c.await(t, "/v1/analyses/"+a.text("id"), suitePatience, answer.terminal)
				}
				require.Equal(t, "completed", a.text("status"), "%s: %s", q.prompt, a.raw)
				t.Run(q.prompt, func(t *testing.T) { d.check(t, q, a) })
			}
			d.checkNarrative(t, c, videoID)
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

// checkNarrative holds what is told against what was drawn: the things that come and go
// are told of when they do, and nothing is told of that is not there.
func (d drawing) checkNarrative(t *testing.T, c *apiClient, videoID string) {
	t.Helper()
	body := map[string]any{"video_id": videoID, "prompt": "Is there a clock?", "options": map[string]any{"narrative": true}}
	asked := c.call(t, http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "narrative-"+d.name, "Prefer", "wait=100")
	told := c.await(t, "/v1/analyses/"+asked.text("id"), suitePatience, func(a answer) bool {
		return a.terminal() && a.text("narrative.status") != "generating"
	})
	require.Equal(t, "ready", told.text("narrative.status"), "%s", told.raw)
	entries := told.at("narrative.entries").([]any)
	tells := func(class string, from, to float64, words ...string) bool {
		return slices.ContainsFunc(entries, func(e any) bool {
			at, text := e.(map[string]any)["t_s"].(float64), e.(map[string]any)["text"].(string)
			says := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
			return at >= from && at <= to && says && strings.Contains(text, class)
		})
	}
	for _, thing := range d.things {
		sure, possible := d.onView(thing, true), d.onView(thing, false)
		if sure.from == 0 {
			require.True(t, tells(thing.class, 0, 0, "in view"), "%s from the beginning: %v", thing.class, entries)
		} else {
			require.True(t, tells(thing.class, possible.from, sure.from+sampleS, "appear", "enter"), "%s comes in %v: %v", thing.class, sure, entries)
		}
		if sure.to < float64(d.seconds) {
			require.True(t, tells(thing.class, sure.to-sampleS, possible.to+sampleS, "no longer in view", "leave"),
				"%s goes after %v: %v", thing.class, sure, entries)
		}
	}
	for _, class := range query.COCO().Names() {
		drawn := slices.ContainsFunc(d.things, func(thing drawn) bool { return strings.HasSuffix(class, thing.class) })
		require.True(t, drawn || !tells(class, 0, float64(d.seconds), ""), "no %s was drawn: %v", class, entries)
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
