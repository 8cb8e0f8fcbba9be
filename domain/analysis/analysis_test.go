package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

var aggregate = scenario.Aggregate[analysis.State, analysis.Command, analysis.Event]{
	Decide: analysis.Decide, Evolve: analysis.Evolve,
}

func ptr[T any](v T) *T { return &v }

var (
	now    = scenario.Now
	asked  = english.Compile("Is there a dog?")
	result = answer.Result{
		Answer: answer.Yes, Confidence: 0.9, QueryType: query.TypeObject, VideoDurationS: ptr(2.5),
		Clips:           []answer.Clip{{StartS: 0, EndS: 1.5, Confidence: 0.9, Terms: map[string]float64{"dog": 0.9}}},
		TermConfidences: map[string]float64{"dog": 0.9},
	}
	usage   = &analysis.Usage{BilledSeconds: 3, BalanceAfter: ptr(int64(97)), Frames: ptr(5)}
	unpaid  = &analysis.Usage{BalanceAfter: ptr(int64(100))}
	failure = analysis.Failure{Code: fault.InferenceError, Message: "the model failed"}

	create = analysis.Create{
		ID: "an_1", AccountID: "acct_1", VideoID: "video_1", Livemode: true, Origin: analysis.OriginAPI,
		Prompt: ptr("Is there a dog?"), Query: asked, ParseMode: analysis.ParseHeuristic, Model: "main-2", Narrative: true,
		Metadata: map[string]string{"a": "b"}, HeldSeconds: 3,
	}
	created = analysis.Created{
		AnalysisID: "an_1", AccountID: "acct_1", VideoID: "video_1", Livemode: true, Origin: analysis.OriginAPI,
		Prompt: ptr("Is there a dog?"), Query: asked, ParseMode: analysis.ParseHeuristic, Model: "main-2", Narrative: true,
		Metadata: map[string]string{"a": "b"}, HeldSeconds: 3, At: now,
	}
	started          = analysis.Started{AnalysisID: "an_1", Attempt: 1, Worker: "w1", At: now}
	reclaimed        = analysis.Reclaimed{AnalysisID: "an_1", Attempt: 3, Worker: "w2", At: now}
	drawn            = &analysis.Artifacts{VideoKey: "artifacts/vid_1/an_1.1.mp4", SheetKey: "artifacts/vid_1/an_1.1.png"}
	entries          = []analysis.NarrativeEntry{{AtS: 0.5, Text: "A dog enters from the left."}}
	completed        = analysis.Completed{AnalysisID: "an_1", Attempt: 1, Result: result, Usage: usage, Narrating: true, At: now}
	drawing          = analysis.Completed{AnalysisID: "an_1", Attempt: 1, Result: result, Usage: usage, Artifacts: drawn, Drawing: true, At: now}
	narrated         = analysis.Narrated{AnalysisID: "an_1", Entries: entries, At: now}
	failed           = analysis.Failed{AnalysisID: "an_1", Error: failure, Usage: unpaid, At: now}
	failedInIncident = analysis.Failed{AnalysisID: "an_1", Error: failure, Usage: unpaid, IncidentID: "inc_1", At: now}
	repeated         = analysis.Repeated{AnalysisID: "an_1", RerunID: "an_2", At: now}
	canceled         = analysis.Canceled{AnalysisID: "an_1", Usage: unpaid, At: now}
)

// quiet is an analysis without a narrative.
var quiet = func() analysis.Created { c := created; c.Narrative = false; return c }()

func progressed(stage analysis.Status, percent int) analysis.Progressed {
	return analysis.Progressed{AnalysisID: "an_1", Stage: stage, Percent: percent, At: now}
}

func progress(attempt int, stage analysis.Status, percent int) analysis.Progress {
	return analysis.Progress{Attempt: attempt, Stage: stage, Percent: percent}
}

type (
	events = []analysis.Event
	cases  = []scenario.Case[analysis.Command, analysis.Event]
)

