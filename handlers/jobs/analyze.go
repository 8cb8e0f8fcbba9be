package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/gpu"
	"vqa/gpu/frames"
	"vqa/handlers/command"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/language"
)

// Sources finds stored videos.
type Sources interface {
	// Source says how a video is read, with its track and its colors.
	Source(ctx context.Context, objectKey string) (ffmpeg.Source, error)
	// Readable returns nil when a stored video can be read.
	Readable(ctx context.Context, objectKey string) error
}

// Progress keeps the percent of running analyses.
type Progress interface {
	// Report raises the percent of an analysis, 0 to 100. current is false when the attempt no
	// longer works on the analysis.
	Report(ctx context.Context, analysisID string, attempt, percent int) (current bool, err error)
}

// Analyzer runs attempts at analyses.
type Analyzer struct {
	Commands *command.Service
	Sources  Sources
	Surveys  Surveys
	Engine   gpu.Engine
	FFmpeg   frames.FFmpeg
	// Calibrations are the measured calibrations, beside that of the embedded model.
	Calibrations answer.Calibrations
	// Progress keeps the percent of running analyses.
	Progress Progress
	// Open lists the open questions about a video; may be nil.
	Open OpenQuestions
	// Renderer draws artifacts. Without one, this node promises no artifacts and leaves
	// promised ones to other nodes.
	Renderer Renderer
	// Narrator rewrites narratives in better prose; nil keeps those of the rules.
	Narrator Narrator
	// VisionModel is asked when the detector finds no answer; may be nil.
	VisionModel *language.VisionModel
	// Patience is how long an attempt waits for an engine that does not answer;
	// 2 minutes when 0.
	Patience time.Duration
	// SaveEvery is the time between two saves of a survey during a scan; a minute when 0.
	SaveEvery time.Duration
	// Checks are asked before each attempt after the first. While one returns an error, the
	// attempt does not begin.
	Checks []func(context.Context) error
	// Waited is called at the first attempt of an analysis with the time that it was
	// queued; may be nil.
	Waited func(time.Duration)
	Node   string
	Log    *slog.Logger

	turns turns
}

// analyzeTimeout bounds an analysis, however slow the machine is.
const analyzeTimeout = 6 * time.Hour

// Run makes one attempt: it claims the analysis, examines the video, and records the answer
// or the failure. A nil return means that the attempt is over. An error means that the next
// attempt must take up the work, or that this one must be made again.
func (z *Analyzer) Run(ctx context.Context, run command.Run) error {
	ctx, cancel := context.WithTimeout(ctx, analyzeTimeout)
	defer cancel()
	if err := z.ready(ctx, run); err != nil {
		return pausing(fmt.Errorf("prepare %s: %w", run.AnalysisID, err))
	}
	a, v, err := z.Commands.ClaimAnalysis(ctx, run, z.Node)
	if command.IsStale(err) {
		return nil
	}
	if err != nil {
		return pausing(fmt.Errorf("claim %s: %w", run.AnalysisID, err))
	}
	err = z.attempt(ctx, run, a, v)
	if paused, found := errors.AsType[*pausedError](err); found {
		paused.claimed = true
	}
	return err
}

// attempt does the work of a claimed attempt.
func (z *Analyzer) attempt(ctx context.Context, run command.Run, a analysis.State, v video.State) error {
	if z.Waited != nil && run.Attempt == 1 && a.StartedAt != nil {
		z.Waited(a.StartedAt.Sub(a.CreatedAt))
	}
	log := z.Log.With("analysis_id", run.AnalysisID, "attempt", run.Attempt)
	started := time.Now()
	seen, err := z.examine(ctx, run, a, v)
	if err == nil {
		defer seen.close()
		err = z.conclude(ctx, log, run, a, v, seen)
	}
	err = z.diagnose(ctx, v, err)
	switch {
	case err == nil:
		log.Info("analysis completed", "frames", seen.frameCount(), "took", time.Since(started).Round(time.Millisecond))
		return nil
	case command.IsStale(err):
		log.Info("the analysis has ended, so this attempt stops")
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !final(err):
		z.reportUnended(ctx, log, err)
		return fmt.Errorf("analyze %s: %w", run.AnalysisID, err)
	}
	log.Warn("analysis failed", "error", err)
	return pausing(z.fail(ctx, run, err))
}

