package answer

import (
	"math"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/query"
)

// Receipt says what a result rests on, so that a doubt can be settled later. The same
// receipt has the same result, bit for bit. Only a second opinion may differ the next time.
type Receipt struct {
	Model ReceiptModel `json:"model"`
	// WorkerVersion names the program that served the model, with its version. It is nil
	// when no engine was asked, or when the engine does not report it.
	WorkerVersion *string `json:"worker_version"`
	// QueryDigest is the digest of the compiled query: "sha256:" and 64 hexadecimal digits.
	QueryDigest string `json:"query_digest"`
	// Frames is the number of frames that were examined, >= 0.
	Frames int `json:"frames"`
	// Sampled are the times of those frames, in order; never nil.
	Sampled []SampleRun `json:"sampled"`
	// SecondOpinion is nil when no vision model was asked.
	SecondOpinion *SecondOpinion `json:"second_opinion"`
	// Duration is the length of the video. It is nil when no engine was asked, and in
	// results from before it was recorded.
	Duration *ReceiptDuration `json:"duration,omitempty"`
}

// ReceiptDuration is the length of the video by three measures, in microseconds, so that an
// auditor can check a bill. A bill is the decoded length, rounded up to whole seconds.
type ReceiptDuration struct {
	// ClaimedMicros is the length in the header of the container, or nil.
	ClaimedMicros *int64 `json:"claimed_micros"`
	// ComputedMicros is the length by the timestamps of the video stream, or nil.
	ComputedMicros *int64 `json:"computed_micros"`
	// DecodedMicros is the length that was decoded, > 0. It is the computed length unless
	// decoding found another.
	DecodedMicros int64 `json:"decoded_micros"`
}

// ReceiptModel is the model that examined the frames. A field is nil when no model was
// asked, or when the engine does not report it.
type ReceiptModel struct {
	// ID is the id in the catalog of models.
	ID string `json:"id"`
	// Name is the name that the engine reports.
	Name *string `json:"name"`
	// Weights names the trained weights.
	Weights *string `json:"weights"`
	// Digest is the digest of the weights: "sha256:" and 64 hexadecimal digits.
	Digest *string `json:"digest"`
}

// SecondOpinion is the vision model that was asked because the detector was unsure.
type SecondOpinion struct {
	Model string `json:"model"`
	// Frames is the number of frames it was shown, >= 0.
	Frames int `json:"frames"`
}

// SampleRun is a series of frames at equal steps: Count frames, StepS apart, from StartS
// on. Times are in seconds, in whole milliseconds.
type SampleRun struct {
	StartS float64 `json:"start_s"`
	// StepS is 0 when Count is 1.
	StepS float64 `json:"step_s"`
	// Count is at least 1.
	Count int `json:"count"`
}

// NewReceipt is the receipt of a question that no engine was asked about.
func NewReceipt(modelID string, q query.Query) *Receipt {
	return &Receipt{Model: ReceiptModel{ID: modelID}, QueryDigest: digestPrefix + query.Digest(q), Sampled: []SampleRun{}}
}

// digestPrefix is the prefix of every digest.
const digestPrefix = "sha256:"

// Engine is the engine of a receipt. A field is empty when the engine does not report it.
type Engine struct {
	// Name and Weights name the model.
	Name, Weights string
	// Digest is the SHA-256 of its weights in hexadecimal digits.
	Digest string
	// Worker names the program that serves the model, with its version.
	Worker string
}

// Examined adds to a receipt the engine and the frames that it examined. These are all
// frames in the part of the video that the question is about, fine frames included.
func (r *Receipt) Examined(e Engine, q query.Query, ev evidence.Evidence) {
	r.Model.Name, r.Model.Weights, r.WorkerVersion = stated(e.Name), stated(e.Weights), stated(e.Worker)
	if e.Digest != "" {
		r.Model.Digest = stated(digestPrefix + e.Digest)
	}
	within := windowOf(q, withDefaults(ev).DurationS)
	times := instants(within.framesIn(ev.Frames), within.framesIn(ev.Fine))
	r.Frames, r.Sampled = len(times), sampleRuns(times)
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

// sampleRuns groups times, in seconds and in order, into series with equal steps. It looks
// one time ahead, so the number of series is small but not always minimal. Times are
// rounded to milliseconds.
func sampleRuns(times []float64) []SampleRun {
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
		// A pair is a series only when its second time does not begin a longer one.
		if n == 2 && len(times)-i > 3 && evenly(times[i+1:]) {
			n, step = 1, 0
		}
		runs = append(runs, SampleRun{StartS: seconds(first), StepS: seconds(step), Count: n})
		i += n
	}
	return runs
}

// evenly reports whether the first three of times have equal steps.
func evenly(times []float64) bool {
	return millis(times[2])-millis(times[1]) == millis(times[1])-millis(times[0])
}

func millis(s float64) int64 { return int64(math.Round(s * 1e3)) }

func seconds(ms int64) float64 { return float64(ms) / 1e3 }