func TestDecide(t *testing.T) {
	t.Parallel()
	aggregate.Run(t, cases{
		{Name: "an analysis is created", When: create, Then: events{created}},
		{Name: "created once", Given: events{created}, When: create, Refused: fault.ResourceConflict},
		{Name: "the first claim starts", Given: events{created}, When: analysis.Claim{Attempt: 1, Worker: "w1"}, Then: events{started}},
		{
			Name: "an answer known at once", Given: events{created}, When: analysis.Complete{Result: result, Usage: unpaid},
			Then: events{analysis.Completed{AnalysisID: "an_1", Result: result, Usage: unpaid, At: now}},
		},
		{
			Name: "an answer", Given: events{created, started, progressed(analysis.Rendering, 99)},
			When: analysis.Complete{Attempt: 1, Result: result, Usage: usage}, Then: events{completed},
		},
		{
			Name: "an answer with artifacts to render", Given: events{quiet, started},
			When: analysis.Complete{Attempt: 1, Result: result, Usage: usage, Drawing: drawn}, Then: events{drawing},
		},
		{
			Name: "a failed attempt", Given: events{created, started}, When: analysis.Fail{Attempt: 1, Error: failure, Usage: unpaid},
			Then: events{failed},
		},
		{
			Name: "a lost job", Given: events{created, started, reclaimed}, When: analysis.Fail{Error: failure, Usage: unpaid},
			Then: events{failed},
		},
		{Name: "canceled in the queue", Given: events{created}, When: analysis.Cancel{Usage: unpaid}, Then: events{canceled}},
		{Name: "canceled at work", Given: events{created, started}, When: analysis.Cancel{Usage: unpaid}, Then: events{canceled}},
	})
}

func TestAfterwork(t *testing.T) {
	t.Parallel()
	drawing, narrating := events{quiet, started, drawing}, events{created, started, completed}
	draw := analysis.Draw{Artifacts: drawn}
	aggregate.Run(t, cases{
		{Name: "drawn", Given: drawing, When: draw, Then: events{analysis.Drawn{AnalysisID: "an_1", Artifacts: drawn, At: now}}},
		{Name: "drawing failed", Given: drawing, When: analysis.Draw{}, Then: events{analysis.Drawn{AnalysisID: "an_1", At: now}}},
		{Name: "drawn twice", Given: append(drawing, analysis.Drawn{AnalysisID: "an_1", At: now}), When: draw, Refused: fault.ResourceConflict},
		{Name: "nothing to draw", Given: narrating, When: draw, Refused: fault.ResourceConflict},
		{Name: "drawn before the answer", Given: events{created, started}, When: draw, Refused: fault.ResourceConflict},
		{Name: "narrated", Given: narrating, When: analysis.Narrate{Entries: narrated.Entries}, Then: events{narrated}},
		{
			Name: "an empty narrative", Given: narrating, When: analysis.Narrate{},
			Then: events{analysis.Narrated{AnalysisID: "an_1", At: now}},
		},
		{
			Name: "the narrative failed", Given: narrating, When: analysis.FailNarration{},
			Then: events{analysis.NarrationFailed{AnalysisID: "an_1", At: now}},
		},
		{Name: "narrated twice", Given: append(narrating, narrated), When: analysis.FailNarration{}, Refused: fault.ResourceConflict},
		{Name: "a narrative that was not requested", Given: drawing, When: analysis.Narrate{}, Refused: fault.ResourceConflict},
		{Name: "a narrative for a canceled analysis", Given: events{created, canceled}, When: analysis.Narrate{}, Refused: fault.ResourceConflict},
		{
			Name: "a narrative known at creation", Given: events{created}, When: analysis.Complete{Result: result, Narrative: narrated.Entries},
			Then: events{analysis.Completed{AnalysisID: "an_1", Result: result, Narrative: narrated.Entries, At: now}},
		},
	})
}

func TestNarration(t *testing.T) {
	t.Parallel()
	known := analysis.Completed{AnalysisID: "an_1", Result: result, At: now}
	narratedAtOnce := known
	narratedAtOnce.Narrative = entries
	for name, tt := range map[string]struct {
		given events
		want  *analysis.Narrative
	}{
		"not requested":        {events{quiet, started, drawing}, nil},
		"before the answer":    {events{created, started}, nil},
		"being written":        {events{created, started, completed}, &analysis.Narrative{Status: "generating"}},
		"written":              {events{created, started, completed, narrated}, &analysis.Narrative{Status: "ready", Entries: entries}},
		"failed":               {events{created, started, completed, analysis.NarrationFailed{At: now}}, &analysis.Narrative{Status: "failed"}},
		"of a canned answer":   {events{created, narratedAtOnce}, &analysis.Narrative{Status: "ready", Entries: entries}},
		"of a refused prompt":  {events{created, known}, &analysis.Narrative{Status: "failed"}},
		"of a failed analysis": {events{created, started, failed}, nil},
	} {
		require.Equal(t, tt.want, aggregate.Fold(tt.given...).Narration, name)
	}
}

