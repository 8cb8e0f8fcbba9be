package queue

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// neighbors is the number of load periods, about videos of the most similar length, from
// which SamplingRate takes its value.
const neighbors = 8

// LoadPeriod is the time in which a node examined a whole video, or the first part of one.
type LoadPeriod struct {
	Node     string
	From, To time.Time
	// VideoS is the length of the examined part in seconds, and Frames the number of frames
	// examined in it.
	VideoS, Frames float64
}

// SamplingRate returns the number of frames examined per second of a video of the given
// length. The rate depends on the length because long videos are sampled more sparsely. It
// returns 1 when there is no usable load period; any other constant would do.
func SamplingRate(completed []LoadPeriod, videoS float64) float64 {
	distance := func(p LoadPeriod) float64 { return math.Abs(math.Log(p.VideoS / videoS)) }
	completed = slices.DeleteFunc(slices.Clone(completed), func(p LoadPeriod) bool { return p.VideoS <= 0 || p.Frames <= 0 })
	slices.SortStableFunc(completed, func(a, b LoadPeriod) int { return cmp.Compare(distance(a), distance(b)) })
	var frames, seconds float64
	for _, p := range completed[:min(neighbors, len(completed))] {
		frames, seconds = frames+p.Frames, seconds+p.VideoS
	}
	if seconds <= 0 {
		return 1
	}
	return frames / seconds
}

// busy is the time in which a node examined frames without a break.
type busy struct{ seconds, frames float64 }

// busyTimes merges the overlapping load periods of each node. Analyses on one node share
// its engine, so only the time in which at least one of them ran counts.
func busyTimes(periods []LoadPeriod) []busy {
	periods = slices.Clone(periods)
	slices.SortFunc(periods, func(a, b LoadPeriod) int { return cmp.Or(cmp.Compare(a.Node, b.Node), a.From.Compare(b.From)) })
	var all []busy
	var node string
	var until time.Time
	for _, p := range periods {
		if len(all) == 0 || p.Node != node || p.From.After(until) {
			all = append(all, busy{})
			node, until = p.Node, p.From
		}
		last := &all[len(all)-1]
		last.frames += p.Frames
		if p.To.After(until) {
			last.seconds, until = last.seconds+p.To.Sub(until).Seconds(), p.To
		}
	}
	return slices.DeleteFunc(all, func(b busy) bool { return b.seconds <= 0 })
}

// Speed returns the number of frames that a node examines per second while it is busy, or 0
// when there is no usable load period. It is the median over the busy times, weighted by frames, so
// that one slow start or outage does not change it.
func Speed(periods []LoadPeriod) float64 {
	all := busyTimes(periods)
	slices.SortFunc(all, func(a, b busy) int { return cmp.Compare(a.frames/a.seconds, b.frames/b.seconds) })
	total := 0.0
	for _, b := range all {
		total += b.frames
	}
	below := 0.0
	for _, b := range all {
		if below += b.frames; below > 0 && 2*below >= total {
			return b.frames / b.seconds
		}
	}
	return 0
}