// reportUnended logs why an attempt did not end the work. It opens an incident when the attempt waited too long for the
// engine: an engine that reports ready and answers nothing is found in no other way.
func (z *Analyzer) reportUnended(ctx context.Context, log *slog.Logger, err error) {
	paused, found := errors.AsType[*pausedError](err)
	if !found {
		log.Error("the attempt failed; the sweep makes another one or gives up", "error", err)
		return
	}
	log.Warn("analysis pauses: a part of the infrastructure failed", "part", string(paused.class), "error", paused.err)
	if paused.class != classEngine {
		return
	}
	if _, err := z.Commands.EnsureOutage(ctx, outageTitle, z.Node); err != nil && ctx.Err() == nil {
		log.Error("opening an incident failed", "error", err)
	}
}

// conclude answers the question from the evidence and completes the analysis.
func (z *Analyzer) conclude(ctx context.Context, log *slog.Logger, run command.Run, a analysis.State, v video.State, seen examined) error {
	result, mismatch := answer.Mismatch(a.Query, seen.Evidence, v.DurationS())
	if !mismatch {
		result = answer.Decide(a.Query, seen.Evidence, seen.rules)
	}
	result.Receipt = receipt(a, v, seen)
	if !mismatch {
		var err error
		if result, err = z.secondOpinion(ctx, log, a, v, seen, result); err != nil {
			return err
		}
	}
	planned := z.plan(a, v, seen, result)
	if err := seen.survey.Err(); err != nil {
		return err
	}
	return z.Commands.CompleteAnalysis(ctx, run, result, seen.decodedMicros, seen.frameCount(), planned)
}

// receipt records what the answer rests on.
func receipt(a analysis.State, v video.State, seen examined) *answer.Receipt {
	r := answer.NewReceipt(a.Model, a.Query)
	r.Examined(answer.Engine{
		Name: seen.info.Name, Weights: seen.info.Weights, Digest: seen.info.Digest, Worker: seen.info.Worker,
	}, a.Query, seen.Evidence)
	r.Duration = &answer.ReceiptDuration{
		ClaimedMicros: v.File.ClaimedMicros, ComputedMicros: v.File.DurationMicros, DecodedMicros: seen.decodedMicros,
	}
	return r
}

// diagnose replaces the error of an attempt when a part of the infrastructure is its cause. A
// video that ffmpeg cannot read may be missing in the object store.
func (z *Analyzer) diagnose(ctx context.Context, v video.State, err error) error {
	if err == nil || ctx.Err() != nil || command.IsStale(err) {
		return err
	}
	if err = pausing(err); is[*pausedError](err) || v.File == nil || v.File.ObjectKey == "" {
		return err
	}
	if unread := z.Sources.Readable(ctx, v.File.ObjectKey); unread != nil && ctx.Err() == nil {
		return &pausedError{class: classObjects, err: errors.Join(unread, err)}
	}
	return err
}

var errVideoDeleted = &inputError{"The video was deleted."}

// diagnoseAfterwork is diagnose for the work on a completed analysis. Somebody may delete its video before or during
// this work, which removes the source at once.
func (z *Analyzer) diagnoseAfterwork(ctx context.Context, w command.Afterwork, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	_, v, unread := z.Commands.AnalysisWithVideo(ctx, w.AnalysisID)
	switch {
	case unread != nil:
		return pausing(unread)
	case !v.Exists():
		return errVideoDeleted
	}
	return z.diagnose(ctx, v, err)
}

// final reports whether an attempt ended with an error that ends the work too.
func final(err error) bool { return !is[*pausedError](err) && classify(err) == classInput }

