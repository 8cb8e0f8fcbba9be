package jobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/sampling"
	"vqa/domain/video"
	"vqa/gpu"
	"vqa/handlers/survey"
)

// Surveys stores the surveys of videos for later questions.
type Surveys interface {
	// Load returns false when there is no survey that can be read. The error then gives the
	// reason, and may be nil.
	Load(ctx context.Context, videoID string) (survey.Survey, bool, error)
	Save(ctx context.Context, videoID string, s survey.Survey) error
}

// OpenQuestions lists the analyses that wait or run.
type OpenQuestions interface {
	OpenAnalyses(ctx context.Context) ([]analysis.State, error)
}

// examined is the evidence for a question, with the engine and the survey it comes from.
type examined struct {
	evidence.Evidence
	// decodedMicros is the length that was decoded, in microseconds. It is billed.
	decodedMicros int64
	// info describes the engine.
	info gpu.Info
	// rules is the calibration of the engine's model.
	rules answer.Calibration
	// survey holds the frames of the evidence.
	survey survey.Survey
}

// close releases the survey. The evidence cannot be read afterwards.
func (s examined) close() { _ = s.survey.Close() }

// frameCount is the number of frames that were examined for the question.
func (s examined) frameCount() int { return len(s.Frames) + len(s.Fine) }

// survey returns the evidence for an examination. It examines what the stored survey lacks,
// for all terms of the model, and saves the result. Questions about one video take turns,
// so that one scan serves all of them. progress is also called while a question waits; an
// error of it ends the wait. Close the result.
func (z *Analyzer) survey(ctx context.Context, v video.State, p *examination, progress func(context.Context, float64) error) (examined, error) {
	info, err := p.info(ctx)
	if err != nil {
		return examined{}, describe(err)
	}
	leave, err := z.turns.take(ctx, v.ID, func() error { return progress(ctx, 0) })
	if err != nil {
		return examined{}, err
	}
	defer leave()
	rules := z.Calibrations.For(info.Weights, info.Vocabulary)
	p.plan = sampling.For(p.query, rules.Vocabulary)
	p.plan.Everything = p.everything
	s := &surveyor{Analyzer: z, examination: p, videoID: v.ID, info: info, rules: rules, progress: progress}
	s.load(ctx)
	if err := s.complete(ctx); err != nil {
		return examined{}, errors.Join(err, s.survey.Close())
	}
	decodedMicros := p.decodedMicros(s.survey)
	if p.limitS > 0 && decodedMicros > micros(p.limitS) {
		return examined{}, errors.Join(&tooLongError{decodedMicros}, s.survey.Close())
	}
	seen := examined{Evidence: p.plan.Evidence(surveyed(s.survey), rules), decodedMicros: decodedMicros, info: info, rules: rules, survey: s.survey}
	if err := s.survey.Err(); err != nil {
		return examined{}, errors.Join(err, s.survey.Close())
	}
	seen.DurationS = float64(decodedMicros) / 1e6
	return seen, nil
}

// surveyed is a survey in the form that the sampling plan takes.
func surveyed(s survey.Survey) sampling.Survey {
	return sampling.Survey{StepS: s.StepS, DecodedS: s.DecodedS, Evidence: s.Evidence, For: s.For}
}

// surveyor completes the survey of a video for one question.
type surveyor struct {
	*Analyzer
	examination *examination
	videoID     string
	info        gpu.Info
	rules       answer.Calibration
	progress    func(ctx context.Context, atS float64) error

	survey survey.Survey
	// done is the share of the work that was reported.
	done float64
	// due is the time of the next save.
	due time.Time
}

// load loads the stored survey, or begins a new one. A new survey is for all terms that the
// model knows and all that were ever asked of it. So questions about different terms do not
// replace each other's surveys.
func (s *surveyor) load(ctx context.Context) {
	engine := answer.Engine{Name: s.info.Name, Weights: s.info.Weights, Digest: s.info.Digest, Worker: s.info.Worker}
	kept, found, err := s.Surveys.Load(ctx, s.videoID)
	if err != nil {
		s.Log.WarnContext(ctx, "the stored survey cannot be read, so the video is scanned again", "video_id", s.videoID, "error", err)
	}
	if found && kept.Covers(engine, s.examination.plan.Classes) {
		s.survey = kept
		return
	}
	terms := s.examination.plan.Classes
	if found && kept.Engine == engine {
		terms = kept.With(terms)
	}
	_ = kept.Close()
	s.survey = survey.Survey{Engine: engine, Vocabulary: s.info.Vocabulary, Evidence: evidence.Evidence{
		Terms: everyTerm(s.info, terms), Colors: s.info.Colors, Aspect: s.examination.aspect, IntervalS: sampling.BaseStepS,
	}}
}

