package live

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/vocabulary"
	"vqa/domain/sampling"
	"vqa/domain/stream"
	"vqa/streaming/decode"
)

const (
	// engineTimeout bounds a call of the engine.
	engineTimeout = 10 * time.Second
	// The waits before a call after one that failed.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
	// refusedEvery is the time between two results of a question that the model cannot assess.
	refusedEvery = time.Second
)

// errStaleAnswer says that the question was replaced while the engine worked.
var errStaleAnswer = errors.New("live: the question has changed")

// question is what the watcher answers. Each update of the prompt makes a new one.
type question struct {
	query     query.Query
	narrative bool
}

// finding is what the watcher reports of a sample.
type finding struct {
	result stream.Result
	// sampledAt is when the last packet of the picture arrived, engine how long the engine worked.
	sampledAt time.Time
	engine    time.Duration
	err       error // the engine did not answer; there is no result
}

// watcher makes results of samples. run is its goroutine.
type watcher struct {
	host     *Host
	samples  sampler // nil in test mode
	clock    *clock
	question atomic.Pointer[question]
	report   func(context.Context, finding)
	// described is called when vocabulary is set.
	described  func()
	vocabulary atomic.Pointer[vocabulary.Vocabulary] // of the latest model that was described

	// Of the goroutine.
	asked   *question // the question of opinion
	opinion opinion
	window  window
	teller  teller
	info    *Info
	rules   answer.Calibration
	retry   time.Duration
	refused time.Time // of the latest result without the engine
}

// assesses reports whether the model can assess a question. It is false until the model is described: the client pays
// for no question that may turn out to have no answer.
func (w *watcher) assesses(q query.Query) bool {
	known := w.vocabulary.Load()
	return known != nil && refusal(q, *known) == nil
}

// refusal is the result of a question that the model cannot assess, as for an analysis, or nil. The model must know one
// of its subjects.
func refusal(q query.Query, known vocabulary.Vocabulary) *answer.Result {
	if !answer.Assessable(q) {
		return new(answer.Refused(q))
	}
	knows := func(s query.Subject) bool { _, ok := known.Lookup(s.Term); return ok }
	if known.Open() || slices.ContainsFunc(q.Subjects, knows) {
		return nil
	}
	return new(answer.Unknown(q, nil))
}

// run answers until ctx ends or the samples do.
func (w *watcher) run(ctx context.Context) {
	if answer.Assessable(w.question.Load().query) {
		_ = w.describe(ctx) // before the first sample, because the clock waits for it
	}
	for ctx.Err() == nil {
		s, err := w.fresh(ctx)
		if err != nil {
			return
		}
		f, err := w.examine(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errStaleAnswer):
		case err != nil:
			w.info = nil // the engine may come back with another model
			w.report(ctx, finding{err: err})
			w.retry = min(max(2*w.retry, firstRetry), lastRetry)
			sleep(ctx, w.retry)
		case f != nil:
			w.retry = 0
			w.report(ctx, *f)
		}
	}
}

// examine returns the result after a sample, or after a newer one. It returns nil when the sample needs no
// result.
func (w *watcher) examine(ctx context.Context, s decode.Sample) (*finding, error) {
	q := w.question.Load()
	if answer.Assessable(q.query) {
		if err := w.describe(ctx); err != nil {
			return nil, err
		}
	}
	if r := refusal(q.query, w.rules.Vocabulary); r != nil {
		return w.refuse(q, *r, s), nil
	}
	leave, err := w.host.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s = w.newest(s)
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	if q = w.question.Load(); refusal(q.query, w.rules.Vocabulary) != nil {
		return nil, errStaleAnswer
	}
	v := w.viewFor(q.query)
	began := w.host.options.Now()
	got, err := w.host.options.Engine.Detect(ctx, Request{
		JPEG: s.JPEG, Terms: v.terms, WantPose: v.pose, WantColors: len(v.colors) > 0, WantShades: w.info.Shades,
	})
	if err != nil {
		return nil, err
	}
	engine := w.host.options.Now().Sub(began)
	v.known = got.Known
	w.take(v, s, got)
	if q = w.question.Load(); refusal(q.query, w.rules.Vocabulary) != nil || !v.covers(w.viewFor(q.query)) {
		return nil, errStaleAnswer
	}
	return &finding{result: w.answer(q, s.At), sampledAt: s.At, engine: engine}, nil
}