func TestRerun(t *testing.T) {
	t.Parallel()
	repeat := analysis.Repeat{RerunID: "an_2"}
	fail := func(code fault.Code) analysis.Fail {
		return analysis.Fail{Attempt: 1, Error: analysis.Failure{Code: code}, Usage: unpaid, IncidentID: "inc_1"}
	}
	failedBy := func(code fault.Code, incident string) events {
		return events{analysis.Failed{AnalysisID: "an_1", Error: analysis.Failure{Code: code}, Usage: unpaid, IncidentID: incident, At: now}}
	}
	running := events{created, started}
	aggregate.Run(t, cases{
		{Name: "an incident fails the model", Given: running, When: fail(fault.InferenceError), Then: failedBy(fault.InferenceError, "inc_1")},
		{Name: "an incident loses the job", Given: running, When: fail(fault.StuckTimeout), Then: failedBy(fault.StuckTimeout, "inc_1")},
		{Name: "a bad video is no incident", Given: running, When: fail(fault.VideoUnreadable), Then: failedBy(fault.VideoUnreadable, "")},
		{Name: "failed in an incident", Given: events{created, started, failedInIncident}, When: repeat, Then: events{repeated}},
		{Name: "repeated once", Given: events{created, started, failedInIncident, repeated}, When: repeat, Refused: fault.RerunNotEligible},
		{Name: "failed without an incident", Given: events{created, started, failed}, When: repeat, Refused: fault.RerunNotEligible},
		{Name: "completed", Given: events{created, started, completed}, When: repeat, Refused: fault.RerunNotEligible},
		{Name: "of nothing", When: repeat, Refused: fault.ResourceNotFound},
	})

	s := aggregate.Fold(created, started, failedInIncident, repeated)
	require.True(t, s.RerunEligible(), "the original does not change")
	require.Equal(t, "an_2", s.RerunID)
	require.False(t, aggregate.Fold(created, started, failed).RerunEligible())
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	taken := events{created, started, reclaimed} // attempt 3 has it
	aggregate.Run(t, cases{
		{
			Name: "a later attempt takes over", Given: events{created, started}, When: analysis.Claim{Attempt: 3, Worker: "w2"},
			Then: events{reclaimed},
		},
		{Name: "the same attempt does not claim twice", Given: events{created, started}, When: analysis.Claim{Attempt: 1}, Refused: fault.ResourceConflict},
		{Name: "an earlier attempt does not claim", Given: taken, When: analysis.Claim{Attempt: 2}, Refused: fault.ResourceConflict},
		{Name: "attempt 0 does not claim", Given: events{created}, When: analysis.Claim{}, Refused: fault.ResourceConflict},
		{Name: "an earlier attempt reports", Given: taken, When: progress(1, analysis.Analyzing, 50), Refused: fault.ResourceConflict},
		{Name: "a later attempt reports unclaimed", Given: taken, When: progress(4, analysis.Analyzing, 50), Refused: fault.ResourceConflict},
		{Name: "an earlier attempt completes", Given: taken, When: analysis.Complete{Attempt: 1, Result: result}, Refused: fault.ResourceConflict},
		{Name: "attempt 0 completes claimed work", Given: taken, When: analysis.Complete{Result: result}, Refused: fault.ResourceConflict},
		{Name: "attempt 1 completes unclaimed work", Given: events{created}, When: analysis.Complete{Attempt: 1}, Refused: fault.ResourceConflict},
		{Name: "an earlier attempt fails", Given: taken, When: analysis.Fail{Attempt: 1, Error: failure}, Refused: fault.ResourceConflict},
		{
			Name: "the latest completes", Given: taken, When: analysis.Complete{Attempt: 3, Result: result},
			Then: events{analysis.Completed{AnalysisID: "an_1", Attempt: 3, Result: result, Narrating: true, At: now}},
		},
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	at := func(stage analysis.Status, percent int) events {
		return events{created, started, progressed(stage, percent)}
	}
	aggregate.Run(t, cases{
		{Name: "forward", Given: events{created, started}, When: progress(1, analysis.Analyzing, 20), Then: events{progressed(analysis.Analyzing, 20)}},
		{Name: "in percent only", Given: at(analysis.Analyzing, 20), When: progress(1, analysis.Analyzing, 21)},
		{Name: "in stage only", Given: at(analysis.Analyzing, 20), When: progress(1, analysis.Rendering, 20), Then: events{progressed(analysis.Rendering, 20)}},
		{Name: "nothing new", Given: at(analysis.Analyzing, 20), When: progress(1, analysis.Analyzing, 20)},
		{Name: "backward in percent", Given: at(analysis.Analyzing, 20), When: progress(1, analysis.Analyzing, 10)},
		{Name: "backward in stage", Given: at(analysis.Rendering, 20), When: progress(1, analysis.Analyzing, 20)},
		{
			Name: "stage forward, percent backward", Given: at(analysis.Analyzing, 20), When: progress(1, analysis.Rendering, 5),
			Then: events{progressed(analysis.Rendering, 20)},
		},
		{Name: "stage backward, percent forward", Given: at(analysis.Rendering, 20), When: progress(1, analysis.Preparing, 30)},
		{Name: "never over 100", Given: at(analysis.Analyzing, 90), When: progress(1, analysis.Rendering, 250), Then: events{progressed(analysis.Rendering, 100)}},
		{Name: "never under 0", Given: events{created, started}, When: progress(1, analysis.Analyzing, -7), Then: events{progressed(analysis.Analyzing, 0)}},
		{Name: "never to an end", Given: at(analysis.Rendering, 90), When: progress(1, analysis.CompletedStatus, 95)},
		{Name: "never to an unknown stage", Given: at(analysis.Analyzing, 20), When: progress(1, "dreaming", 20)},
		{
			Name: "a second attempt starts over without an event", Given: append(at(analysis.Rendering, 90), reclaimed),
			When: progress(3, analysis.Preparing, 1),
		},
		{Name: "not in the queue", Given: events{created}, When: progress(0, analysis.Preparing, 1), Refused: fault.ResourceConflict},
	})
}

func TestStateTable(t *testing.T) {
	t.Parallel()
	given := map[string]events{
		"(none)": nil, "queued": {created}, "preparing": {created, started},
		"analyzing": {created, started, progressed(analysis.Analyzing, 20)},
		"rendering": {created, started, progressed(analysis.Rendering, 80)},
		"completed": {created, started, completed, narrated}, "drawing": {quiet, started, drawing},
		"narrating": {created, started, completed}, "failed": {created, started, failed}, "canceled": {created, canceled},
		"failed in an incident": {created, started, failedInIncident}, "repeated": {created, started, failedInIncident, repeated},
	}
	scenario.ReadTable(t, "state").Check(t,
		[]string{
			"(none)", "queued", "preparing", "analyzing", "rendering", "completed", "drawing", "narrating", "failed", "failed in an incident", "repeated", "canceled",
		},
		[]string{"Create", "Claim", "Progress", "Complete", "Fail", "Cancel", "Repeat", "Draw", "Narrate", "FailNarration"},
		func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			require.Equal(t, state, stateOf(s))
			when := map[string]analysis.Command{
				"Create": create, "Claim": analysis.Claim{Attempt: s.Attempt + 1, Worker: "w"},
				"Progress": progress(s.Attempt, analysis.Rendering, 90),
				"Complete": analysis.Complete{Attempt: s.Attempt, Result: result, Narrative: entries},
				"Fail":     analysis.Fail{Attempt: s.Attempt, Error: failure}, "Cancel": analysis.Cancel{},
				"Repeat": analysis.Repeat{RerunID: "an_2"}, "Draw": analysis.Draw{}, "Narrate": analysis.Narrate{},
				"FailNarration": analysis.FailNarration{},
			}
			decided, err := analysis.Decide(s, when[command], now)
			return stateOf(aggregate.Step(t, s, decided...)), scenario.Outcome(decided, err)
		})
}

// stateOf returns the name that the table has for a state.
func stateOf(s analysis.State) string {
	switch {
	case !s.Exists():
		return "(none)"
	case s.RerunID != "":
		return "repeated"
	case s.RerunEligible():
		return "failed in an incident"
	case s.Drawing:
		return "drawing"
	case s.Narrating():
		return "narrating"
	}
	return string(s.Status)
}

func TestFoldedState(t *testing.T) {
	t.Parallel()
	s := aggregate.Fold(created, started, reclaimed, completed)
	require.Equal(t, &now, s.StartedAt)
	require.Equal(t, &now, s.CompletedAt)
	require.Equal(t, 100, s.Percent)
	require.Equal(t, &result, s.Result)
	require.Equal(t, usage, s.Usage)
	require.Equal(t, int64(3), s.HeldSeconds)

	s = aggregate.Fold(created, started, progressed(analysis.Analyzing, 40), failed)
	require.Equal(t, &failure, s.Error)
	require.Equal(t, 40, s.Percent, "a failed analysis keeps its percent")
	require.Nil(t, s.Result)
}

// statuses are all statuses, in the order of a life.
var statuses = []analysis.Status{
	analysis.Queued, analysis.Preparing, analysis.Analyzing, analysis.Rendering,
	analysis.CompletedStatus, analysis.FailedStatus, analysis.CanceledStatus,
}

func TestStatusesAreTheContracts(t *testing.T) {
	t.Parallel()
	want := []analysis.Status{"queued", "preparing", "analyzing", "rendering", "completed", "failed", "canceled"}
	require.Equal(t, want, statuses)
	for i, s := range want {
		require.Equal(t, i >= 4, s.Terminal(), s)
	}
}

func TestUnknownCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = analysis.Decide(aggregate.Fold(created), nil, now) })
	require.Panics(t, func() { analysis.Evolve(analysis.State{}, nil) })
}
