package answer

import "vqa/domain/evidence"

// The bounds of a trace, so that its JSON stays under about 3 MB.
const (
	// MaxTracedFrames bounds the times. In a longer video one frame stands for several neighbors.
	MaxTracedFrames = 1200
	// MaxTracedTracks bounds the tracks of a thing. The surest stay.
	MaxTracedTracks = 40
	// MaxTracedBoxes bounds the boxes of all things.
	MaxTracedBoxes = 20_000
	// maxTracedNumbers bounds the numbers of instances that have a series.
	maxTracedNumbers = 10
)

// Trace is what an answer rests on: the objects, the probability of each part of the question over time,
// and the parameter that decided.
type Trace struct {
	Answer Answer `json:"answer"`
	// Confidence in the answer, 0..1.
	Confidence float64 `json:"confidence"`
	// Frames is the number of frames that were examined.
	Frames int `json:"frames"`
	// Times are those of the frames below, in seconds, in order, at most MaxTracedFrames. One that stands
	// for several neighbors is the one that speaks most for the decision.
	Times      []float64         `json:"times"`
	Things     []TracedThing     `json:"things"`
	Statements []TracedStatement `json:"statements"`
	Ruling     Ruling            `json:"ruling"`
	// Parameters are those that the answer was computed with.
	Parameters Parameters `json:"parameters"`
}

// TracedThing are the objects that a noun phrase of the question may mean.
type TracedThing struct {
	// Text is the noun phrase, such as "dog leaving toward right".
	Text string `json:"text"`
	// Classes are those of the model that were looked for; none when the model knows no such thing.
	Classes []string `json:"classes"`
	// Tracks are the surest first, at most MaxTracedTracks.
	Tracks [][]TracedBox `json:"tracks"`
	// Omitted is the number of tracks that are not listed.
	Omitted int `json:"omitted"`
}

// TracedBox is one object in one frame.
type TracedBox struct {
	// Frame is an index in Times.
	Frame int          `json:"frame"`
	Box   evidence.Box `json:"box"`
	// Score is the raw score. Probability is that of the class, and Fit that of the whole noun phrase with
	// its conditions. All are 0..1.
	Score       float64 `json:"score"`
	Probability float64 `json:"probability"`
	Fit         float64 `json:"fit"`
}

// TracedStatement is a part of the question that is true or false of each frame.
type TracedStatement struct {
	// Text says it in words. Depth is 0 for the whole question; a part follows the statement that it
	// belongs to, one deeper.
	Text  string `json:"text"`
	Depth int    `json:"depth"`
	// Series is the probability at each of Times, 0..1.
	Series []float64 `json:"series"`
	// Best is the time in which the statement is most probable.
	Best Moment `json:"best"`
	// Intervals are those in which the statement holds, of all frames, at most MaxClips. Lift and Stay are
	// the parameters that found them, in log odds; 0 without intervals.
	Intervals []Moment `json:"intervals"`
	Lift      float64  `json:"lift"`
	Stay      float64  `json:"stay"`
}

// Moment is an interval, in seconds, with a mean probability.
type Moment struct {
	StartS      float64 `json:"start_s"`
	EndS        float64 `json:"end_s"`
	Probability float64 `json:"probability"`
}

// Parameter is a named number of [Parameters].
type Parameter struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Ruling says how the statements became the answer.
type Ruling struct {
	// Statement is the one that decided: an index in Statements, -1 for none. At is the time that decided:
	// where it is most probable or, if it had to hold all the time, least.
	Statement int    `json:"statement"`
	At        Moment `json:"at"`
	// Weakest is the part of that statement which is least probable then; "" for a statement without parts.
	Weakest string `json:"weakest"`
	// Decided is the parameter that the probability was compared with, and Bounded the one that lowered the
	// confidence. They are nil when there was none.
	Decided *Parameter `json:"decided"`
	Bounded *Parameter `json:"bounded"`
	// Text says all this in sentences.
	Text string `json:"text"`
}
