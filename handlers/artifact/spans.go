package artifact

import "vqa/domain/answer"

const (
	// MaxOutputS is the longest annotated video, in seconds. A longer source is shown in
	// excerpts.
	MaxOutputS = 600
	// marginS is what is shown of an excerpt before and after its clip, in seconds.
	marginS = 2
	// leastS is the shortest part worth showing.
	leastS = 0.1
)

// span is a part of the source, in seconds.
type span struct{ startS, endS float64 }

// spansOf are the parts that are shown: all of a video of at most MaxOutputS, of a longer
// one what surrounds its clips, from the first on until MaxOutputS are full. A longer one
// without clips has nothing to show, and no spans.
func spansOf(durationS float64, clips []answer.Clip) []span {
	if durationS <= MaxOutputS {
		return []span{{0, durationS}}
	}
	var spans []span
	left := float64(MaxOutputS)
	for _, c := range clips {
		s := span{max(c.StartS-marginS, 0), min(c.EndS+marginS, durationS)}
		if n := len(spans); n > 0 && s.startS <= spans[n-1].endS {
			s.startS = spans[n-1].endS
		}
		if s.endS-s.startS < leastS {
			continue
		}
		s.endS = min(s.endS, s.startS+left)
		left -= s.endS - s.startS
		if n := len(spans); n > 0 && s.startS == spans[n-1].endS {
			spans[n-1].endS = s.endS
		} else {
			spans = append(spans, s)
		}
		if left < leastS {
			break
		}
	}
	return spans
}
