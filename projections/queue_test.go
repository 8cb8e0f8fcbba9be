package projections_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/projections"
	"vqa/projections/resources"
)

// line is a world with a manual clock and one node with one slot.
type line struct {
	*world
	mu  sync.Mutex
	at  time.Time
	run map[string]command.Run
}

func newLine(t *testing.T) *line {
	t.Helper()
	l := &line{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), run: map[string]command.Run{}}
	l.world = newWorldAt(t, l.now)
	l.resources.Estimator = &resources.Estimator{
		Pool: l.pool, Slots: 1, Now: l.now, Nodes: func(context.Context) (int, error) { return 1, nil },
		Log: slog.New(slog.DiscardHandler),
	}
	return l
}

func (l *line) now() time.Time { l.mu.Lock(); defer l.mu.Unlock(); return l.at }

func (l *line) pass(d time.Duration) { l.mu.Lock(); defer l.mu.Unlock(); l.at = l.at.Add(d) }

func (l *line) queue(t *testing.T, c command.Caller, videoID, prompt string) string {
	t.Helper()
	id, err := l.ask(t.Context(), c, videoID, prompt)
	require.NoError(t, err)
	return l.enqueued(c, videoID, id)
}

func (l *line) enqueued(c command.Caller, videoID, id string) string {
	l.run[id] = command.Run{AccountID: c.AccountID, AnalysisID: id, VideoID: videoID, Attempt: 1}
	l.pass(time.Millisecond)
	return id
}

func (l *line) claim(t *testing.T, id string) {
	t.Helper()
	_, _, err := l.ClaimAnalysis(t.Context(), l.run[id], "node_1")
	require.NoError(t, err)
}

func (l *line) complete(t *testing.T, id string) {
	t.Helper()
	length := lengthS
	result := answer.Result{Answer: answer.Yes, Confidence: 0.9, VideoDurationS: &length}
	require.NoError(t, l.CompleteAnalysis(t.Context(), l.run[id], result, lengthS*1e6, 15, nil))
}

// lengthS is the length in seconds of every video in this world.
const lengthS = 7.3

// place is the position and the estimated start of an analysis. -1 is null.
type place struct{ position, startS int }

func placeOf(a resources.Analysis) place {
	p := place{-1, -1}
	if a.QueuePosition != nil {
		p.position = *a.QueuePosition
	}
	if a.EstimatedStartS != nil {
		p.startS = *a.EstimatedStartS
	}
	return p
}

func (l *line) places(t *testing.T, ids ...string) []place {
	t.Helper()
	l.pass(time.Second) // longer than a forecast is used
	var all []place
	for _, id := range ids {
		a, err := l.resources.Analysis(t.Context(), resources.Tenant{AccountID: l.run[id].AccountID, Livemode: true}, id)
		require.NoError(t, err)
		all = append(all, placeOf(a))
	}
	return all
}

// room returns the seconds until the given number of queued analyses has started, or nil
// when that is not known.
func (l *line) room(t *testing.T, places int) any {
	t.Helper()
	seconds, known := l.resources.RoomIn(t.Context(), places)
	if !known {
		return nil
	}
	return seconds
}

// TestTheQueueIsOne checks that analyses of all accounts, batches and re-runs share one
// queue, in which accounts take turns.
func TestTheQueueIsOne(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	ctx := t.Context()
	alice, bob := l.caller(ctx, t, 1000), l.caller(ctx, t, 1000)
	hers, his := l.readyVideo(ctx, t, alice), l.readyVideo(ctx, t, bob)
	demo, err := l.AddDemoVideo(ctx, "video_"+"00000000000000000000000000", "demo.mp4", file("demo", "video/mp4"))
	require.NoError(t, err)

	unlucky := l.queue(t, alice, hers, "Is there a cat?")
	incident, err := l.OpenIncident(ctx, "The engine is down", "jo")
	require.NoError(t, err)
	l.claim(t, unlucky)
	require.NoError(t, l.FailAnalysis(ctx, l.run[unlucky], analysis.Failure{Code: fault.InferenceError, Message: "It failed."}))
	_, err = l.CloseIncident(ctx, incident.ID, "jo")
	require.NoError(t, err)

	own, err := l.AskDemo(ctx, command.AskDemo{VideoID: demo.ID, Prompt: "Is there a dog?"})
	require.NoError(t, err)
	l.enqueued(command.Caller{AccountID: account.SystemID}, demo.ID, own.ID)
	first := l.queue(t, alice, hers, "Is there a dog?")
	second := l.queue(t, bob, his, "Is there a dog?")
	batch, err := l.CreateBatch(ctx, alice, command.CreateBatch{VideoID: hers, Prompts: []string{"Is there a bus?", "Is there a car?", "Why?"}})
	require.NoError(t, err)
	third, fourth := batch.Analyses[0].Analysis.ID, batch.Analyses[1].Analysis.ID
	for _, id := range []string{third, fourth} {
		l.enqueued(alice, hers, id)
	}
	fifth := l.queue(t, bob, his, "Is there a cat?")
	rerun, err := l.RerunAnalysis(ctx, alice, unlucky)
	require.NoError(t, err)
	sixth := l.enqueued(alice, hers, rerun.ID)

	position := func(ids ...string) (all []int) {
		for _, p := range l.places(t, ids...) {
			all = append(all, p.position)
		}
		return all
	}
	require.Equal(t, []int{1, 2, 3, 5, 4, 6, 7, -1}, position(first, second, third, fourth, fifth, sixth, own.ID, unlucky))
	_, err = l.CancelAnalysis(ctx, bob, second)
	require.NoError(t, err)
	l.claim(t, first)
	require.Equal(t, []int{-1, -1, 1, 3, 2, 4, 5}, position(first, second, third, fourth, fifth, sixth, own.ID))

	// Every read method returns the same positions.
	tenant := resources.Tenant{AccountID: alice.AccountID, Livemode: true}
	list, _, err := l.resources.Analyses(ctx, tenant, resources.AnalysisFilter{}, projections.Page{Limit: 100})
	require.NoError(t, err)
	read := map[string]int{}
	for _, a := range list {
		if a.QueuePosition != nil {
			read[a.ID] = *a.QueuePosition
		}
	}
	require.Equal(t, map[string]int{third: 1, fourth: 3, sixth: 4}, read)
	of, err := l.resources.Batch(ctx, tenant, batch.ID)
	require.NoError(t, err)
	require.Equal(t, []int{1, 3, -1}, []int{placeOf(of[0]).position, placeOf(of[1]).position, placeOf(of[2]).position})
}

