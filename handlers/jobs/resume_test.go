package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query/english"
	"vqa/domain/video"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/survey"
)

// fatal saves surveys. After a certain one it ends the attempt, as the end of the process
// would.
type fatal struct {
	Surveys
	when func(survey.Survey) bool
	kill context.CancelFunc
}

// Save implements Surveys.
func (f fatal) Save(ctx context.Context, videoID string, s survey.Survey) error {
	err := f.Surveys.Save(ctx, videoID, s)
	if f.when(s) {
		f.kill()
	}
	return err
}

// dies examines the video for a question and is cut off.
func (w *watchedVideo) dies(t *testing.T, prompt string, when func(survey.Survey) bool) {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	kept, q := w.Surveys, english.Compile(prompt)
	w.Surveys, w.SaveEvery = fatal{kept, when, kill}, time.Nanosecond
	defer func() { w.Surveys, w.SaveEvery = kept, 0 }()
	p := &examination{engine: w.engine, ffmpeg: w.FFmpeg, source: ffmpeg.Source{Name: w.source}, query: q, pose: answer.NeedsPose(q), durationS: &w.durationS, patience: time.Minute}
	_, err := w.survey(ctx, video.State{ID: "vid_1"}, p, func(context.Context, float64) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
}

func (w *watchedVideo) kept(t *testing.T) survey.Survey {
	t.Helper()
	s, found, err := w.Surveys.Load(t.Context(), "vid_1")
	require.NoError(t, err)
	require.True(t, found)
	s.Evidence = inMemory(s.Evidence)
	require.NoError(t, errors.Join(s.Err(), s.Close()))
	return s
}

// TestAScanContinuesWhereItWasCutOff: saved frames are not examined again. The resulting
// survey equals that of a single scan, bit for bit.
func TestAScanContinuesWhereItWasCutOff(t *testing.T) {
	t.Parallel()
	cuts := map[string]func(survey.Survey) bool{
		"in the scan of the whole video": func(survey.Survey) bool { return true },
		"after that scan":                func(s survey.Survey) bool { return s.Whole },
		"in the close-ups":               func(s survey.Survey) bool { return s.Whole && len(s.Examined) > 305 },
	}
	for name, tt := range map[string]struct {
		durationS, from, to float64
		prompt              string
		cuts                []string
	}{
		"short": {40, 3.25, 36.625, "Is there a stop sign?", []string{"in the scan of the whole video", "after that scan"}},
		"long":  {610, 30.25, 63.625, "Is a person sitting?", []string{"in the scan of the whole video", "after that scan", "in the close-ups"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t, tt.durationS, tt.from, tt.to)
			_, all, _ := w.ask(t, tt.prompt)
			want := w.kept(t)
			for _, cut := range tt.cuts {
				w.Surveys = survey.Store{Objects: newObjects(t)}
				w.dies(t, tt.prompt, cuts[cut])
				held := len(w.kept(t).Examined)
				require.Positive(t, held, cut)
				_, rest, _ := w.ask(t, tt.prompt)
				require.LessOrEqual(t, rest, all-held, cut)
				require.Empty(t, cmp.Diff(want, w.kept(t), cmpopts.IgnoreUnexported(want)), cut)
			}
		})
	}
}
