package artifact

import (
	"fmt"
	"image"
)

// panel is the area below the frame: the question and its answer, a timeline with the clips,
// and the time.
type panel struct {
	style
	// still is the part that is the same for every frame.
	still canvas
	bar   image.Rectangle
	// clockAt is the place of the time.
	clockAt   image.Point
	durationS float64
}

// newPanel lays out the panel for a width in pixels.
func newPanel(in Input, s style, width int, intervals []interval) panel {
	verdict, of := in.verdict()
	badge := s.chipSize(verdict)
	beside := width - 3*s.pad - badge.X
	stacked := beside < 14*s.pad // a narrow video: the question goes below the answer
	if stacked {
		beside = width - 2*s.pad
	}
	question := s.bold.wrap(in.Question, beside)
	text := image.Pt(2*s.pad+badge.X, s.pad+s.pad/6)
	if stacked {
		text = image.Pt(s.pad, s.pad+badge.Y+s.pad/2)
	}
	bottom := max(s.pad+badge.Y, text.Y+len(question)*s.bold.height)
	p := panel{style: s, durationS: in.Evidence.DurationS}
	p.bar = image.Rect(s.pad, bottom+s.pad, width-s.pad, bottom+s.pad+s.pad/2).Canon()
	p.clockAt = image.Pt(s.pad, p.bar.Max.Y+s.pad/2)
	p.still = newCanvas(width, (p.clockAt.Y+s.regular.height+s.pad/2+1)&^1)
	p.still.fill(p.still.bounds(), background, opaque)
	s.chip(p.still, verdict, image.Pt(s.pad, s.pad), of, dark)
	for i, line := range question {
		s.bold.write(p.still, line, text.Add(image.Pt(0, i*s.bold.height)), bright)
	}
	p.timeline(in, of, intervals)
	return p
}

// timeline draws the length of the video with its clips.
func (p panel) timeline(in Input, of ink, intervals []interval) {
	radius := float64(p.bar.Dy()) / 2
	p.still.stamp(roundRect(p.bar.Dx(), p.bar.Dy(), radius), p.bar.Min, rail)
	for _, clip := range in.Result.Shown() {
		from := p.x(clip.StartS)
		width := max(p.x(clip.EndS)-from, p.bar.Dy())
		p.still.stamp(roundRect(width, p.bar.Dy(), radius), image.Pt(min(from, p.bar.Max.X-width), p.bar.Min.Y), of)
	}
	note := ""
	switch n := len(in.Result.Shown()); {
	case n == 1:
		note = "1 clip"
	case n > 1:
		note = fmt.Sprintf("%d clips", n)
	}
	if len(intervals) != 1 || intervals[0] != (interval{0, in.Evidence.DurationS}) {
		note = "excerpts · " + note
	}
	p.regular.write(p.still, note, image.Pt(p.bar.Max.X-p.regular.width(note), p.clockAt.Y), dim)
}

// x is the place of a time on the timeline.
func (p panel) x(s float64) int {
	if !(p.durationS > 0) {
		return p.bar.Min.X
	}
	return p.bar.Min.X + int(min(max(s/p.durationS, 0), 1)*float64(p.bar.Dx()))
}

// draw draws the panel for a time.
func (p panel) draw(c canvas, s float64) {
	c.copyFrom(p.still)
	width := p.bar.Dy() / 2 &^ 1
	head := image.Rect(p.x(s)-width/2, p.bar.Min.Y-width, p.x(s)+width/2, p.bar.Max.Y+width)
	c.fill(head.Inset(-1), dark, opaque)
	c.fill(head, bright, opaque)
	now := clock(s)
	p.bold.write(c, now, p.clockAt, bright)
	p.regular.write(c, " / "+clock(p.durationS), p.clockAt.Add(image.Pt(p.bold.width(now), 0)), dim)
}