// TestEstimatesOfTheQueue has one slot. An analysis waits for all earlier ones, at the
// speed of the latest completed ones. Once a video has a survey, its other analyses take
// almost no time.
func TestEstimatesOfTheQueue(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	ctx := t.Context()
	c := l.caller(ctx, t, 10_000)
	a, b, d := l.readyVideo(ctx, t, c), l.readyVideo(ctx, t, c), l.readyVideo(ctx, t, c)
	slow := l.queue(t, c, a, "Is there a dog?")
	behind := l.queue(t, c, b, "Is there a dog?")
	require.Equal(t, []place{{1, 0}, {2, -1}}, l.places(t, slow, behind), "only the free slot is known yet")
	require.Equal(t, []any{0, nil}, []any{l.room(t, 1), l.room(t, 2)})

	// 7.3 seconds of video in 14.6 seconds.
	l.claim(t, slow)
	l.pass(14600 * time.Millisecond)
	l.complete(t, slow)
	l.claim(t, behind)
	last := l.queue(t, c, d, "Is there a dog?")
	known := l.queue(t, c, a, "Is there a cat?")
	same := l.queue(t, c, d, "Is there a cat?")
	joints := l.queue(t, c, a, "Is a person sitting?")
	end := l.queue(t, c, b, "Is there a cat?")
	// The running analysis started a second ago and has reported no progress. That second
	// counts.
	const lookS = (14600 + 1004) / 1000.0
	got := l.places(t, last, known, same, joints, end)
	require.Equal(t, []int{1, 2, 3, 4, 5}, []int{got[0].position, got[1].position, got[2].position, got[3].position, got[4].position})
	for i, want := range []float64{lookS, 2 * lookS, 2*lookS + 0.2, 2*lookS + 0.4, 3*lookS + 0.4} {
		require.InDelta(t, want, got[i].startS, 1, "%d of %v", i, got)
		require.InDelta(t, got[i].startS, l.room(t, i+1), 1, "an analysis that starts leaves room")
	}

	// Half of the scan is done in the expected time, and time passes between two forecasts.
	l.pass(6296 * time.Millisecond)
	require.NoError(t, l.ReportProgress(ctx, l.run[behind], analysis.Analyzing, 2))
	current, err := resources.NewProgress(l.pool).Report(ctx, behind, 1, 50)
	require.NoError(t, err)
	require.True(t, current)
	require.InDelta(t, 7.3, float64(l.places(t, last)[0].startS), 1)
	_, err = l.CancelAnalysis(ctx, c, behind)
	require.NoError(t, err)
	require.Equal(t, place{1, 0}, l.places(t, last)[0])
}

// TestReadsOfADeepQueue checks that a page of a list makes one forecast, like a single
// read.
func TestReadsOfADeepQueue(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	ctx := t.Context()
	asked := 0
	l.resources.Estimator.Nodes = func(context.Context) (int, error) { asked++; return 1, nil }
	c := l.caller(ctx, t, 10_000)
	v := l.readyVideo(ctx, t, c)
	for range 40 {
		l.queue(t, c, v, "Is there a dog?")
	}
	list, _, err := l.resources.Analyses(ctx, resources.Tenant{AccountID: c.AccountID, Livemode: true}, resources.AnalysisFilter{}, projections.Page{Limit: 40})
	require.NoError(t, err)
	require.Len(t, list, 40)
	for i, a := range list {
		require.Equal(t, 40-i, *a.QueuePosition)
	}
	require.Equal(t, 1, asked, "one forecast for all")

	l.resources.Estimator.Nodes = func(context.Context) (int, error) { return 0, errors.New("nobody answers") }
	list, _, err = l.resources.Analyses(ctx, resources.Tenant{AccountID: c.AccountID, Livemode: true}, resources.AnalysisFilter{}, projections.Page{Limit: 40})
	require.NoError(t, err, "the analyses are read without an estimate")
	require.Equal(t, place{40, -1}, placeOf(list[0]))
	require.Nil(t, l.room(t, 1))
}
