package stream_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/query/english"
	"vqa/domain/stream"
)

var order = map[stream.Status]int{"": 0, stream.Queued: 1, stream.Ready: 2, stream.Live: 3, stream.EndedStatus: 4}

// TestLaws runs random commands of two nodes. An ended stream never changes, except that its recording can be
// deleted. A recording that failed stays failed until then. A stream ends once, with a
// reason that fits. The clock, the held seconds and the status never fall. The clock runs only while frames
// arrive, and never longer than the time since the stream went live. Only the owner changes a stream that has
// one, except for its end and its prompt. The bill is at most the clock, and 0 in test mode.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s stream.State
		at, ends := now, 0
		livemode := rapid.Bool().Draw(t, "livemode")
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(0, 90_000).Draw(t, "passed")) * time.Millisecond)
			c := command(t, s, livemode, at)
			decided, err := stream.Decide(s, c, at)
			require.False(t, err != nil && len(decided) > 0, "a refused command has no events")
			require.LessOrEqual(t, len(decided), 1)
			before := s
			s = aggregate.Step(t, s, decided...)

			if before.Status == stream.EndedStatus {
				if _, deletes := c.(stream.DeleteRecording); deletes {
					require.Equal(t, stream.RecordingNone, s.RecordingStatus)
					before.RecordingStatus, before.Recorded, before.RecordingFailure = s.RecordingStatus, s.Recorded, s.RecordingFailure
				}
				require.Empty(t, cmp.Diff(before, s, cmpopts.EquateEmpty()), "an ended stream changed")
				continue
			}
			require.GreaterOrEqual(t, order[s.Status], order[before.Status])
			require.GreaterOrEqual(t, s.ClockMillis, before.ClockMillis, "the clock fell")
			require.GreaterOrEqual(t, s.HeldSeconds, before.HeldSeconds)
			require.GreaterOrEqual(t, s.Recorded.Number, before.Recorded.Number)
			if !before.Running {
				require.Equal(t, before.ClockMillis, s.ClockMillis, "the clock ran during a pause")
			}
			if before.RecordingStatus == stream.RecordingFailed {
				require.Equal(t, stream.RecordingFailed, s.RecordingStatus)
			}
			checkClock(t, s, at)
			checkOwner(t, before, c, decided)
			if s.Status == stream.EndedStatus {
				ends++
				checkEnd(t, before, s, at)
			}
		}
		require.LessOrEqual(t, ends, 1)
	})
}

func checkClock(t *rapid.T, s stream.State, at time.Time) {
	if s.LiveAt == nil {
		require.Zero(t, s.ClockMillis)
		return
	}
	require.LessOrEqual(t, s.ClockMillis, at.Sub(*s.LiveAt).Milliseconds(), "the clock is ahead of time")
	require.LessOrEqual(t, s.DurationSeconds(), s.MaxSessionSeconds)
}

// checkOwner compares the node of an accepted command with the owner.
func checkOwner(t *rapid.T, before stream.State, c stream.Command, decided []stream.Event) {
	if len(decided) == 0 {
		return
	}
	node := before.Node
	switch c := c.(type) {
	case stream.Offer:
		node = c.Node
	case stream.GoLive:
		node = c.Node
	case stream.Resume:
		node = c.Node
	case stream.Pause:
		node = c.Node
	case stream.Meter:
		node = c.Node
	case stream.RecordPart:
		node = c.Node
	case stream.FailRecording:
		node = c.Node
	case stream.End:
		if c.Node != "" {
			node = c.Node
		}
	}
	require.Equal(t, before.Node, node, "another node changed the stream")
}

func checkEnd(t *rapid.T, before, s stream.State, at time.Time) {
	require.NotNil(t, s.Usage)
	require.NotNil(t, s.Summary)
	require.Equal(t, at, *s.EndedAt)
	require.LessOrEqual(t, s.Usage.BilledSeconds, s.DurationSeconds())
	if !s.Livemode || s.LiveAt == nil || s.Reason == stream.MediaTimeout {
		require.Zero(t, s.Usage.BilledSeconds)
	}
	wasLive := before.Status == stream.Live
	switch s.Reason {
	case stream.Completed, stream.Timeout, stream.MediaTimeout, stream.InsufficientCredits:
		require.True(t, wasLive, "a stream that was never live ended as %s", s.Reason)
	case stream.Canceled, stream.ICEFailed:
		require.False(t, wasLive, "a live stream ended as %s", s.Reason)
	}
	require.Equal(t, s.Recording, s.RecordingStatus != "")
	require.NotEqual(t, stream.RecordingActive, s.RecordingStatus)
	_, _, waits := s.Deadline(stream.Windows{Join: 1, ICE: 1, FirstFrame: 1})
	require.False(t, waits, "an ended stream has a deadline")
}

// command draws a command. Its bill is at most what may be billed, as a caller computes it.
func command(t *rapid.T, s stream.State, livemode bool, at time.Time) stream.Command {
	node := rapid.SampledFrom([]string{"node_1", "node_1", "node_1", "node_2"}).Draw(t, "node")
	clock := rapid.Int64Range(-10, 4_000_000).Draw(t, "clock")
	switch rapid.IntRange(0, 22).Draw(t, "command") {
	case 0, 1:
		c := create
		c.Livemode, c.MaxSessionSeconds = livemode, 300
		return c
	case 2, 3:
		return stream.GrantSlot{Node: node}
	case 4, 5:
		return stream.Offer{Node: node}
	case 6, 7:
		return stream.GoLive{Node: node}
	case 8, 9:
		return stream.Resume{Node: node}
	case 10, 11:
		return stream.Pause{Node: node, ClockMillis: clock}
	case 12, 13, 14:
		return stream.Meter{Node: node, ClockMillis: clock, HeldSeconds: rapid.Int64Range(0, 400).Draw(t, "held")}
	case 15:
		return stream.UpdatePrompt{Prompt: "Is there a cat?", Query: english.Compile("Is there a cat?")}
	case 16, 17:
		return stream.RecordPart{Node: node, Part: part(rapid.IntRange(1, 3).Draw(t, "part"))}
	case 18:
		return stream.FailRecording{Node: node, Failure: broken}
	case 19:
		return stream.DeleteRecording{}
	default:
		reason := rapid.SampledFrom([]stream.EndReason{
			"", stream.Completed, stream.Canceled, stream.InsufficientCredits, stream.Failed, stream.Timeout, stream.ICEFailed, stream.MediaTimeout,
		}).Draw(t, "reason")
		c := stream.End{Node: rapid.SampledFrom([]string{"", node}).Draw(t, "by"), Reason: reason, ClockMillis: clock}
		c.Usage.BilledSeconds = s.Billable(c, at) + rapid.SampledFrom([]int64{0, 0, 1}).Draw(t, "too much")
		return c
	}
}