// fresh returns the next sample. One that has waited long for the engine is skipped when another one
// follows soon: the result of a slow engine would be late by up to the time between two samples.
func (w *watcher) fresh(ctx context.Context) (decode.Sample, error) {
	s, err := w.samples.Next(ctx)
	every := time.Second / time.Duration(w.host.options.FPS)
	if age := w.host.options.Now().Sub(s.At); err != nil || age < every/2 {
		return s, err
	}
	soon, cancel := context.WithTimeout(ctx, every)
	defer cancel()
	if next, err := w.samples.Next(soon); err == nil {
		return next, nil
	}
	return s, nil
}

// newest returns the newest sample: one may have come while the stream waited for its turn.
func (w *watcher) newest(s decode.Sample) decode.Sample {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if newer, err := w.samples.Next(ctx); err == nil {
		return newer
	}
	return s
}

// describe asks for the description of the model when it is unknown.
func (w *watcher) describe(ctx context.Context) error {
	if w.info != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	info, err := w.host.options.Engine.Info(ctx)
	if err != nil {
		return err
	}
	w.info, w.rules = &info, w.host.options.Calibrations.For(info.Weights, info.Vocabulary)
	w.vocabulary.Store(new(w.rules.Vocabulary))
	w.described()
	return nil
}

// viewFor is what the engine must be asked for a question. The terms are all that the model knows and
// those of the question, in a fixed order. So most questions have the same, and a new question is answered
// from the samples of the one before.
func (w *watcher) viewFor(q query.Query) view {
	terms := slices.Clone(w.info.Vocabulary)
	for _, class := range w.rules.Vocabulary.Classes(q.SearchTerms...) {
		if !slices.Contains(terms, class) {
			terms = append(terms, class)
		}
	}
	return view{terms: terms, colors: w.info.Colors, pose: answer.NeedsPose(q)}
}

// take adds a sample to the window. One of another view starts a new window.
func (w *watcher) take(v view, s decode.Sample, got Response) {
	if !w.window.view.covers(v) || !slices.Equal(w.window.view.known, v.known) {
		w.window, w.teller.samples = window{}, nil
	}
	w.window.view = v
	if s.Height > 0 {
		w.window.aspect = float64(s.Width) / float64(s.Height)
	}
	// Most detections are noise, and their colors would take most of the memory.
	for i, d := range got.Detections {
		if d.Score < sampling.HintScore(w.rules) {
			got.Detections[i].Colors = nil
		}
	}
	f := evidence.Frame{At: w.clock.at(s.At).Seconds(), Detections: got.Detections, Shades: got.Shades}
	w.window.add(f, s.At)
	if w.question.Load().narrative {
		w.teller.take(f)
	}
}

// answer decides the question over the window. The picture of its newest sample arrived at a time.
func (w *watcher) answer(q *question, arrived time.Time) stream.Result {
	if w.asked != q {
		w.asked, w.opinion = q, opinion{}
	}
	ev := w.window.evidence(lengthS(q.query, w.rules))
	shown := w.opinion.next(verdictOf(answer.Decide(q.query, ev, w.rules)), arrived)
	r := stream.Result{
		AtS: digits(ev.DurationS), Answer: shown.answer, Confidence: shown.confidence, DetectedCount: shown.count, IndeterminateReason: shown.reason,
		Detections: shownDetections(q.query, ev, w.rules),
	}
	if q.narrative {
		r.NarrativeUpdate = w.teller.next(w.window.view, w.window.aspect, w.rules)
	}
	return r
}

// refuse returns the result of a question that the model cannot assess, once in a while.
func (w *watcher) refuse(q *question, r answer.Result, s decode.Sample) *finding {
	if s.At.Sub(w.refused) < refusedEvery && w.asked == q {
		return nil
	}
	w.refused, w.asked, w.opinion = s.At, q, opinion{}
	return &finding{sampledAt: s.At, result: stream.Result{
		AtS: digits(w.clock.at(s.At).Seconds()), Answer: r.Answer, Confidence: r.Confidence, DetectedCount: r.DetectedCount,
		IndeterminateReason: r.IndeterminateReason, UnsupportedAction: r.UnsupportedAction,
	}}
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
