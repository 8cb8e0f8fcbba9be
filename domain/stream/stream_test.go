package stream_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
	"vqa/domain/query/english"
	"vqa/domain/stream"
)

var aggregate = scenario.Aggregate[stream.State, stream.Command, stream.Event]{
	Decide: stream.Decide, Evolve: stream.Evolve,
}

type (
	events = []stream.Event
	cases  = []scenario.Case[stream.Command, stream.Event]
)

const prompt = "Is there a dog?"

// The stream of these tests went live 10 seconds ago.
var (
	now      = scenario.Now
	began    = now.Add(-10 * time.Second)
	question = english.Compile(prompt)

	create = stream.Create{
		ID: "st_1", AccountID: "acct_1", Livemode: true, Prompt: new(prompt), Query: question, ParseMode: stream.ParseHeuristic,
		Model: "main-2", Recording: true, Metadata: map[string]string{"a": "b"}, HeldSeconds: 60, MaxSessionSeconds: 3600, WarnAtSeconds: 60,
	}
	created = stream.Created{
		StreamID: "st_1", AccountID: "acct_1", Livemode: true, Prompt: new(prompt), Query: question, ParseMode: stream.ParseHeuristic,
		Model: "main-2", Recording: true, Metadata: map[string]string{"a": "b"}, HeldSeconds: 60, MaxSessionSeconds: 3600, WarnAtSeconds: 60,
		At: began,
	}
	granted = stream.SlotGranted{StreamID: "st_1", Node: "node_1", At: began}
	offered = stream.Offered{StreamID: "st_1", Via: "signaling", At: began}
	live    = stream.WentLive{StreamID: "st_1", Codec: "H264", Path: "udp host", At: began}
	resumed = stream.Resumed{StreamID: "st_1", At: began}
	paused  = stream.Paused{StreamID: "st_1", ClockMillis: 3000, At: began}
	ended   = stream.Ended{StreamID: "st_1", Reason: stream.Canceled, Recording: stream.RecordingNone, At: began}

	// given are the events that lead to each state of the table.
	given = map[string]events{
		"(none)":  nil,
		"queued":  {created},
		"ready":   {created, granted},
		"offered": {created, granted, offered},
		"silent":  {created, granted, offered, live},
		"running": {created, granted, offered, live, resumed},
		"paused":  {created, granted, offered, live, resumed, paused},
		"ended":   {created, ended},
	}
	states = []string{"(none)", "queued", "ready", "offered", "silent", "running", "paused", "ended"}
)

func stateOf(s stream.State) string {
	switch {
	case !s.Exists():
		return "(none)"
	case s.Status == stream.Ready && s.OfferedAt != nil:
		return "offered"
	case s.Status == stream.Live && s.FirstFrameAt == nil:
		return "silent"
	case s.Status == stream.Live && s.Running:
		return "running"
	case s.Status == stream.Live:
		return "paused"
	}
	return string(s.Status)
}

func part(number int) stream.Part {
	return stream.Part{Number: number, Key: "recordings/st_1/1.h264", SizeBytes: 1000, Frames: 30, DurationMillis: 1001}
}

// broken is why a recording failed.
var broken = stream.RecordingFailure{Code: "upstream_error", Message: "The disk is full."}

func TestStateTable(t *testing.T) {
	t.Parallel()
	commands := map[string]stream.Command{
		"Create": create, "Offer": stream.Offer{Node: "node_1", Via: "signaling"}, "GoLive": stream.GoLive{Node: "node_1"},
		"Resume": stream.Resume{Node: "node_1"}, "Pause": stream.Pause{Node: "node_1", ClockMillis: 4000},
		"Meter":         stream.Meter{Node: "node_1", ClockMillis: 5000, ResultFrames: 1},
		"UpdatePrompt":  stream.UpdatePrompt{Prompt: "Is there a cat?", Query: english.Compile("Is there a cat?")},
		"FailRecording": stream.FailRecording{Node: "node_1", Failure: broken}, "DeleteRecording": stream.DeleteRecording{},
		"RecordPart": stream.RecordPart{Node: "node_1", Part: part(1)}, "End": stream.End{}, "GrantSlot": stream.GrantSlot{Node: "node_2"},
	}
	names := []string{"Create", "GrantSlot", "Offer", "GoLive", "Resume", "Pause", "Meter", "UpdatePrompt", "RecordPart", "FailRecording", "DeleteRecording", "End"}
	scenario.ReadTable(t, "state").Check(t, states, names, func(t *testing.T, state, command string) (string, string) {
		return step(t, state, commands[command])
	})
}

