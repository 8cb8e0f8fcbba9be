package main_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/query/vocabulary"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

const (
	// clipTolerance bounds the error of an edge of a clip in seconds: half the time between two samples. Most
	// edges have finer frames, but the most probable path may end a step before them.
	clipTolerance = 0.25
	// sampleS is the time between two samples, which limits the precision of a narrative.
	sampleS = 0.5
	// toldS is the time before the end of a video from which it is not told that something goes: an answer
	// needs a second without it, and the last sample is half a second before the end.
	toldS = 1.5
	// drawnPatience bounds an answer, on cores that other tests use too.
	drawnPatience = 3 * time.Minute
)

// TestDrawnScenes asks the service, with the real worker, about drawn scenes, so every answer, number,
// place and time is known exactly. The only action in the questions is "moving", because the detector
// does not recognize drawn people.
func TestDrawnScenes(t *testing.T) {
	t.Parallel()
	c := ownService(t, "VQA_ARTIFACTS=false").account(t, 6000)
	for _, d := range Scenes {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), d.Name+".mp4")
			require.NoError(t, encode(t, d, path))
			videoID := c.readyVideo(t, path)
			for _, q := range d.Asks {
				a := c.ask(t, videoID, q.Prompt, "Prefer", "wait=100")
				if !a.terminal() {
					a = c.await(t, "/v1/analyses/"+a.text("id"), drawnPatience, answer.terminal)
				}
				require.Equal(t, "completed", a.text("status"), "%s: %s", q.Prompt, a.raw)
				t.Run(q.Prompt, func(t *testing.T) { checkAnswer(t, d, q, a) })
			}
			if !d.mistaken {
				checkNarrative(t, d, c, videoID)
			}
		})
	}
}

// encode writes the clip of a scene.
func encode(t *testing.T, d Scene, path string) error {
	t.Helper()
	frame := d.Painter()
	return ffmpegtest.Encode(t, path, ffmpegtest.Format{Width: Width, Height: Height, FPS: FPS}, d.Seconds*FPS,
		func(atS float64) []byte { return frame(atS).Pix })
}

// checkAnswer compares an answer with the drawing.
func checkAnswer(t *testing.T, d Scene, q Question, a answer) {
	t.Helper()
	switch {
	case q.Unknown != "":
		require.Equal(t, "indeterminate", a.text("result.answer"), "%s", a.raw)
		require.Equal(t, q.Unknown, a.text("result.indeterminate_reason"), "%s", a.raw)
	case q.Counted != "":
		n := d.Most(q.Counted, true)
		require.Equal(t, n, d.Most(q.Counted, false), "the scene itself must be clear")
		require.Equal(t, yesNo(q.Enough(n)), a.text("result.answer"), "%s", a.raw)
		require.Equal(t, float64(n), a.at("result.detected_count"), "%s", a.raw)
	default:
		sure, possible := d.Intervals(q, true), d.Intervals(q, false)
		require.Equal(t, len(sure), len(possible), "the scene itself must be clear")
		require.Equal(t, yesNo((len(sure) > 0) != q.Never), a.text("result.answer"), "%s", a.raw)
		if q.Never || q.Clipless {
			sure, possible = nil, nil
		}
		checkClips(t, sure, possible, a)
	}
}

// checkClips compares each clip with the interval that certainly belongs to it, and with the one that
// possibly does.
func checkClips(t *testing.T, sure, possible []Interval, a answer) {
	t.Helper()
	clips, _ := a.at("result.clips").([]any)
	require.Len(t, clips, len(sure), "%s", a.raw)
	for i, c := range clips {
		from, to := c.(map[string]any)["start_s"].(float64), c.(map[string]any)["end_s"].(float64)
		require.GreaterOrEqual(t, from, possible[i].From-clipTolerance, "clip %d, drawn %v: %s", i, possible, a.raw)
		require.LessOrEqual(t, from, sure[i].From+clipTolerance, "clip %d, drawn %v: %s", i, sure, a.raw)
		require.GreaterOrEqual(t, to, sure[i].To-clipTolerance, "clip %d, drawn %v: %s", i, sure, a.raw)
		require.LessOrEqual(t, to, possible[i].To+clipTolerance, "clip %d, drawn %v: %s", i, possible, a.raw)
	}
}

// checkNarrative compares the narrative with the drawing. It must mention each appearance and
// disappearance at the right time, and no other class.
func checkNarrative(t *testing.T, d Scene, c *apiClient, videoID string) {
	t.Helper()
	body := map[string]any{"video_id": videoID, "prompt": "Is there a clock?", "options": map[string]any{"narrative": true}}
	asked := c.call(t, http.MethodPost, "/v1/analyses", body, "Idempotency-Key", "narrative-"+d.Name, "Prefer", "wait=100")
	told := c.await(t, "/v1/analyses/"+asked.text("id"), drawnPatience, func(a answer) bool {
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
	for _, thing := range d.Things {
		sure, possible := d.OnView(thing, true), d.OnView(thing, false)
		if sure.From == 0 {
			require.True(t, tells(thing.Class, 0, 0, "in view"), "%s from the beginning: %v", thing.Class, entries)
		} else {
			require.True(t, tells(thing.Class, possible.From-sampleS, sure.From+sampleS, "appear", "enter"), "%s comes in %v: %v", thing.Class, sure, entries)
		}
		if sure.To < float64(d.Seconds)-toldS {
			require.True(t, tells(thing.Class, sure.To-sampleS, possible.To+sampleS, "no longer visible", "leave"),
				"%s goes after %v: %v", thing.Class, sure, entries)
		}
	}
	for _, class := range vocabulary.COCO().Names() {
		drawn := slices.ContainsFunc(d.Things, func(thing Thing) bool { return strings.HasSuffix(class, thing.Class) })
		require.True(t, drawn || !tells(class, 0, float64(d.Seconds), ""), "no %s was drawn: %v", class, entries)
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
