package narrative

import (
	"cmp"
	"math"
	"slices"

	"vqa/domain/answer"
	"vqa/domain/evidence"
)

const (
	// MaxEntries bounds a narrative. Of more entries, those about the objects that stay longest
	// are kept.
	MaxEntries = 200
	// MaxLen bounds the text of an entry, in bytes.
	MaxLen = 200
)

// Entry is one sentence.
type Entry struct {
	// AtS is the time in seconds from the start of the video.
	AtS float64 `json:"t_s"`
	// Text is an English sentence.
	Text string `json:"text"`
}

// The order of sentences about one instant.
const (
	rankOpening = iota
	rankCut
	rankLeaving
	rankAppearing
	rankPosture
	rankMoving
)

// event is a sentence that may become an entry.
type event struct {
	Entry
	rank int
	// weight is the time in seconds during which the object was seen.
	weight float64
}

// Write describes the evidence. It writes a single entry that says so when there are no frames,
// or when no object is certain enough for the calibration.
func Write(ev evidence.Evidence, cal answer.Calibration) []Entry {
	s := observe(ev, cal)
	if len(s.Times) == 0 {
		return []Entry{{Text: "No frame of the video was examined."}}
	}
	events := []event{s.opening()}
	events = append(events, s.sceneChanges()...)
	coming, going := s.changes()
	events = append(events, s.appearances(coming)...)
	events = append(events, s.departures(going)...)
	events = append(events, s.movements()...)
	events = append(events, s.postures()...)
	return s.entries(events)
}

// entries are the events with the most weight, in the order of time.
func (s scene) entries(events []event) []Entry {
	if len(events) > MaxEntries {
		slices.SortStableFunc(events[1:], func(a, b event) int { return cmp.Compare(b.weight, a.weight) })
		events = events[:MaxEntries]
	}
	for i := range events {
		events[i].AtS = min(max(milli(events[i].AtS), 0), s.endS)
	}
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.AtS, b.AtS), cmp.Compare(a.rank, b.rank), cmp.Compare(a.Text, b.Text))
	})
	out := make([]Entry, len(events))
	for i, e := range events {
		out[i] = e.Entry
	}
	return out
}

// milli rounds seconds to milliseconds.
func milli(s float64) float64 { return math.Round(s*1e3) / 1e3 }
