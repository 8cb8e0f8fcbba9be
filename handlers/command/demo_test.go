package command

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/eventstore"
)

const demoVideo = "video_01M7XPE600B6S73BGVQJRX67A1"

func demoFile(key string) video.File {
	return video.File{ObjectKey: key, ContentType: "video/mp4", SizeBytes: 1000, DurationMicros: micros(8_000_000)}
}

// typesOf returns the types of a stream's events.
func (w *world) typesOf(stream eventstore.StreamID) []string {
	w.t.Helper()
	events, err := w.log.ReadStream(context.Background(), stream, 0, 100)
	require.NoError(w.t, err)
	var types []string
	for _, e := range events {
		types = append(types, e.Event.EventType())
	}
	return types
}

func TestDemoVideoIsAddedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.AddDemoVideo(t.Context(), demoVideo, "a.mp4", demoFile("demo/a.mp4"))
	require.NoError(t, err)
	require.Equal(t, video.ReadyStatus, first.Status)
	require.Equal(t, account.SystemID, first.AccountID)
	require.True(t, first.Livemode)
	require.False(t, first.Fixture, "its bytes are stored")

	second, err := w.AddDemoVideo(t.Context(), demoVideo, "a.mp4", demoFile("demo/b.mp4"))
	require.NoError(t, err)
	require.Equal(t, first, second, "the first video is returned")
	_, err = w.AddDemoVideo(t.Context(), id.Derived(id.Video, w.clock.Now(), "other"), "b.mp4", demoFile("demo/c.mp4"))
	require.NoError(t, err, "the account is opened once")
	require.Equal(t, []string{"account.opened"}, w.typesOf(accounts.Stream(account.SystemID)))
}

func TestDemoPromptIsAnalyzedOnceAndCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.AddDemoVideo(t.Context(), demoVideo, "a.mp4", demoFile("demo/a.mp4"))
	require.NoError(t, err)
	ask := AskDemo{VideoID: demoVideo, Prompt: "Is there a ball?"}
	a, err := w.AskDemo(t.Context(), ask)
	require.NoError(t, err)
	require.Equal(t, analysis.Queued, a.Status)
	require.Equal(t, analysis.OriginSystem, a.Origin)
	require.Zero(t, a.HeldSeconds)
	again, err := w.AskDemo(t.Context(), ask)
	require.NoError(t, err)
	require.Equal(t, a, again)

	run := Run{AccountID: account.SystemID, AnalysisID: a.ID, VideoID: demoVideo, Attempt: 1}
	_, _, err = w.ClaimAnalysis(t.Context(), run, "worker")
	require.NoError(t, err)
	require.NoError(t, w.CompleteAnalysis(t.Context(), run, answer.Result{Answer: answer.Yes, Confidence: 0.9}, 8_000_000, 16, nil))
	done, err := w.AskDemo(t.Context(), ask)
	require.NoError(t, err)
	require.Equal(t, analysis.CompletedStatus, done.Status)
	require.Nil(t, done.Usage)
	require.Empty(t, w.typesOf(credits.Stream(account.SystemID)), "no credits moved")
}

func TestFailedDemoPromptIsRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.AddDemoVideo(t.Context(), demoVideo, "a.mp4", demoFile("demo/a.mp4"))
	require.NoError(t, err)
	seen := map[string]bool{}
	after := ""
	for i := range 3 {
		a, err := w.AskDemo(t.Context(), AskDemo{VideoID: demoVideo, Prompt: "Is there a ball?", After: after})
		require.NoError(t, err)
		require.False(t, seen[a.ID], "try "+strconv.Itoa(i)+" is a new analysis")
		require.True(t, id.Valid(id.Analysis, a.ID))
		seen[a.ID], after = true, a.ID
		run := Run{AccountID: account.SystemID, AnalysisID: a.ID, VideoID: demoVideo}
		require.NoError(t, w.FailAnalysis(t.Context(), run, analysis.Failure{Code: fault.InferenceError, Message: "away"}))
	}
	require.Empty(t, w.typesOf(credits.Stream(account.SystemID)))
}

func TestDemoRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	own := w.readyVideo(caller)
	_, err := w.AddDemoVideo(t.Context(), demoVideo, "a.mp4", demoFile("demo/a.mp4"))
	require.NoError(t, err)
	for name, test := range map[string]struct {
		ask  AskDemo
		code fault.Code
	}{
		"a customer's video": {AskDemo{VideoID: own, Prompt: "Is there a ball?"}, fault.ResourceNotFound},
		"no video":           {AskDemo{VideoID: "video_none", Prompt: "Is there a ball?"}, fault.ResourceNotFound},
		"no answerable form": {AskDemo{VideoID: demoVideo, Prompt: "What happens?"}, fault.ValidationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.AskDemo(t.Context(), test.ask)
			require.True(t, fault.Has(err, test.code), "%v", err)
		})
	}
	prompt := "Is there a ball?"
	_, err = w.CreateAnalysis(t.Context(), caller, CreateAnalysis{VideoID: demoVideo, Prompt: &prompt})
	require.True(t, fault.Has(err, fault.ResourceNotFound), "a demo video belongs to another account")
	require.True(t, fault.Has(w.DeleteVideo(context.Background(), caller, demoVideo), fault.ResourceNotFound))
}
