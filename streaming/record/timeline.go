package record

import (
	"time"

	"vqa/streaming/assemble"
)

const (
	// slack is the largest difference between two pictures of the time by RTP and the time by
	// arrival. It is longer than a connection can stall without the end of the stream (20 s).
	slack = 30 * assemble.ClockRate
	// reordered is the time by which a picture can be shown before the one that was sent before it.
	reordered = assemble.ClockRate
	// firstInterval is the guess for the first picture, and maxInterval bounds the later ones.
	firstInterval, maxInterval = assemble.ClockRate / 30, assemble.ClockRate
)

// timeline gives each picture its time in the recording, in ticks. The first picture is at 0.
type timeline struct {
	started bool
	// offset is the time in the recording minus the RTP time.
	offset int64
	// rtp and at are those of the last picture.
	rtp int64
	at  time.Time
	// high is the latest time in the recording, interval the time between the last two pictures.
	high, interval int64
	// parts is the end of the last part in milliseconds.
	parts int64
}

// place returns the time of the next picture.
func (l *timeline) place(p assemble.Picture) int64 {
	if !l.started {
		l.started, l.offset, l.interval = true, -p.Time, firstInterval
	} else {
		arrived, sent := ticks(p.At.Sub(l.at)), p.Time-l.rtp
		switch again := p.Key && p.Time+l.offset <= l.high; {
		case again, sent < -reordered, sent-arrived > slack, arrived-sent > slack:
			l.offset = l.high + max(1, arrived) - p.Time
		}
	}
	t := max(0, p.Time+l.offset)
	if t > l.high {
		l.interval, l.high = min(t-l.high, maxInterval), t
	}
	l.rtp, l.at = p.Time, p.At
	return t
}

// grow ends a part at a time and returns by how many milliseconds it makes the recording longer. The
// durations of all parts together have no rounding error.
func (l *timeline) grow(end int64) int64 {
	millis := max(l.parts, end*1000/assemble.ClockRate)
	d := millis - l.parts
	l.parts = millis
	return d
}

// end is the time at which the last picture ends if no other one follows.
func (l *timeline) end() int64 { return l.high + l.interval }

func ticks(d time.Duration) int64 { return d.Microseconds() * assemble.ClockRate / 1e6 }
