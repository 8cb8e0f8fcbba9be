package jobs_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/gpu/chat"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/language"
)

// looker is a server with a vision model that gives a fixed answer.
type looker struct {
	says string

	mu sync.Mutex
	// asked are the parts of every question.
	asked [][]part
}

type part struct {
	Type, Text string
	ImageURL   struct{ URL string } `json:"image_url"`
}

func (l *looker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct{ Content json.RawMessage }
	}
	var parts []part
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) != 2 || json.Unmarshal(body.Messages[1].Content, &parts) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	l.asked = append(l.asked, parts)
	l.mu.Unlock()
	if l.says == "" {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": l.says}}}})
}

// shown are the times of the frames of the only question, each with its picture.
func (l *looker) shown(t *testing.T) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Len(t, l.asked, 1)
	var times []string
	for _, p := range l.asked[0][1:] {
		if p.Type == "text" {
			_, at, _ := strings.Cut(p.Text, ", ")
			times = append(times, at)
			continue
		}
		encoded, found := strings.CutPrefix(p.ImageURL.URL, "data:image/jpeg;base64,")
		require.True(t, found)
		picture, err := base64.StdEncoding.DecodeString(encoded)
		require.NoError(t, err)
		_, err = jpeg.Decode(bytes.NewReader(picture))
		require.NoError(t, err)
	}
	require.Len(t, l.asked[0], 1+2*len(times))
	return times
}

// withVisionModel is a world that uses a vision model.
func withVisionModel(t *testing.T, l *looker) (*world, *language.VisionModel) {
	t.Helper()
	w := newWorld(t)
	w.Assessable = func(q query.Query) bool { return answer.Assessable(q) || language.VisionAssessable(q) }
	server := httptest.NewServer(l)
	client, err := chat.New(chat.Options{URL: server.URL, Model: "looker-1"})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	vision, err := language.NewVisionModel(client, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return w, vision
}

func TestSecondOpinion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prompt, says string
		asked        bool
		want         answer.Answer
		reason       query.Reason
		confidence   float64
		clips        [][2]float64
	}{
		"an action": {"Is the stop sign spinning?", `{"answer": "yes", "confidence": 0.9, "frames": [2, 3], "count": null}`, true,
			answer.Yes, "", .69, [][2]float64{{.75, 1.75}}},
		"a state":         {"Is the stop sign folded?", `{"answer": "no", "confidence": 0.6, "frames": [], "count": null}`, true, answer.No, "", .6, nil},
		"an unknown term": {"Is there a unicorn?", `{"answer": "no", "confidence": 0.65, "frames": [], "count": null}`, true, answer.No, "", .65, nil},
		"a number":        {"How many unicorns are there?", `{"answer": "yes", "confidence": 0.8, "frames": [0], "count": 2}`, true, answer.Yes, "", .69, nil},
		"unsure": {"Is the stop sign spinning?", `{"answer": "unsure", "confidence": 0, "frames": [], "count": null}`, true,
			answer.Indeterminate, query.LowConfidence, 0, nil},
		"unsure about an unknown term": {"Is there a unicorn?", `{"answer": "unsure", "confidence": 0, "frames": [], "count": null}`, true,
			answer.Indeterminate, query.NothingDetected, 0, nil},
		"a sure result": {"Is there a stop sign?", ``, false, answer.Yes, "", -1, [][2]float64{{0, shortS}}},
		"the model does not answer and is not needed": {"Is there a unicorn?", ``, true, answer.Indeterminate, query.NothingDetected, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &looker{says: tt.says}
			w, vision := withVisionModel(t, l)
			run := w.askFor(t, w.readyVideo(t, shortClip), tt.prompt)
			z := w.analyzer(&gpufixture.Engine{Detections: seen, Vocabulary: []string{"stop sign"}})
			z.VisionModel = vision
			require.NoError(t, z.Run(t.Context(), run))
			a := w.analysis(t, run)
			require.Equal(t, analysis.CompletedStatus, a.Status)
			require.Equal(t, tt.want, a.Result.Answer)
			require.Nil(t, a.Result.UnsupportedAction, "it was examined, and is billed")
			if tt.reason != "" {
				require.Equal(t, tt.reason, *a.Result.IndeterminateReason)
			}
			if tt.confidence >= 0 {
				require.InDelta(t, tt.confidence, a.Result.Confidence, 0)
			}
			var clips [][2]float64
			for _, c := range a.Result.Clips {
				clips = append(clips, [2]float64{c.StartS, c.EndS})
			}
			require.Empty(t, cmp.Diff(tt.clips, clips))
			w.requireBilled(t, shortS)
			require.Equal(t, tt.asked, len(l.asked) > 0)
			if tt.says == "" {
				require.Nil(t, a.Result.Receipt.SecondOpinion)
				return
			}
			require.Equal(t, &answer.SecondOpinion{Model: "looker-1", Frames: shortS * framesPerS}, a.Result.Receipt.SecondOpinion)
			require.Equal(t, []string{"at 0.00 s:", "at 0.50 s:", "at 1.00 s:", "at 1.50 s:", "at 2.00 s:", "at 2.50 s:"}, l.shown(t))
		})
	}
}

// TestVisionModelIsNeeded: a question that only the vision model can answer waits for it. It
// fails when the model is not configured, and is not billed.
func TestVisionModelIsNeeded(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]bool{"away": true, "not configured any more": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, vision := withVisionModel(t, &looker{})
			run := w.askFor(t, w.readyVideo(t, shortClip), "Is the stop sign spinning?")
			z := w.analyzer(&gpufixture.Engine{Detections: seen, Vocabulary: []string{"stop sign"}})
			if use {
				z.VisionModel = vision
			}
			if use {
				require.ErrorContains(t, z.Run(t.Context(), run), "paused: engine")
				require.False(t, w.analysis(t, run).Status.Terminal())
				return
			}
			require.NoError(t, z.Run(t.Context(), run))
			a := w.analysis(t, run)
			require.Equal(t, analysis.FailedStatus, a.Status)
			require.Equal(t, fault.InferenceError, a.Error.Code)
			w.requireBilled(t, 0)
		})
	}
}

// TestShownFramesHaveTheSubject: of a long video, the model is shown the parts with detections
// of the subject.
func TestShownFramesHaveTheSubject(t *testing.T) {
	t.Parallel()
	l := &looker{says: `{"answer": "unsure", "confidence": 0, "frames": [], "count": null}`}
	w, vision := withVisionModel(t, l)
	first := func(frame int, term string) []evidence.Detection {
		if frame > 0 {
			return nil // only the first frame of each batch shows it
		}
		return seen(frame, term)
	}
	run := w.askFor(t, w.readyVideo(t, longClip), "Is the stop sign spinning in the last 16 seconds?")
	z := w.analyzer(&gpufixture.Engine{Detections: first})
	z.VisionModel = vision
	require.NoError(t, z.Run(t.Context(), run))
	var want []string
	for i := range 8 {
		want = append(want, fmt.Sprintf("at %d.00 s:", 4+2*i))
	}
	require.Equal(t, want, l.shown(t))
}