// ready returns the first fault of the infrastructure that this attempt would meet. Only
// attempts after the first are checked: their claims would fill the log in a long outage.
func (z *Analyzer) ready(ctx context.Context, run command.Run) error {
	if run.Attempt == 1 {
		return nil
	}
	for _, check := range z.Checks {
		if err := check(ctx); err != nil {
			return err
		}
	}
	a, v, err := z.Commands.AnalysisWithVideo(ctx, run.AnalysisID)
	if err != nil || a.Status.Terminal() || v.File == nil || v.File.ObjectKey == "" {
		return err
	}
	return z.Sources.Readable(ctx, v.File.ObjectKey)
}

// examine gathers the evidence for a question and reports the progress. Close the result.
func (z *Analyzer) examine(ctx context.Context, run command.Run, a analysis.State, v video.State) (examined, error) {
	limit := z.Commands.Limits.MaxVideoDuration
	if d := v.DurationMicros(); d != nil && *d > limit.Microseconds() {
		return examined{}, &tooLongError{*d}
	}
	p, err := z.examinationOf(ctx, a, v)
	if err != nil {
		return examined{}, err
	}
	p.limitS = limit.Seconds()
	reporter := &reporter{Analyzer: z, run: run, durationS: v.DurationS()}
	if err := reporter.stage(ctx, analysis.Analyzing, startPercent); err != nil {
		return examined{}, err
	}
	seen, err := z.survey(ctx, v, p, reporter.frame)
	if err != nil {
		return examined{}, err
	}
	if err := reporter.stage(ctx, analysis.Rendering, renderPercent); err != nil {
		seen.close()
		return examined{}, err
	}
	return seen, nil
}

// examinationOf is the examination that a question needs.
func (z *Analyzer) examinationOf(ctx context.Context, a analysis.State, v video.State) (*examination, error) {
	if v.File == nil || v.File.ObjectKey == "" {
		return nil, &inputError{"The video has no stored file."}
	}
	source, err := z.Sources.Source(ctx, v.File.ObjectKey)
	if err != nil {
		return nil, fmt.Errorf("locate the video: %w", err)
	}
	p := &examination{
		engine: z.Engine, ffmpeg: z.FFmpeg, source: source, query: a.Query, durationS: v.DurationS(),
		pose:     answer.NeedsPose(a.Query),
		patience: cmp.Or(z.Patience, defaultPatience),
	}
	if w, h := v.File.Width, v.File.Height; w != nil && h != nil && *h > 0 {
		p.aspect = float64(*w) / float64(*h)
	}
	return p, nil
}

// fail ends the analysis with the part of the error that the caller may see.
func (z *Analyzer) fail(ctx context.Context, run command.Run, why error) error {
	if tooLong, is := errors.AsType[*tooLongError](why); is {
		return ignoreStale(z.Commands.FailTooLong(ctx, run, tooLong.decodedMicros))
	}
	failure := analysis.Failure{Code: fault.InferenceError, Message: fault.Lookup(fault.InferenceError).Message}
	var input *inputError
	if errors.As(why, &input) {
		failure.Message = input.message
	}
	var err error
	if is[*visionError](why) {
		err = z.Commands.FailInOutage(ctx, run, failure, outageTitle, z.Node)
	} else {
		err = z.Commands.FailAnalysis(ctx, run, failure)
	}
	return ignoreStale(err)
}

// ignoreStale drops the refusal of an attempt that another one has overtaken.
func ignoreStale(err error) error {
	if command.IsStale(err) {
		return nil
	}
	return err
}

// inputError is a failure that the video causes, with a sentence for the caller.
type inputError struct{ message string }

func (e *inputError) Error() string { return e.message }

// tooLongError says that the video is longer than the plan of the account allows.
type tooLongError struct {
	// decodedMicros is the length that is known so far, in microseconds.
	decodedMicros int64
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the video is longer than the plan allows: %d us so far", e.decodedMicros)
}
