package video_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/video"
)

// TestLaws runs random commands. A removed video never comes back: only the end of its
// bytes is recorded, once. A failed one can only be removed. The open analyses are those that were opened and not closed.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s video.State
		open := map[string]bool{}
		for i := range rapid.IntRange(0, 50).Draw(t, "steps") {
			decided, err := video.Decide(s, command(t), now.Add(time.Duration(i)*time.Second))
			require.False(t, err != nil && len(decided) > 0, "a refused command leaves nothing behind")
			before := s
			s = aggregate.Step(t, s, decided...)
			for _, e := range decided {
				switch e := e.(type) {
				case video.AnalysisOpened:
					open[e.AnalysisID] = true
				case video.AnalysisClosed:
					require.True(t, open[e.AnalysisID], "closed without being open")
					delete(open, e.AnalysisID)
				case video.Deleted:
					require.Empty(t, open, "deleted under an analysis")
				}
			}
			require.ElementsMatch(t, slices.Collect(maps.Keys(open)), slices.Collect(maps.Keys(s.OpenAnalyses)))
			checkTerminal(t, before, decided)
		}
	})
}

func checkTerminal(t *rapid.T, before video.State, decided events) {
	switch before.Status {
	case video.Removed:
		for _, e := range decided {
			require.IsType(t, video.Purged{}, e, "a removed video changed other than by the end of its bytes")
			require.Nil(t, before.PurgedAt, "the bytes were gone twice")
		}
	case video.FailedStatus:
		for _, e := range decided {
			require.IsType(t, video.Deleted{}, e, "a failed video changed other than by deletion")
		}
	case video.ReadyStatus:
		for _, e := range decided {
			require.NotEqual(t, "video.failed", e.EventType(), "a ready video failed")
			require.NotEqual(t, "video.ready", e.EventType(), "a ready video got other bytes")
		}
	}
}

func command(t *rapid.T) video.Command {
	analysisID := fmt.Sprintf("an_%d", rapid.IntRange(1, 3).Draw(t, "analysis"))
	return rapid.SampledFrom([]video.Command{
		registerUpload, registerURL, registerFixture, registerStored, video.Finish{File: file},
		video.Finish{File: video.File{ContentType: "video/mp4"}},
		video.Fail{Error: unreadable}, video.OpenAnalysis{AnalysisID: analysisID}, video.OpenAnalysis{AnalysisID: analysisID},
		video.CloseAnalysis{AnalysisID: analysisID}, video.CloseAnalysis{AnalysisID: analysisID}, video.Delete{}, video.Purge{},
	}).Draw(t, "command")
}

// TestBilledSecondsLaw checks that the billed seconds cover the whole length and exceed it
// by less than a second.
func TestBilledSecondsLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(1, 1<<50).Draw(t, "micros")
		billed, known := aggregate.Fold(uploading, video.Ready{File: video.File{DurationMicros: &micros}}).BilledSeconds()
		require.True(t, known)
		require.GreaterOrEqual(t, billed*1_000_000, micros)
		require.Less(t, (billed-1)*1_000_000, micros)
	})
}
