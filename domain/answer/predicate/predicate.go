package predicate

import (
	"math"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Who says which objects a predicate is about.
type Who string

// The closed list of these groups. Walkers are people and animals on four legs.
const (
	Anything Who = "anything"
	People   Who = "people"
	Walkers  Who = "people and animals on four legs"
)

// groundAnimals are the classes of animals that walk on the ground.
var groundAnimals = map[string]bool{
	"cat": true, "dog": true, "horse": true, "sheep": true, "cow": true, "elephant": true, "bear": true, "zebra": true, "giraffe": true,
}

// Fits reports whether all of some classes belong to the group.
func (w Who) Fits(classes []string) bool {
	for _, c := range classes {
		if w == People && c != "person" || w == Walkers && c != "person" && !groundAnimals[c] {
			return false
		}
	}
	return w == Anything || len(classes) > 0
}

// Needs are what a predicate needs beside boxes.
type Needs struct {
	// Pose is the body joints of people, Colors are the colors of the boxes.
	Pose, Colors bool
	// PerSecond is the number of frames a second; 0 for the samples alone.
	PerSecond int
	// Seconds is the time around an instant that tells whether it holds then; 0 for a single frame.
	Seconds float64
}

// Row is one predicate.
type Row struct {
	Kind query.Kind
	// Form is the normal form of the condition; UPPER CASE stands for a part.
	Form string
	// Phrases are further ways to say it; package english folds them into Form.
	Phrases []string
	// Example is a question with the predicate, for docs/questions.md.
	Example string
	Who     Who
	Needs   Needs
	// Moment is true for what happens at an instant, such as leaving. Other predicates are states that
	// last.
	Moment bool
	// Object is true when the form ends with a noun phrase for another thing.
	Object bool
	// Bind reads a condition of Kind. ok is false when it is not of this form.
	Bind func(c query.Condition) (t Test, ok bool)
}

// Test is a predicate with the words of one condition. At least one of its functions is set.
type Test struct {
	// Read is what one frame shows of an object.
	Read func(f Frame, d evidence.Detection) Reading
	// Along is the probability at each point of a track, into out, [Unknown] where it cannot be told. When
	// it is nil, the first number of the reading is the probability.
	Along func(t Track, out []float32)
}

// Reading is what a frame shows of an object, in at most two numbers. It is kept for each object, so it
// must be small.
type Reading [2]float32

// Unknown is the value of what cannot be seen.
var Unknown = float32(math.NaN())

func known(p float32) bool { return p == p }

func reading(p float64, ok bool) Reading {
	if !ok {
		return Reading{Unknown, Unknown}
	}
	return Reading{float32(p), 0}
}

// Frame is the context of a detection in its frame.
type Frame struct {
	// Aspect is the width of the frame over its height.
	Aspect float64
	// Colors name the columns of Detection.Colors.
	Colors []string
	// Terms name the classes of Detections, which are all of the frame.
	Terms      []string
	Detections []evidence.Detection
	// Probability is that of a detection by its score.
	Probability func(d evidence.Detection) float64
	// Others are the objects of the thing that the condition names.
	Others []Other
}

// Other is an object that a condition names.
type Other struct {
	Box evidence.Box
	// P is the probability that it is what the condition says.
	P float64
}

// exactly binds a condition whose value is the form itself.
func exactly(form string, t Test) func(query.Condition) (Test, bool) {
	return func(c query.Condition) (Test, bool) { return t, c.Value == form }
}

// about binds a condition with one of some heads and an object: "next to bus".
func about(fit func(f Frame, a, b evidence.Box) float64, heads ...string) func(query.Condition) (Test, bool) {
	return func(c query.Condition) (Test, bool) {
		head, object := c.Split()
		for _, h := range heads {
			if object != nil && head == h {
				return Test{Read: func(f Frame, d evidence.Detection) Reading { return related(f, d, fit) }}, true
			}
		}
		return Test{}, false
	}
}

// related is the probability that the most probable other object is in a relation to a detection.
func related(f Frame, d evidence.Detection, fit func(f Frame, a, b evidence.Box) float64) Reading {
	best := .02
	for _, o := range f.Others {
		if o.Box != d.Box {
			best = max(best, o.P*fit(f, d.Box, o.Box))
		}
	}
	return reading(best, true)
}

// curve maps a measure to a probability, linear between its points.
type curve [][2]float64

func (c curve) at(x float64) float64 {
	last := c[0]
	if !(x > last[0]) {
		return last[1]
	}
	for _, p := range c[1:] {
		if x <= p[0] {
			return last[1] + (x-last[0])/(p[0]-last[0])*(p[1]-last[1])
		}
		last = p
	}
	return last[1]
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-min(max(x, -30), 30))) }