func TestEndReasons(t *testing.T) {
	t.Parallel()
	reasons := []string{"completed", "canceled", "insufficient_credits", "error", "timeout", "ice_failed", "media_timeout", "boredom"}
	scenario.ReadTable(t, "end").Check(t, states[1:], reasons, func(t *testing.T, state, reason string) (string, string) {
		return step(t, state, stream.End{Reason: stream.EndReason(reason)})
	})
}

func step(t *testing.T, state string, c stream.Command) (next, outcome string) {
	s := aggregate.Fold(given[state]...)
	require.Equal(t, state, stateOf(s))
	decided, err := stream.Decide(s, c, now)
	return stateOf(aggregate.Step(t, s, decided...)), scenario.Outcome(decided, err)
}

func TestDecide(t *testing.T) {
	t.Parallel()
	createdNow := created
	createdNow.At = now
	available, unrecorded := ended, created
	available.Recording, unrecorded.Recording = stream.RecordingAvailable, false
	metered := func(clock, held, results int64) events {
		return events{stream.Metered{StreamID: "st_1", ClockMillis: clock, HeldSeconds: held, ResultFrames: results, At: now}}
	}
	meter := func(clock, held, results int64) stream.Meter {
		return stream.Meter{Node: "node_1", ClockMillis: clock, HeldSeconds: held, ResultFrames: results}
	}
	running, paused := given["running"], given["paused"]
	aggregate.Run(t, cases{
		{Name: "created", When: create, Then: events{createdNow}},
		{Name: "the slot again", Given: given["ready"], When: stream.GrantSlot{Node: "node_1"}},
		{
			Name: "went live", Given: given["offered"], When: stream.GoLive{Node: "node_1", Codec: "VP8", Path: "udp relay"},
			Then: events{stream.WentLive{StreamID: "st_1", Codec: "VP8", Path: "udp relay", At: now}},
		},
		{Name: "the same prompt", Given: running, When: stream.UpdatePrompt{Prompt: prompt}},
		{Name: "the clock goes on after a pause", Given: paused, When: stream.Resume{Node: "node_1"}, Then: events{
			stream.Resumed{StreamID: "st_1", ClockMillis: 3000, At: now},
		}},
		{Name: "a heartbeat", Given: running, When: meter(5000, 120, 7), Then: metered(5000, 120, 7)},
		{Name: "a clock ahead of time", Given: running, When: meter(60_000, 60, 0), Then: metered(10_000, 60, 0)},
		{Name: "a clock that falls", Given: append(slices.Clip(running), metered(5000, 60, 7)...), When: meter(4000, 0, 0)},
		{Name: "a slice while paused", Given: paused, When: meter(9000, 120, 0), Then: metered(3000, 120, 0)},
		{Name: "a paused clock stands", Given: paused, When: meter(9000, 60, 0)},
		{Name: "a pause before the last heartbeat", Given: append(slices.Clip(running), metered(5000, 60, 0)...), When: stream.Pause{Node: "node_1", ClockMillis: 4000}, Then: events{
			stream.Paused{StreamID: "st_1", ClockMillis: 5000, At: now},
		}},
		{Name: "a part twice", Given: append(slices.Clip(running), stream.PartRecorded{StreamID: "st_1", Part: part(1)}), When: stream.RecordPart{Node: "node_1", Part: part(1)}},
		{Name: "a part of a failed recording", Given: append(slices.Clip(running), stream.RecordingBroke{StreamID: "st_1", Failure: broken}), When: stream.RecordPart{Node: "node_1", Part: part(1)}},
		{Name: "a failure twice", Given: append(slices.Clip(running), stream.RecordingBroke{StreamID: "st_1", Failure: broken}), When: stream.FailRecording{Node: "node_1", Failure: broken}},
		{Name: "a failure of another node", Given: running, When: stream.FailRecording{Node: "node_2", Failure: broken}, Refused: fault.ResourceConflict},
		{Name: "a failed recording stays failed", Given: append(slices.Clip(running), stream.RecordingBroke{StreamID: "st_1", Failure: broken}), When: stream.End{Node: "node_1"}, Then: events{
			stream.Ended{StreamID: "st_1", Reason: stream.Completed, Recording: stream.RecordingFailed, At: now},
		}},
		{Name: "a recording is deleted", Given: events{created, available}, When: stream.DeleteRecording{}, Then: events{
			stream.RecordingDeleted{StreamID: "st_1", At: now},
		}},
		{Name: "a recording is deleted once", Given: events{created, available, stream.RecordingDeleted{StreamID: "st_1", At: now}}, When: stream.DeleteRecording{}},
		{Name: "no recording to delete", Given: events{unrecorded, ended}, When: stream.DeleteRecording{}, Refused: fault.ResourceNotFound},
		{Name: "a part too early", Given: running, When: stream.RecordPart{Node: "node_1", Part: part(2)}, Refused: fault.ResourceConflict},
	})
	for name, c := range map[string]stream.Command{
		"Offer": stream.Offer{Node: "node_2"}, "Resume": stream.Resume{Node: "node_2"}, "Pause": stream.Pause{Node: "node_2"},
		"Meter": stream.Meter{Node: "node_2", ClockMillis: 5000}, "RecordPart": stream.RecordPart{Node: "node_2", Part: part(1)},
		"End": stream.End{Node: "node_2"}, "GoLive": stream.GoLive{Node: "node_2"},
	} {
		state := running
		if name == "GoLive" {
			state = given["offered"]
		}
		aggregate.Run(t, cases{{Name: name + " by another node", Given: state, When: c, Refused: fault.ResourceConflict}})
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	running := given["running"]
	beat := stream.Metered{StreamID: "st_1", ClockMillis: 5000, HeldSeconds: 60, ResultFrames: 7, At: now.Add(-5 * time.Second)}
	recorded := stream.PartRecorded{StreamID: "st_1", Part: part(1)}
	many := make([]stream.Result, 12)
	for i := range many {
		many[i] = stream.Result{AtS: float64(i), Answer: answer.Yes, Detections: make([]stream.Detection, 120)}
	}
	kept := slices.Clone(many[2:])
	for i := range kept {
		kept[i].Detections = kept[i].Detections[:100]
	}
	paid := stream.Usage{BilledSeconds: 7, BalanceAfter: new(int64(93))}
	aggregate.Run(t, cases{
		{
			Name:  "the owner ends it",
			Given: append(slices.Clip(running), beat, recorded),
			When: stream.End{
				Node: "node_1", ClockMillis: 6001, Usage: paid, Summary: stream.Summary{ResultFrames: 9, LastDetections: many},
			},
			Then: events{stream.Ended{
				StreamID: "st_1", Reason: stream.Completed, ClockMillis: 6001, Usage: paid,
				Summary: stream.Summary{ResultFrames: 9, LastDetections: kept}, Recording: stream.RecordingAvailable, At: now,
			}},
		},
		{
			Name: "its node is dead", Given: append(slices.Clip(running), beat, recorded),
			When: stream.End{Reason: stream.Failed, Detail: "Its node stopped.", ClockMillis: 9000, Usage: stream.Usage{BilledSeconds: 5}},
			Then: events{stream.Ended{
				StreamID: "st_1", Reason: stream.Failed, Detail: "Its node stopped.", ClockMillis: 5000, Usage: stream.Usage{BilledSeconds: 5},
				Summary: stream.Summary{ResultFrames: 7}, Recording: stream.RecordingAvailable, At: now,
			}},
		},
		{Name: "a bill beyond the heartbeat", Given: append(slices.Clip(running), beat), When: stream.End{Usage: stream.Usage{BilledSeconds: 6}}, Refused: fault.ResourceConflict},
		{Name: "a bill before live", Given: given["ready"], When: stream.End{Usage: stream.Usage{BilledSeconds: 1}}, Refused: fault.ResourceConflict},
		{Name: "a negative bill", Given: running, When: stream.End{Usage: stream.Usage{BilledSeconds: -1}}, Refused: fault.ResourceConflict},
		{Name: "no media after a result", Given: append(slices.Clip(running), beat), When: stream.End{Reason: stream.MediaTimeout}, Refused: fault.ResourceConflict},
		{
			Name: "the capture broke", Given: append(slices.Clip(given["paused"]), recorded), When: stream.End{Node: "node_1", RecordingFailed: true},
			Then: events{stream.Ended{StreamID: "st_1", Reason: stream.Completed, ClockMillis: 3000, Recording: stream.RecordingFailed, At: now}},
		},
		{
			Name: "ICE failed", Given: given["offered"],
			When: stream.End{Node: "node_1", Reason: stream.ICEFailed, Diagnostic: &stream.Diagnostic{LocalCandidates: []string{"192.0.2.1:3478"}, Hint: "UDP is blocked."}},
			Then: events{stream.Ended{
				StreamID: "st_1", Reason: stream.ICEFailed, Recording: stream.RecordingNone, At: now,
				Diagnostic: &stream.Diagnostic{LocalCandidates: []string{"192.0.2.1:3478"}, Hint: "UDP is blocked."},
			}},
		},
	})
}

// TestTestModeCostsNothing: a stream of a test key has a clock and no bill.
func TestTestModeCostsNothing(t *testing.T) {
	t.Parallel()
	test := created
	test.Livemode, test.Recording, test.HeldSeconds = false, false, 0
	running := events{test, granted, offered, live, resumed}
	s := aggregate.Fold(running...)
	require.Zero(t, s.Billable(stream.End{Node: "node_1", ClockMillis: 5000}, now))
	aggregate.Run(t, cases{
		{Name: "free", Given: running, When: stream.End{Node: "node_1", ClockMillis: 5000}, Then: events{
			stream.Ended{StreamID: "st_1", Reason: stream.Completed, ClockMillis: 5000, At: now},
		}},
		{Name: "no bill", Given: running, When: stream.End{Node: "node_1", ClockMillis: 5000, Usage: stream.Usage{BilledSeconds: 1}}, Refused: fault.ResourceConflict},
		{Name: "credits do not run out", Given: running, When: stream.End{Reason: stream.InsufficientCredits}, Refused: fault.ResourceConflict},
		{Name: "no recording", Given: running, When: stream.RecordPart{Node: "node_1", Part: part(1)}},
	})
}

func TestBillable(t *testing.T) {
	t.Parallel()
	s := aggregate.Fold(given["running"]...)
	owner := func(clock int64) stream.End { return stream.End{Node: "node_1", ClockMillis: clock} }
	for clock, want := range map[int64]int64{0: 0, 1: 1, 999: 1, 1000: 1, 1001: 2, 10_000: 10, 99_000: 10} {
		require.Equal(t, want, s.Billable(owner(clock), now), "%d ms", clock)
	}
	require.Zero(t, s.Billable(stream.End{ClockMillis: 5000}, now), "without the owner up to the last record of the clock")
	require.Zero(t, s.Billable(stream.End{Node: "node_1", Reason: stream.MediaTimeout, ClockMillis: 5000}, now))
	require.Equal(t, int64(3600), s.Billable(owner(1<<40), now.Add(2*time.Hour)), "at most the longest session")
	require.Zero(t, aggregate.Fold(given["offered"]...).Billable(owner(5000), now))
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	windows := stream.Windows{Join: time.Minute, ICE: 30 * time.Second, FirstFrame: 15 * time.Second}
	type deadline struct {
		after  time.Duration
		reason stream.EndReason
		ok     bool
	}
	beat := stream.Metered{StreamID: "st_1", ClockMillis: 8000, HeldSeconds: 120, At: began.Add(10 * time.Second)}
	long := stream.Metered{StreamID: "st_1", ClockMillis: 8000, HeldSeconds: 4000, At: began.Add(10 * time.Second)}
	again := stream.Offered{StreamID: "st_1", At: began.Add(20 * time.Second)}
	for name, tt := range map[string]struct {
		given events
		want  deadline
	}{
		"queued":                    {given["queued"], deadline{}},
		"nobody joins":              {given["ready"], deadline{time.Minute, stream.Canceled, true}},
		"ICE never connects":        {given["offered"], deadline{30 * time.Second, stream.ICEFailed, true}},
		"another node starts again": {append(slices.Clip(given["offered"]), granted), deadline{time.Minute, stream.Canceled, true}},
		"no media":                  {given["silent"], deadline{15 * time.Second, stream.MediaTimeout, true}},
		"the first slice is used":   {given["running"], deadline{time.Minute, stream.InsufficientCredits, true}},
		"a restart of ICE":          {append(slices.Clip(given["running"]), again), deadline{time.Minute, stream.InsufficientCredits, true}},
		"a later slice is used":     {append(slices.Clip(given["running"]), beat), deadline{122 * time.Second, stream.InsufficientCredits, true}},
		"the longest session":       {append(slices.Clip(given["running"]), long), deadline{time.Hour, stream.Timeout, true}},
		"paused":                    {given["paused"], deadline{time.Hour, stream.Timeout, true}},
		"ended":                     {given["ended"], deadline{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, reason, ok := aggregate.Fold(tt.given...).Deadline(windows)
			got := deadline{reason: reason, ok: ok}
			if ok {
				got.after = at.Sub(began)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestUnknownCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = stream.Decide(aggregate.Fold(created), nil, now) })
	require.Panics(t, func() { stream.Evolve(stream.State{}, nil) })
}
