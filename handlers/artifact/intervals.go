package artifact

import "vqa/domain/answer"

const (
	// maxOutputS is the length of the longest annotated video, in seconds. A longer source is
	// shown in excerpts.
	maxOutputS = 600
	// marginS is the time that an excerpt shows before and after its clip, in seconds.
	marginS = 2
	// minIntervalS is the length of the shortest excerpt, in seconds.
	minIntervalS = 0.1
)

// interval is a part of the source, in seconds.
type interval struct{ startS, endS float64 }

// shownIntervals returns the parts of a video to show. A video of at most maxOutputS is shown
// completely. Of a longer one, the surroundings of its clips are shown, from the first clip
// until maxOutputS is full. A longer one without clips has no parts to show.
func shownIntervals(durationS float64, clips []answer.Clip) []interval {
	if durationS <= maxOutputS {
		return []interval{{0, durationS}}
	}
	var intervals []interval
	left := float64(maxOutputS)
	for _, c := range clips {
		s := interval{max(c.StartS-marginS, 0), min(c.EndS+marginS, durationS)}
		if n := len(intervals); n > 0 && s.startS <= intervals[n-1].endS {
			s.startS = intervals[n-1].endS
		}
		if s.endS-s.startS < minIntervalS {
			continue
		}
		s.endS = min(s.endS, s.startS+left)
		left -= s.endS - s.startS
		if n := len(intervals); n > 0 && s.startS == intervals[n-1].endS {
			intervals[n-1].endS = s.endS
		} else {
			intervals = append(intervals, s)
		}
		if left < minIntervalS {
			break
		}
	}
	return intervals
}
