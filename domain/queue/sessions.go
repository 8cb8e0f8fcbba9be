package queue

import (
	"math"
	"slices"
	"time"
)

// TestSlots is the number of the slots of a node that streams of test mode may have: a quarter, and one at least.
func TestSlots(slots int) int { return max(1, slots/4) }

// Sessions forecasts when a slot for a live stream is free.
type Sessions struct {
	// Slots of all living nodes. 0 means that the number is not known.
	Slots int
	// Running are the times that streams have had their slot.
	Running []time.Duration
	// Ended are the times that the latest ended streams had their slot.
	Ended []time.Duration
}

// In returns the seconds until the stream at a position of the queue, from 1, gets a slot, or nil when
// the number of slots or the length of earlier streams is not known. It assumes that each stream lasts as long as
// the median of the ended ones, and that one which has lasted longer ends now.
func (s Sessions) In(position int) *int {
	if s.Slots == 0 || len(s.Ended) == 0 {
		return nil
	}
	ended := slices.Sorted(slices.Values(s.Ended))
	typical := ended[len(ended)/2]
	free := make([]time.Duration, s.Slots)
	for i, ran := range s.Running {
		left := max(0, typical-ran)
		if i < s.Slots {
			free[i] = left
		} else {
			free = append(free, left)
		}
	}
	slices.Sort(free)
	for range position - 1 {
		next := free[0] + typical
		at, _ := slices.BinarySearch(free, next)
		free = slices.Insert(free, at, next)[1:]
	}
	return new(int(math.Ceil(free[0].Seconds())))
}
