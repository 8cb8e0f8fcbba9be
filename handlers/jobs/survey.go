package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"vqa/domain/video"
	"vqa/gpu"
	"vqa/handlers/media/survey"
)

// Surveys keep what was seen in a video for later questions about it.
type Surveys interface {
	// Load returns false when there is none that can be read; the error then says why, and
	// may be nil.
	Load(ctx context.Context, videoID string) (survey.Survey, bool, error)
	Save(ctx context.Context, videoID string, s survey.Survey) error
}

// survey answers a pass from what was kept of its video, or makes the pass, for all terms
// of the model, and keeps it. Questions about one video that come together take turns, so
// that one pass serves all of them: progress is called while one waits too, and its error
// ends the waiting.
func (z *Analyzer) survey(ctx context.Context, v video.State, p *pass, progress func(context.Context, float64) error) (sighting, error) {
	info, err := p.info(ctx)
	if err != nil {
		return sighting{}, describe(err)
	}
	leave, err := z.turns.take(ctx, v.ID, func() error { return progress(ctx, 0) })
	if err != nil {
		return sighting{}, err
	}
	defer leave()
	rules := z.Calibrations.For(info.Weights, info.Vocabulary)
	p.classes = rules.Vocabulary.Classes(p.query)
	// A model without colours leaves what they would tell untold.
	p.colours = p.colours && len(info.Colors) > 0
	need := survey.Need{
		Weights: info.Weights, Terms: p.classes, IntervalS: 1.0 / sampleFPS, Pose: p.pose, Colours: p.colours,
	}
	kept, found, err := z.Surveys.Load(ctx, v.ID)
	if err != nil {
		z.Log.WarnContext(ctx, "what was seen before cannot be read", "video_id", v.ID, "error", err)
	}
	if !found || !kept.Covers(need) {
		// What was known stays known: questions of several kinds must not push each
		// other's out.
		need = need.Or(kept)
		if kept, err = z.pass(ctx, v, p, info, need, progress); err != nil {
			return sighting{}, err
		}
	}
	seen := sighting{Evidence: kept.For(p.classes), decodedS: kept.DecodedS, info: info, rules: rules}
	p.measure(&seen)
	return seen, nil
}

// pass looks at the video and keeps what it saw. That it could not be kept is not the
// question's fault.
func (z *Analyzer) pass(ctx context.Context, v video.State, p *pass, info gpu.Info, need survey.Need, progress func(context.Context, float64) error) (survey.Survey, error) {
	all := *p
	all.classes, all.pose, all.colours = everyTerm(info, need.Terms), need.Pose, need.Colours
	seen, err := all.look(ctx, info, progress)
	if err != nil {
		return survey.Survey{}, err
	}
	made := survey.Survey{
		Weights: need.Weights, Pose: need.Pose, Colours: need.Colours, DecodedS: seen.decodedS, Evidence: seen.Evidence,
	}
	if err := z.Surveys.Save(ctx, v.ID, made); err != nil && ctx.Err() == nil {
		z.Log.WarnContext(ctx, "what was seen could not be kept", "video_id", v.ID, "error", err)
	}
	return made, nil
}

// everyTerm are the terms of a pass: all that the model says it knows, and those of the
// question besides.
func everyTerm(info gpu.Info, asked []string) []string {
	all := slices.Clone(info.Vocabulary)
	for _, term := range asked {
		if !slices.Contains(all, term) {
			all = append(all, term)
		}
	}
	return all
}

// turns let one at a time work on something.
type turns struct {
	mu sync.Mutex
	// places hold what is worked on, with how many do or want to.
	places map[string]*place
}

type place struct {
	free  chan struct{}
	wants int
}

// turnEvery is how often one who waits for a turn is asked whether it still wants it.
const turnEvery = time.Second

// take waits for the turn at a name and returns the function that gives it back. waiting is
// called every second, and its error ends the wait.
func (t *turns) take(ctx context.Context, name string, waiting func() error) (leave func(), err error) {
	p := t.join(name)
	tick := time.NewTicker(turnEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.free:
			return func() { p.free <- struct{}{}; t.part(name) }, nil
		case <-tick.C:
			err = waiting()
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			t.part(name)
			return nil, err
		}
	}
}

func (t *turns) join(name string) *place {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.places == nil {
		t.places = map[string]*place{}
	}
	p := t.places[name]
	if p == nil {
		p = &place{free: make(chan struct{}, 1)}
		p.free <- struct{}{}
		t.places[name] = p
	}
	p.wants++
	return p
}

func (t *turns) part(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.places[name]; p.wants == 1 {
		delete(t.places, name)
	} else {
		p.wants--
	}
}