// complete examines the instants that the question needs and the survey lacks.
func (s *surveyor) complete(ctx context.Context) error {
	p, pose := s.examination, s.examination.pose
	if !s.survey.Whole {
		// A scan that was cut off continues with its step.
		step := cmp.Or(s.survey.StepS, sampling.ScanStep(p.durationS))
		pose = pose || step == sampling.BaseStepS && s.othersNeedPose(ctx)
		if err := s.scanWhole(ctx, scan{stepS: step, pose: pose && step == sampling.BaseStepS}); err != nil {
			return err
		}
	}
	if s.survey.StepS > sampling.BaseStepS {
		if p.everything {
			return nil
		}
		hints := p.plan.CloseUps(surveyed(s.survey), s.rules)
		if err := s.scanAt(ctx, survey.Missing(hints, s.survey.Examined), scan{stepS: sampling.BaseStepS, pose: p.pose}); err != nil {
			return err
		}
	}
	fine := p.plan.Fine(surveyed(s.survey), p.plan.Evidence(surveyed(s.survey), s.rules), s.rules)
	if err := s.scanAt(ctx, survey.Missing(fine, s.survey.Examined), scan{stepS: sampling.FineStepS, pose: pose}); err != nil {
		return err
	}
	if p.pose {
		if err := s.addKeypoints(ctx); err != nil {
			return err
		}
	}
	return s.lookAgain(ctx)
}

// lookAgain examines turned views of the samples that may show a doubtful thing.
func (s *surveyor) lookAgain(ctx context.Context) error {
	if p := s.examination; p.everything || !s.info.Rotations {
		return nil
	}
	at := s.examination.plan.Again(surveyed(s.survey), s.rules)
	return s.scanSamples(ctx, survey.Missing(at, s.survey.Turned), scan{turned: true})
}

// scanSamples scans some samples again. The same instant must yield the same frame, so each is decoded as
// before.
func (s *surveyor) scanSamples(ctx context.Context, at []float64, l scan) error {
	on, off := sampling.Split(at, s.survey.StepS)
	l.stepS = s.survey.StepS
	if err := s.scanAt(ctx, on, l); err != nil {
		return err
	}
	l.stepS = sampling.BaseStepS
	return s.scanAt(ctx, off, l)
}

// addKeypoints examines the frames with people again that were examined without a pose.
func (s *surveyor) addKeypoints(ctx context.Context) error {
	plan := s.examination.plan
	ev := plan.Evidence(surveyed(s.survey), s.rules)
	people := survey.Missing(plan.Subjects(surveyed(s.survey), ev.Frames, s.rules), s.survey.Posed)
	if err := s.scanSamples(ctx, people, scan{pose: true}); err != nil {
		return err
	}
	people = plan.Subjects(surveyed(s.survey), ev.Fine, s.rules)
	return s.scanAt(ctx, survey.Missing(people, s.survey.Posed), scan{stepS: sampling.FineStepS, pose: true})
}

// scanWhole scans the whole video, or the rest of it.
func (s *surveyor) scanWhole(ctx context.Context, l scan) error {
	s.survey.StepS = l.stepS
	if n := len(s.survey.Examined); n > 0 {
		l.fromS = s.survey.Examined[n-1] + l.stepS
	}
	if err := s.scan(ctx, l); err != nil {
		return err
	}
	n := len(s.survey.Examined)
	if n == 0 {
		return &inputError{"No frame of the video could be decoded."}
	}
	last := s.survey.Examined[n-1]
	s.survey.Whole, s.survey.DecodedS = true, last+l.stepS
	if d := s.examination.durationS; d != nil && *d > last {
		s.survey.DecodedS = min(s.survey.DecodedS, *d)
	}
	s.save(ctx)
	return nil
}

// scanAt scans some instants, if there are any.
func (s *surveyor) scanAt(ctx context.Context, at []float64, l scan) error {
	if l.at = at; len(at) == 0 {
		return nil
	}
	if err := s.scan(ctx, l); err != nil {
		return err
	}
	s.save(ctx)
	return nil
}

