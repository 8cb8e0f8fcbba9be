package analysis_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/analysis"
)

var order = map[analysis.Status]int{
	"": 0, analysis.Queued: 1, analysis.Preparing: 2, analysis.Analyzing: 3, analysis.Rendering: 4,
	analysis.CompletedStatus: 5, analysis.FailedStatus: 5, analysis.CanceledStatus: 5,
}

// TestLaws runs random commands. A terminal state never changes, percent and stage never
// fall, attempts only rise, and only the current attempt ends the work.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s analysis.State
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			c := command(t)
			decided, err := analysis.Decide(s, c, now.Add(time.Duration(i)*time.Second))
			require.False(t, err != nil && len(decided) > 0, "a refused command has no events")
			before := s
			s = aggregate.Step(t, s, decided...)

			if before.Status.Terminal() {
				before = filledIn(t, before, s, decided)
				require.Empty(t, cmp.Diff(before, s, cmpopts.EquateEmpty()), "a terminal state changed")
			}
			require.GreaterOrEqual(t, s.Percent, before.Percent, "percent fell")
			require.LessOrEqual(t, s.Percent, 100)
			require.GreaterOrEqual(t, order[s.Status], order[before.Status], "%s after %s", s.Status, before.Status)
			require.GreaterOrEqual(t, s.Attempt, before.Attempt)
			require.Equal(t, s.Status.Terminal(), s.CompletedAt != nil)
			require.Equal(t, s.Status == analysis.CompletedStatus, s.Result != nil)
			require.Equal(t, s.Status == analysis.FailedStatus, s.Error != nil)
			require.Equal(t, s.Status == analysis.CompletedStatus && s.Narrative, s.Narration != nil)
			if s.Drawing || s.Artifacts != nil || s.Narration != nil {
				require.Equal(t, analysis.CompletedStatus, s.Status, "an artifact or narrative arrives before the answer")
			}
			if done, ok := c.(analysis.Complete); ok && len(decided) > 0 {
				require.Equal(t, before.Attempt, done.Attempt, "a stale attempt completed the analysis")
			}
		}
	})
}

// filledIn applies the fields that an event may still add to a terminal state. Each is
// added once, and nothing else changes.
func filledIn(t *rapid.T, before, after analysis.State, decided []analysis.Event) analysis.State {
	if len(decided) == 0 {
		return before
	}
	require.Len(t, decided, 1)
	switch decided[0].(type) {
	case analysis.Repeated:
		require.True(t, before.RerunEligible() && before.RerunID == "", "repeated without a right to it, or twice")
		before.RerunID = after.RerunID
	case analysis.Drawn:
		require.True(t, before.Drawing && !after.Drawing, "drawn when nothing is pending")
		before.Drawing, before.Artifacts = false, after.Artifacts
	case analysis.Narrated, analysis.NarrationFailed:
		require.True(t, before.Narrating() && !after.Narrating(), "narrated when nothing is pending")
		before.Narration = after.Narration
	default:
		require.Failf(t, "a terminal state changed", "%T", decided[0])
	}
	return before
}

func command(t *rapid.T) analysis.Command {
	attempt := rapid.IntRange(0, 4).Draw(t, "attempt")
	switch rapid.IntRange(0, 17).Draw(t, "command") {
	case 0, 1:
		return create
	case 2, 3:
		return analysis.Claim{Attempt: attempt, Worker: "w"}
	case 4:
		planned := rapid.SampledFrom([]*analysis.Artifacts{nil, drawn}).Draw(t, "planned")
		return analysis.Complete{Attempt: attempt, Result: result, Usage: usage, Drawing: planned}
	case 5:
		incident := rapid.SampledFrom([]string{"", "inc_1"}).Draw(t, "incident")
		return analysis.Fail{Attempt: attempt, Error: failure, Usage: unpaid, IncidentID: incident}
	case 6:
		return analysis.Cancel{Usage: unpaid}
	case 7, 8:
		return analysis.Repeat{RerunID: "an_2"}
	case 9, 10:
		return analysis.Draw{Artifacts: rapid.SampledFrom([]*analysis.Artifacts{nil, drawn}).Draw(t, "drawn")}
	case 11:
		return analysis.Narrate{Entries: entries}
	case 12:
		return analysis.FailNarration{}
	default:
		stage := rapid.SampledFrom(append(statuses[:len(statuses):len(statuses)], "dreaming")).Draw(t, "stage")
		return analysis.Progress{Attempt: attempt, Stage: stage, Percent: rapid.IntRange(-20, 130).Draw(t, "percent")}
	}
}
