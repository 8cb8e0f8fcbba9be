package answer

import (
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Receipt says what a result rests on, so that a later doubt can be settled: the same
// receipt has the same result, bit for bit, unless there is a second opinion, which may be
// another the next time.
type Receipt struct {
	Model ReceiptModel `json:"model"`
	// WorkerVersion names the program that served the model, and its version; nil when no
	// engine looked, or it does not say.
	WorkerVersion *string `json:"worker_version"`
	// QueryDigest is that of the compiled query, "sha256:" and 64 hexadecimal digits.
	QueryDigest string `json:"query_digest"`
	// Frames is how many frames were looked at, >= 0.
	Frames int `json:"frames"`
	// Sampled are the times of those frames, in order; never nil.
	Sampled []SampleRun `json:"sampled"`
	// SecondOpinion is nil when none was asked for.
	SecondOpinion *SecondOpinion `json:"second_opinion"`
	// Duration says how long the video is; nil when no engine looked, and for results that
	// were made before it was kept.
	Duration *ReceiptDuration `json:"duration,omitempty"`
}

// ReceiptDuration is the length of the video by three measures, in microseconds, so that an
// auditor sees why a bill is what it is: the bill is the decoded length, rounded up to whole
// seconds.
type ReceiptDuration struct {
	// ClaimedMicros is what the container claims, or nil.
	ClaimedMicros *int64 `json:"claimed_micros"`
	// ComputedMicros comes from the timestamps of the video stream, or is nil.
	ComputedMicros *int64 `json:"computed_micros"`
	// DecodedMicros is what was decoded, > 0. It is the computed length unless decoding
	// found another.
	DecodedMicros int64 `json:"decoded_micros"`
}

// ReceiptModel is the model that looked. What is nil was not looked with, or is not said.
type ReceiptModel struct {
	// ID is that of the catalog.
	ID string `json:"id"`
	// Name is what the engine calls it.
	Name *string `json:"name"`
	// Weights names what it was trained as.
	Weights *string `json:"weights"`
	// Digest is that of its weights, "sha256:" and 64 hexadecimal digits.
	Digest *string `json:"digest"`
}

// SecondOpinion is another model that was asked where the first was unsure.
type SecondOpinion struct {
	Model string `json:"model"`
	// Frames is how many pictures it was shown, >= 0.
	Frames int `json:"frames"`
}

// SampleRun is a run of frames at equal steps: Count of them, StepS apart, from StartS on.
// Times are in seconds and whole milliseconds.
type SampleRun struct {
	StartS float64 `json:"start_s"`
	// StepS is 0 for a run of one.
	StepS float64 `json:"step_s"`
	// Count is at least 1.
	Count int `json:"count"`
}

// NewReceipt is the receipt of a question that no engine was asked about.
func NewReceipt(modelID string, q query.Query) *Receipt {
	return &Receipt{Model: ReceiptModel{ID: modelID}, QueryDigest: digestPrefix + query.Digest(q), Sampled: []SampleRun{}}
}

// digestPrefix names the hash of every digest.
const digestPrefix = "sha256:"

// Engine is what a receipt says of the engine that looked. Empty fields were not told.
type Engine struct {
	// Name and Weights name the model.
	Name, Weights string
	// Digest is the SHA-256 of its weights in hexadecimal digits.
	Digest string
	// Worker names the serving program, and its version.
	Worker string
}

// Looked adds to a receipt which engine looked at which of the evidence: all frames that
// the question is about, those between the samples too.
func (r *Receipt) Examined(e Engine, q query.Query, ev evidence.Evidence) {
	r.Model.Name, r.Model.Weights, r.WorkerVersion = stated(e.Name), stated(e.Weights), stated(e.Worker)
	if e.Digest != "" {
		r.Model.Digest = stated(digestPrefix + e.Digest)
	}
	within := windowOf(q, withDefaults(ev).DurationS)
	times := instants(within.framesIn(ev.Frames), within.framesIn(ev.Fine))
	r.Frames, r.Sampled = len(times), Runs(times)
}

func stated(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// instants are the times of all frames, in order.
func instants(samples, between []evidence.Frame) []float64 {
	times := make([]float64, 0, len(samples)+len(between))
	for _, f := range samples {
		times = append(times, f.At)
	}
	for _, f := range between {
		times = append(times, f.At)
	}
	slices.Sort(times)
	return times
}

// Runs gathers times, in seconds and in order, into as few runs as a look ahead by one
// finds. Times are rounded to milliseconds; those of runs are told exactly by Times.
func Runs(times []float64) []SampleRun {
	runs := []SampleRun{}
	for i := 0; i < len(times); {
		first := millis(times[i])
		n, step := 1, int64(0)
		if i+1 < len(times) {
			step = millis(times[i+1]) - first
			for i+n < len(times) && millis(times[i+n]) == first+int64(n)*step {
				n++
			}
		}
		// A pair is a run only when nothing better begins with its second.
		if n == 2 && len(times)-i > 3 && evenly(times[i+1:]) {
			n, step = 1, 0
		}
		runs = append(runs, SampleRun{StartS: seconds(first), StepS: seconds(step), Count: n})
		i += n
	}
	return runs
}

// evenly reports whether the first three of times are a run.
func evenly(times []float64) bool {
	return millis(times[2])-millis(times[1]) == millis(times[1])-millis(times[0])
}

// Times are the times of runs, in seconds.
func Times(runs []SampleRun) []float64 {
	times := []float64{}
	for _, r := range runs {
		first, step := millis(r.StartS), millis(r.StepS)
		for i := range r.Count {
			times = append(times, seconds(first+int64(i)*step))
		}
	}
	return times
}

func millis(s float64) int64 { return int64(math.Round(s * 1e3)) }

func seconds(ms int64) float64 { return float64(ms) / 1e3 }
