package main_test

import (
	"fmt"
	"math"
	"strings"

	"vqa/handlers/intake/demo/paint"
)

// Size of the drawn scenes in pixels, and their frame rate.
const (
	Width  = 640
	Height = 360
	FPS    = 12
)

// Thing is one thing in a scene.
type Thing struct {
	// Class is its name in questions.
	Class string
	color string
	// drives is true when the thing moves in the scene, even if it stays at one place of the frame.
	drives bool
	// width and height of the thing in pixels. Its place is its center.
	width, height float64
	// from and to are the interval in which it is visible, in seconds.
	from, to float64
	place    func(atS float64) (x, y float64)
	paint    func(c paint.Canvas, x, y, atS float64)
}

// stays returns a fixed place.
func stays(x, y float64) func(float64) (float64, float64) {
	return func(float64) (float64, float64) { return x, y }
}

// passes returns a place that moves from x1 to x2 while the thing is visible.
func passes(x1, x2, y, from, to float64) func(float64) (float64, float64) {
	return func(atS float64) (float64, float64) { return x1 + (x2-x1)*(atS-from)/(to-from), y }
}

// Scene is a scene with its questions.
type Scene struct {
	Name    string
	Seconds int
	ground  func() paint.Canvas
	// scenery is painted over the ground. Its movement shows that the camera moves.
	scenery func(c paint.Canvas, atS float64)
	Things  []Thing
	Asks    []Question
	// mistaken is true when the detector takes a part of a drawn thing for something else, as the front of the bus
	// for an airplane. The narrative is not compared then.
	mistaken bool
}

// Painter returns the function that draws the frame of a time.
func (d Scene) Painter() func(atS float64) paint.Canvas {
	ground := d.ground()
	return func(atS float64) paint.Canvas {
		c := ground.Over()
		if d.scenery != nil {
			d.scenery(c, atS)
		}
		for _, t := range d.Things {
			if t.from <= atS && atS < t.to {
				x, y := t.place(atS)
				t.paint(c, x, y, atS)
			}
		}
		return c
	}
}

// seen is a thing in one frame.
type seen struct {
	Thing
	// x and y are the center of the visible part, as shares of the frame's width and height. part is
	// the share of the thing that is visible.
	x, y, part float64
}

// view returns the things that are visible at a time.
func (d Scene) view(atS float64) []seen {
	var all []seen
	for _, t := range d.Things {
		if atS < t.from || atS >= t.to {
			continue
		}
		x, y := t.place(atS)
		left, right := max(x-t.width/2, 0), min(x+t.width/2, Width)
		top, bottom := max(y-t.height/2, 0), min(y+t.height/2, Height)
		if left < right && top < bottom {
			part := (right - left) * (bottom - top) / (t.width * t.height)
			all = append(all, seen{t, (left + right) / 2 / Width, (top + bottom) / 2 / Height, part})
		}
	}
	return all
}

// holds reports whether a condition is true in a frame. Some frames are ambiguous: a thing is entering
// the frame, or is at a border such as "left". With sure, the condition must be certainly true;
// without it, the condition may be true.
type holds func(view []seen, sure bool) bool

// trait is a condition on one thing.
type trait func(t seen, sure bool) bool

// number counts the things of a class that have all traits.
func number(view []seen, sure bool, class string, traits ...trait) int {
	n := 0
	for _, t := range view {
		least := .02
		if sure {
			least = .9
		}
		fits := t.Class == class && t.part >= least
		for _, is := range traits {
			fits = fits && is(t, sure)
		}
		if fits {
			n++
		}
	}
	return n
}

// some is true when at least one thing of a class has all traits.
func some(class string, traits ...trait) holds {
	return func(view []seen, sure bool) bool { return number(view, sure, class, traits...) > 0 }
}

func both(a, b holds) holds {
	return func(view []seen, sure bool) bool { return a(view, sure) && b(view, sure) }
}

func either(a, b holds) holds {
	return func(view []seen, sure bool) bool { return a(view, sure) || b(view, sure) }
}

func moving(t seen, _ bool) bool { return t.drives }

func ofColor(color string) trait { return func(t seen, _ bool) bool { return t.color == color } }

// aside is the share of the frame in which a center is on a side: left, right, top or bottom
// (docs/contract.md#answer-location).
const aside = .40

// onSide is true when the center of the thing is on the near side of an axis (left, top), or on the far
// side (right, bottom).
func onSide(axis func(seen) float64, far bool) trait {
	return func(t seen, sure bool) bool {
		margin := .03
		if sure {
			margin = -margin
		}
		fromSide := axis(t)
		if far {
			fromSide = 1 - fromSide
		}
		return fromSide < aside+margin
	}
}

func across(t seen) float64 { return t.x }

func down(t seen) float64 { return t.y }