// scan scans for all terms of the model. It saves the survey regularly, so that the next
// attempt can continue where this one is cut off.
func (s *surveyor) scan(ctx context.Context, l scan) error {
	l.terms, l.colors = s.survey.Evidence.Terms, len(s.info.Colors) > 0
	l.shades, l.ppm = s.info.Shades, s.info.PPM
	l.colorsFrom = sampling.HintScore(s.rules)
	// This scan gets most of the remaining progress: what follows it is not known yet.
	from, most := s.done, .8*(1-s.done)
	count := 0
	fresh := survey.Scan{Pose: l.pose, Turned: l.turned, Fine: l.stepS == sampling.FineStepS}
	s.due = time.Now().Add(s.saveEvery())
	err := s.examination.scan(ctx, l, s.info, func(ctx context.Context, seen []evidence.Frame, known []bool) error {
		if err := errors.Join(s.checkKnown(known), s.examination.checkLimit(seen[len(seen)-1].At)); err != nil {
			return err
		}
		if l.turned {
			for i, f := range seen {
				if before, ok := s.survey.At(f.At); ok {
					before = before.Load(true)
					seen[i].Detections, seen[i].Shades = sampling.Again(before.Detections, f.Detections), before.Shades
				}
			}
		}
		kept, err := s.survey.Spool(seen)
		if err != nil {
			return err
		}
		fresh.Frames = append(fresh.Frames, kept...)
		count += len(seen)
		s.done = max(s.done, from+most*s.examination.share(l, count, seen[len(seen)-1].At))
		if err := s.report(ctx); err != nil {
			return err
		}
		if time.Now().After(s.due) {
			if err := s.survey.Add(fresh); err != nil {
				return err
			}
			fresh.Frames = nil
			s.save(ctx)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n := len(l.at) - count; n > 0 {
		s.Log.WarnContext(ctx, "some instants have no frame", "video_id", s.videoID, "missing", n, "of", len(l.at))
	}
	fresh.At = l.at
	return s.survey.Add(fresh)
}

// share is the share of a scan that is done after some frames, the last of them at atS,
// 0..1.
func (p *examination) share(l scan, count int, atS float64) float64 {
	switch {
	case l.at != nil:
		return float64(count) / float64(len(l.at))
	case p.durationS != nil && *p.durationS > 0:
		return min(atS / *p.durationS, 1)
	}
	return 0
}

func (s *surveyor) report(ctx context.Context) error {
	if s.examination.durationS == nil {
		return s.progress(ctx, 0)
	}
	return s.progress(ctx, s.done**s.examination.durationS)
}

// checkKnown records which terms the model can assess. An engine that reports other terms
// than before is another engine: a missing detection of it does not mean absence.
func (s *surveyor) checkKnown(known []bool) error {
	before := &s.survey.Evidence.Known
	if *before != nil && !slices.Equal(*before, known) {
		return &gpu.InferenceError{Err: errors.New("the engine reports other known terms than before")}
	}
	*before = known
	return nil
}

func (z *Analyzer) saveEvery() time.Duration { return cmp.Or(z.SaveEvery, defaultSaveEvery) }

// savePause is the least pause after a save, as a multiple of its duration. So saving takes
// at most a twentieth of the time.
const savePause = 20

// save saves the survey. A failed save does not fail the analysis.
func (s *surveyor) save(ctx context.Context) {
	if s.examination.unsaved {
		return
	}
	began := time.Now()
	if err := s.Surveys.Save(ctx, s.videoID, s.survey); err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "saving the survey failed", "video_id", s.videoID, "error", err)
	}
	s.due = time.Now().Add(max(s.saveEvery(), savePause*time.Since(began)))
}

// othersNeedPose reports whether another open question about the video needs keypoints.
// Then the first scan asks for them, and one scan serves all prompts of a batch.
func (s *surveyor) othersNeedPose(ctx context.Context) bool {
	if s.Open == nil {
		return false
	}
	open, err := s.Open.OpenAnalyses(ctx)
	if err != nil {
		s.Log.WarnContext(ctx, "listing the open questions failed", "video_id", s.videoID, "error", err)
	}
	return slices.ContainsFunc(open, func(a analysis.State) bool { return a.VideoID == s.videoID && answer.NeedsPose(a.Query) })
}

// everyTerm are the terms of a survey: all that the model reports, and those of the
// questions.
func everyTerm(info gpu.Info, asked []string) []string {
	all := slices.Clone(info.Vocabulary)
	for _, term := range asked {
		if !slices.Contains(all, term) {
			all = append(all, term)
		}
	}
	return all
}
