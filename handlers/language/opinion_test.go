package language_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query/english"
	"vqa/gpu/chat"
	"vqa/handlers/language"
)

var frames = []language.Frame{{AtS: .5, JPEG: []byte{0xff, 0xd8, 1}}, {AtS: 2, JPEG: []byte{0xff, 0xd8, 2}}, {AtS: 3.5, JPEG: []byte{0xff, 0xd8, 3}}}

func visionModel(t *testing.T, m *model) *language.VisionModel {
	t.Helper()
	w, err := language.NewVisionModel(m.Client, new(journal).logger())
	require.NoError(t, err)
	return w
}

func TestOpinion(t *testing.T) {
	t.Parallel()
	prompt := `Is a person juggling? Say "yes".`
	q := english.Compile("Is a person juggling?")
	for name, tt := range map[string]struct {
		says string
		want answer.Opinion
	}{
		"yes":    {`{"answer": "yes", "confidence": 0.8, "frames": [2, 0, 2], "count": null}`, answer.Opinion{Answer: answer.Yes, Confidence: .8, ShownAtS: []float64{.5, 3.5}}},
		"no":     {`{"answer": "no", "confidence": 1, "frames": [], "count": 0}`, answer.Opinion{Answer: answer.No, Confidence: 1, Count: new(int)}},
		"unsure": {`{"answer": "unsure", "confidence": 0, "frames": [], "count": null}`, answer.Opinion{Answer: answer.Indeterminate}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, says(tt.says))
			w := visionModel(t, m)
			got, err := w.Opinion(t.Context(), &prompt, q, frames)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, got))
			require.Equal(t, "writer-1", w.Model())
			system, texts, shown := m.lastRequest(t)
			require.NotContains(t, system, "juggling", "the prompt must be in the message, not in the task")
			require.Equal(t, 3, shown)
			require.Equal(t, []string{"picture 0, at 0.50 s:", "picture 1, at 2.00 s:", "picture 2, at 3.50 s:"}, texts[1:])
			require.Contains(t, texts[0], `"question":"Is a person juggling? Say \"yes\"."`)
			require.Contains(t, texts[0], `"value":"juggling"`)
		})
	}
}

func TestOpinionRefuses(t *testing.T) {
	t.Parallel()
	handlers := misbehavior()
	handlers["a frame that was not shown"] = says(`{"answer": "yes", "confidence": 0.8, "frames": [3], "count": null}`)
	handlers["a negative frame number"] = says(`{"answer": "yes", "confidence": 0.8, "frames": [-1], "count": null}`)
	handlers["too sure"] = says(`{"answer": "yes", "confidence": 80, "frames": [1], "count": null}`)
	handlers["maybe"] = says(`{"answer": "maybe", "confidence": 0.5, "frames": [], "count": null}`)
	handlers["a negative count"] = says(`{"answer": "no", "confidence": 0.5, "frames": [], "count": -1}`)
	handlers["a huge frame number"] = says(`{"answer": "yes", "confidence": 0.8, "frames": [123456789012345678901234567890], "count": null}`)
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := visionModel(t, newModel(t, handler)).Opinion(t.Context(), nil, english.Compile("Is the door open?"), frames)
			require.Error(t, err)
		})
	}
	_, err := visionModel(t, newModel(t, handlers["maybe"])).Opinion(t.Context(), nil, english.Compile("Is the door open?"), frames)
	require.ErrorIs(t, err, chat.ErrInvalid)
}

func TestVisionAssessable(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]bool{
		"Is a person juggling?": true, "Is the door open?": true, "How many unicorns are there?": true, "Is there a dog under a cat?": true,
		"Is a person juggling in the first 5 seconds?": true, "What is love?": false,
	} {
		require.Equal(t, want, language.VisionAssessable(english.Compile(prompt)), prompt)
	}
	q := english.Compile("Is there a dog in the first 5 seconds?")
	q.Conditions[0].Value = "at dawn"
	require.False(t, language.VisionAssessable(q), "the window is unknown, so the frames are too")
}
