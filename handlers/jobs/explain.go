package jobs

import (
	"context"
	"fmt"
	"reflect"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/fault"
	"vqa/domain/sampling"
	"vqa/domain/video"
	"vqa/handlers/intake/fixture"
)

// Explainer tells what the answers of analyses rest on. It examines no video.
type Explainer struct {
	Surveys      Surveys
	Calibrations answer.Calibrations
}

// Explained is the evidence of an analysis.
type Explained struct {
	AnalysisID string `json:"analysis_id"`
	Question   string `json:"question"`
	// RecordedAnswer and RecordedConfidence are those of the result. They differ from the ones of the trace
	// when a vision model answered, or when the calibration was changed.
	RecordedAnswer     answer.Answer `json:"recorded_answer"`
	RecordedConfidence float64       `json:"recorded_confidence"`
	answer.Trace
}

// Explain answers a completed analysis again, from the stored survey of its video. An error is a
// *[fault.Fault] with [fault.ResourceConflict] when the analysis has no answer, and with
// [fault.ResourceNotFound] when the evidence is gone.
func (x Explainer) Explain(ctx context.Context, a analysis.State, v video.State) (Explained, error) {
	if a.Result == nil {
		return Explained{}, fault.Newf(fault.ResourceConflict, "The analysis has no answer that evidence could explain: it is %s.", a.Status)
	}
	trace, err := x.trace(ctx, a, v)
	return Explained{a.ID, question(a), a.Result.Answer, a.Result.Confidence, trace}, err
}

func (x Explainer) trace(ctx context.Context, a analysis.State, v video.State) (answer.Trace, error) {
	switch r := a.Result.Receipt; {
	case v.Fixture:
		return fixture.Fixture{}.Explain(a.Query), nil
	case r == nil || r.Duration == nil: // the service answered without examining the video
		trace := answer.Explain(a.Query, evidence.Evidence{}, answer.CPU())
		if a.Result.UnsupportedAction == nil {
			trace.Ruling.Text = fmt.Sprintf("No frame was examined: the model knows none of the words %q.", a.Query.SearchTerms)
		}
		return trace, nil
	case !v.Exists():
		return answer.Trace{}, gone("The video was deleted.")
	}
	kept, found, err := x.Surveys.Load(ctx, a.VideoID)
	if err != nil {
		return answer.Trace{}, fmt.Errorf("load the survey: %w", err)
	}
	if !found {
		return answer.Trace{}, gone("The detections of the video are not stored any more.")
	}
	defer func() { _ = kept.Close() }()
	rules := x.Calibrations.For(kept.Engine.Weights, kept.Vocabulary)
	ev := sampling.For(a.Query, rules.Vocabulary).Evidence(surveyed(kept), rules)
	ev.DurationS = float64(a.Result.Receipt.Duration.DecodedMicros) / 1e6
	if !examinedBy(kept.Engine, a, ev) {
		return answer.Trace{}, gone("Another model, or another version of it, has examined the video since.")
	}
	trace := answer.Explain(a.Query, ev, rules)
	return trace, kept.Err()
}

func gone(why string) error {
	return fault.New(fault.ResourceNotFound, "The evidence of this analysis is gone. "+why)
}

// examinedBy reports whether the receipt of an analysis names an engine.
func examinedBy(e answer.Engine, a analysis.State, ev evidence.Evidence) bool {
	again := answer.NewReceipt(a.Model, a.Query)
	again.Examined(e, a.Query, ev)
	recorded := a.Result.Receipt
	return reflect.DeepEqual(again.Model, recorded.Model) && reflect.DeepEqual(again.WorkerVersion, recorded.WorkerVersion)
}
