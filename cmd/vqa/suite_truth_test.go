package main_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"vqa/handlers/intake/demo/paint"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

// The drawn scenes: pixels, and pictures a second.
const (
	suiteWidth, suiteHeight = 640, 360
	suiteFPS                = 12
)

// drawn is one thing of a scene.
type drawn struct {
	class  string // as questions name it
	colour string
	// drives: it moves in the scene, whether or not it does in the picture.
	drives bool
	// The thing is as wide and high, pixels, around its place.
	width, height float64
	// from and to are when it is on view, seconds.
	from, to float64
	place    func(atS float64) (x, y float64)
	paint    func(c paint.Canvas, x, y, atS float64)
}

// stays is a place, passes goes from one to another while the thing is on view.
func stays(x, y float64) func(float64) (float64, float64) {
	return func(float64) (float64, float64) { return x, y }
}

func passes(x1, x2, y, from, to float64) func(float64) (float64, float64) {
	return func(atS float64) (float64, float64) { return x1 + (x2-x1)*(atS-from)/(to-from), y }
}

// drawing is a scene and what is asked about it.
type drawing struct {
	name    string
	seconds int
	ground  func() paint.Canvas
	// scenery is painted over the ground: where nothing else tells how the camera moves.
	scenery func(c paint.Canvas, atS float64)
	things  []drawn
	asks    []asked
}

// encode writes the clip of the scene.
func (d drawing) encode(t *testing.T, path string) error {
	t.Helper()
	frame := d.painter()
	return ffmpegtest.Encode(t, path, ffmpegtest.Format{Width: suiteWidth, Height: suiteHeight, FPS: suiteFPS}, d.seconds*suiteFPS,
		func(atS float64) []byte { return frame(atS).Pix })
}

// painter returns the function that draws the frame of a time.
func (d drawing) painter() func(atS float64) paint.Canvas {
	ground := d.ground()
	return func(atS float64) paint.Canvas {
		c := ground.Over()
		if d.scenery != nil {
			d.scenery(c, atS)
		}
		for _, t := range d.things {
			if t.from <= atS && atS < t.to {
				x, y := t.place(atS)
				t.paint(c, x, y, atS)
			}
		}
		return c
	}
}

// seen is a thing in one picture.
type seen struct {
	drawn
	// x and y are the centre of what lies in the picture, of its sides; part is the share
	// of the thing that does.
	x, y, part float64
}

// view is what the picture of a time shows.
func (d drawing) view(atS float64) []seen {
	var all []seen
	for _, t := range d.things {
		if atS < t.from || atS >= t.to {
			continue
		}
		x, y := t.place(atS)
		left, right := max(x-t.width/2, 0), min(x+t.width/2, suiteWidth)
		top, bottom := max(y-t.height/2, 0), min(y+t.height/2, suiteHeight)
		if left < right && top < bottom {
			part := (right - left) * (bottom - top) / (t.width * t.height)
			all = append(all, seen{t, (left + right) / 2 / suiteWidth, (top + bottom) / 2 / suiteHeight, part})
		}
	}
	return all
}

// holds says whether something is so in a picture. Where things come into the picture,
// or cross a border that words draw, a picture may be read in two ways: sure asks
// whether it is so in any, otherwise whether it can be read so.
type holds func(view []seen, sure bool) bool

// trait is the same of one thing.
type trait func(t seen, sure bool) bool

// number counts the things of a class that have all traits.
func number(view []seen, sure bool, class string, traits ...trait) int {
	n := 0
	for _, t := range view {
		least := .02
		if sure {
			least = .9
		}
		fits := t.class == class && t.part >= least
		for _, is := range traits {
			fits = fits && is(t, sure)
		}
		if fits {
			n++
		}
	}
	return n
}

func atLeast(n int, class string, traits ...trait) holds {
	return func(view []seen, sure bool) bool { return number(view, sure, class, traits...) >= n }
}

func both(a, b holds) holds {
	return func(view []seen, sure bool) bool { return a(view, sure) && b(view, sure) }
}

func either(a, b holds) holds {
	return func(view []seen, sure bool) bool { return a(view, sure) || b(view, sure) }
}

func moving(t seen, _ bool) bool { return t.drives }

func ofColour(colour string) trait { return func(t seen, _ bool) bool { return t.colour == colour } }

// inThird is a third of the frame, 0 to 2 (open points, "Answers"), by the centre.
func inThird(axis func(seen) float64, third float64) trait {
	return func(t seen, sure bool) bool {
		margin := .03
		if sure {
			margin = -margin
		}
		centre := axis(t)
		return (third == 0 || centre > third/3-margin) && (third == 2 || centre < (third+1)/3+margin)
	}
}

func across(t seen) float64 { return t.x }

func down(t seen) float64 { return t.y }

