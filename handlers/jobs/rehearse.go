package jobs

import (
	"context"
	"errors"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/query/english"
	"vqa/domain/video"
)

// Rehearse runs an analysis of a video that is not in the log. It examines the video,
// answers the prompt and, with a Renderer, draws the artifacts, with the same code as Run
// and Draw. Nothing is recorded or billed. The caller removes the objects of the video.
// `vqa doctor` uses it to check that analyses work on this machine.
func (z *Analyzer) Rehearse(ctx context.Context, v video.State, prompt string) (answer.Result, error) {
	a := analysis.State{ID: "rehearsal", VideoID: v.ID, Prompt: &prompt, Query: english.Compile(prompt)}
	p, err := z.examinationOf(ctx, a, v)
	if err != nil {
		return answer.Result{}, err
	}
	p.unsaved = true
	seen, err := z.survey(ctx, v, p, noProgress)
	if err != nil {
		return answer.Result{}, err
	}
	defer seen.close()
	result := answer.Decide(a.Query, seen.Evidence, seen.rules)
	if planned := z.plan(a, v, seen, result); planned != nil {
		in := drawingInput(a, v, seen, result)
		in.Source = p.source
		_, err = z.Renderer.Make(ctx, *planned, in)
	}
	return result, errors.Join(err, seen.survey.Err())
}