// Question is a question with its truth.
type Question struct {
	Prompt string
	// So is the condition of a yes; nil when the question asks for a number.
	So holds
	// Never is true when the question asks whether the condition is never true.
	Never bool
	// Clipless is true for a form without clips (docs/contract.md#result-6).
	Clipless bool
	// Counted is the counted class; Enough reports which numbers make the answer yes.
	Counted string
	Enough  func(n int) bool
	// From and To are the interval of the question; To is 0 for the whole video.
	From, To float64
	// Unknown is the expected indeterminate_reason.
	Unknown string
}

// The forms of questions. Each function makes the prompt and its truth from the same arguments.

func a(class string) string {
	if strings.ContainsRune("aeiou", rune(class[0])) {
		return "an " + class
	}
	return "a " + class
}

func plural(class string) string {
	if strings.HasSuffix(class, "s") {
		return class + "es"
	}
	return class + "s"
}

func isThere(class string) Question {
	return Question{Prompt: fmt.Sprintf("Is there %s?", a(class)), So: some(class)}
}

func isThereNo(class string) Question {
	return Question{Prompt: fmt.Sprintf("Is there no %s?", class), So: some(class), Never: true}
}

func howMany(class string) Question {
	return Question{Prompt: fmt.Sprintf("How many %s are there?", plural(class)), Counted: class, Enough: func(n int) bool { return n > 0 }}
}

func areThereAtLeast(n int, class string) Question {
	return Question{Prompt: fmt.Sprintf("Are there at least %d %s?", n, plural(class)), Counted: class, Enough: func(k int) bool { return k >= n }}
}

func areThereMoreThan(n int, class string) Question {
	return Question{Prompt: fmt.Sprintf("Are there more than %d %s?", n, plural(class)), Counted: class, Enough: func(k int) bool { return k > n }}
}

func areThereExactly(n int, class string) Question {
	return Question{Prompt: fmt.Sprintf("Are there exactly %d %s?", n, plural(class)), Counted: class, Enough: func(k int) bool { return k == n }}
}

func isThereAnd(one, other string) Question {
	return Question{Prompt: fmt.Sprintf("Is there %s and %s?", a(one), a(other)), So: both(some(one), some(other))}
}

func isThereOr(one, other string) Question {
	return Question{Prompt: fmt.Sprintf("Is there %s or %s?", a(one), a(other)), So: either(some(one), some(other))}
}

func isThereOn(side, class string) Question {
	return Question{Prompt: fmt.Sprintf("Is there %s on the %s?", a(class), side), So: some(class, onSide(across, side == "right")), Clipless: true}
}

func isThereAtThe(height, class string) Question {
	return Question{Prompt: fmt.Sprintf("Is there %s at the %s?", a(class), height), So: some(class, onSide(down, height == "bottom")), Clipless: true}
}

func isThereOf(color, class string) Question {
	return Question{Prompt: fmt.Sprintf("Is there %s %s?", a(color), class), So: some(class, ofColor(color)), Clipless: true}
}

func isMoving(class string) Question {
	return Question{Prompt: fmt.Sprintf("Is the %s moving?", class), So: some(class, moving)}
}

func whenIsThere(class string) Question { return when(isThere(class)) }

// when turns a question into one for the time at which its condition is true.
func when(q Question) Question {
	q.Prompt, q.Clipless = "When "+strings.Replace(q.Prompt, "Is", "is", 1), false
	return q
}

func isThereBetween(class string, from, to float64) Question {
	return Question{Prompt: fmt.Sprintf("Is there %s between 0:%02.0f and 0:%02.0f?", a(class), from, to), So: some(class), From: from, To: to}
}

func isThereInTheFirst(seconds float64, class string) Question {
	return Question{Prompt: fmt.Sprintf("Is there %s in the first %.0f seconds?", a(class), seconds), So: some(class), To: seconds}
}

// Interval is an interval of a video in seconds.
type Interval struct{ From, To float64 }

// Intervals returns the intervals in which the condition is true, within the interval of the question.
func (d Scene) Intervals(q Question, sure bool) []Interval {
	var all []Interval
	for k := range d.Seconds * FPS {
		from := float64(k) / FPS
		if from < q.From || q.To > 0 && from >= q.To || !q.So(d.view(from), sure) {
			continue
		}
		to := float64(k+1) / FPS
		if n := len(all); n > 0 && math.Abs(all[n-1].To-from) < 1e-9 {
			all[n-1].To = to
		} else {
			all = append(all, Interval{from, to})
		}
	}
	return all
}

// Most is the largest number of things of a class in one frame.
func (d Scene) Most(class string, sure bool) int {
	most := 0
	for k := range d.Seconds * FPS {
		most = max(most, number(d.view(float64(k)/FPS), sure, class))
	}
	return most
}

// OnView is the interval in which a thing is visible.
func (d Scene) OnView(t Thing, sure bool) Interval {
	visible := Scene{Seconds: d.Seconds, Things: []Thing{t}}.Intervals(Question{So: some(t.Class)}, sure)
	return Interval{visible[0].From, visible[len(visible)-1].To}
}