// asked is a question and what makes a yes.
type asked struct {
	prompt string
	// so is what must be seen; nil where a number is asked for.
	so holds
	// never: the question is whether it is never so.
	never bool
	// clipless is a form that has no clips (api-v1.md, "Result rules" 6).
	clipless bool
	// counted is the class whose number is asked for, enough the numbers that are a yes.
	counted string
	enough  func(n int) bool
	// from and to are the part of the video that is asked about; to is 0 for all of it.
	from, to float64
	// unknown is why there is no answer.
	unknown string
}

// The forms of questions. Prompt and truth are made of the same words.

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

func isThere(class string) asked {
	return asked{prompt: fmt.Sprintf("Is there %s?", a(class)), so: atLeast(1, class)}
}

func isThereNo(class string) asked {
	return asked{prompt: fmt.Sprintf("Is there no %s?", class), so: atLeast(1, class), never: true}
}

func howMany(class string) asked {
	return asked{prompt: fmt.Sprintf("How many %s are there?", plural(class)), counted: class, enough: func(n int) bool { return n > 0 }}
}

func areThereAtLeast(n int, class string) asked {
	return asked{prompt: fmt.Sprintf("Are there at least %d %s?", n, plural(class)), counted: class, enough: func(k int) bool { return k >= n }}
}

func areThereMoreThan(n int, class string) asked {
	return asked{prompt: fmt.Sprintf("Are there more than %d %s?", n, plural(class)), counted: class, enough: func(k int) bool { return k > n }}
}

func areThereExactly(n int, class string) asked {
	return asked{prompt: fmt.Sprintf("Are there exactly %d %s?", n, plural(class)), counted: class, enough: func(k int) bool { return k == n }}
}

func isThereAnd(one, other string) asked {
	return asked{prompt: fmt.Sprintf("Is there %s and %s?", a(one), a(other)), so: both(atLeast(1, one), atLeast(1, other))}
}

func isThereOr(one, other string) asked {
	return asked{prompt: fmt.Sprintf("Is there %s or %s?", a(one), a(other)), so: either(atLeast(1, one), atLeast(1, other))}
}

func isThereOn(side, class string) asked {
	third := map[string]float64{"left": 0, "right": 2}
	return asked{prompt: fmt.Sprintf("Is there %s on the %s?", a(class), side), so: atLeast(1, class, inThird(across, third[side])), clipless: true}
}

func isThereAtThe(height, class string) asked {
	third := map[string]float64{"top": 0, "bottom": 2}
	return asked{prompt: fmt.Sprintf("Is there %s at the %s?", a(class), height), so: atLeast(1, class, inThird(down, third[height])), clipless: true}
}

func isThereOf(colour, class string) asked {
	return asked{prompt: fmt.Sprintf("Is there %s %s?", a(colour), class), so: atLeast(1, class, ofColour(colour)), clipless: true}
}

func isMoving(class string) asked {
	return asked{prompt: fmt.Sprintf("Is the %s moving?", class), so: atLeast(1, class, moving)}
}

func whenIsThere(class string) asked { return when(isThere(class)) }

// when asks for the time at which something is so.
func when(q asked) asked {
	q.prompt, q.clipless = "When "+strings.Replace(q.prompt, "Is", "is", 1), false
	return q
}

func isThereBetween(class string, from, to float64) asked {
	return asked{prompt: fmt.Sprintf("Is there %s between 0:%02.0f and 0:%02.0f?", a(class), from, to), so: atLeast(1, class), from: from, to: to}
}

func isThereInTheFirst(seconds float64, class string) asked {
	return asked{prompt: fmt.Sprintf("Is there %s in the first %.0f seconds?", a(class), seconds), so: atLeast(1, class), to: seconds}
}

// span is a part of a video in seconds.
type span struct{ from, to float64 }

// spans are when something is so, picture by picture, in the part that is asked about.
func (d drawing) spans(q asked, sure bool) []span {
	var all []span
	for k := range d.seconds * suiteFPS {
		from := float64(k) / suiteFPS
		if from < q.from || q.to > 0 && from >= q.to || !q.so(d.view(from), sure) {
			continue
		}
		to := float64(k+1) / suiteFPS
		if n := len(all); n > 0 && math.Abs(all[n-1].to-from) < 1e-9 {
			all[n-1].to = to
		} else {
			all = append(all, span{from, to})
		}
	}
	return all
}

// most is the largest number of things of a class in one picture.
func (d drawing) most(class string, sure bool) int {
	most := 0
	for k := range d.seconds * suiteFPS {
		most = max(most, number(d.view(float64(k)/suiteFPS), sure, class))
	}
	return most
}

// onView is when a thing lies in the picture.
func (d drawing) onView(t drawn, sure bool) span {
	visible := drawing{seconds: d.seconds, things: []drawn{t}}.spans(asked{so: atLeast(1, t.class)}, sure)
	return span{visible[0].from, visible[len(visible)-1].to}
}
