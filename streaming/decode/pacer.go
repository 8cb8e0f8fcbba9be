package decode

import (
	"time"

	"vqa/streaming/assemble"
)

const (
	// maxLeap is the largest step of the time in ticks that is taken from the sender. A larger one is replaced by the
	// time since the arrival of the picture before.
	maxLeap = 30 * assemble.ClockRate
	// reordered is the time in ticks by which a picture can be shown before the one that was sent before it.
	reordered = assemble.ClockRate
	// maxCredit bounds the arrival time that is saved for pictures that come late, all at once.
	maxCredit = time.Second
)

// pacer gives each picture a time for ffmpeg, and chooses the ones that become samples. It is for one goroutine.
//
// The first picture of each 1/FPS s of the sender's time is chosen, so that jitter on the way does not matter. But a
// sender can write any time into its packets. So each sample costs 1/FPS s of arrival time, which is billed, and
// after 2/FPS s the next picture is chosen at any time.
type pacer struct {
	fps    int64
	every  time.Duration // 1/FPS s
	maxGap time.Duration

	started bool
	rtp     int64     // the time of the latest picture by the sender
	at      time.Time // the latest arrival
	offset  int64     // our time minus the time of the sender
	high    int64     // our latest time

	slot      int64 // of the latest sample
	sampledAt time.Time
	credit    time.Duration
}

func newPacer(o Options) pacer {
	return pacer{fps: int64(o.FPS), every: time.Second / time.Duration(o.FPS), maxGap: o.MaxGap, slot: -1}
}

// place returns the time of the next picture in ticks. It follows the time of the sender, also where pictures are
// reordered. A track or an encoder that begins again has other times: they continue after the ones before.
func (p *pacer) place(f assemble.Picture) int64 {
	first := p.every + p.every/2 // half an interval is for jitter
	if !p.started {
		p.started, p.offset, p.credit = true, -f.Time, first
	} else {
		arrived := max(0, f.At.Sub(p.at))
		switch {
		case arrived > p.maxGap: // it is not billed
			p.credit = max(p.credit, first)
		default:
			p.credit = min(p.credit+arrived, maxCredit)
		}
		t, leap := f.Time+p.offset, f.Time-p.rtp
		if f.Key && t <= p.high || t < p.high-reordered || leap == 0 || leap > maxLeap {
			p.offset = p.high + max(1, min(ticks(arrived), maxLeap)) - f.Time
		}
	}
	p.rtp = f.Time
	if f.At.After(p.at) {
		p.at = f.At
	}
	t := max(0, f.Time+p.offset)
	p.high = max(p.high, t)
	return t
}

// choose reports whether the latest picture, at a time of place, becomes a sample.
func (p *pacer) choose(f assemble.Picture, t int64) bool {
	slot := t * p.fps / assemble.ClockRate
	due := slot > p.slot || f.At.Sub(p.sampledAt) >= 2*p.every
	if !due || p.credit < p.every {
		return false
	}
	p.slot, p.sampledAt = max(p.slot, slot), f.At
	p.credit -= p.every
	return true
}

func ticks(d time.Duration) int64 { return d.Microseconds() * assemble.ClockRate / 1e6 }
