package command

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

// slang is a prompt that only the scripted compiler understands.
const slang = "yo, frumious woofers up in this joint, y/n"

// scripted is a compiler that compiles only slang. Each call waits for until, if it is set.
type scripted struct {
	until func()

	mu    sync.Mutex
	asked []string
}

func (s *scripted) Compile(_ context.Context, prompt string) (query.Query, error) {
	s.mu.Lock()
	s.asked = append(s.asked, prompt)
	s.mu.Unlock()
	if s.until != nil {
		s.until()
	}
	if prompt != slang {
		return query.Query{}, errors.New("what?")
	}
	q := english.Compile("Is there a dog?")
	q.OriginalPrompt = &prompt
	return q, nil
}

func withCompiler(c Compiler) option { return func(d *Dependencies) { d.Compiler = c } }

func TestPromptsAreReadByAModel(t *testing.T) {
	t.Parallel()
	require.Equal(t, query.OpenEnded, english.Compile(slang).PromptIntent, "only the model must understand it")
	model := &scripted{}
	w := newWorld(t, withCompiler(model))
	caller := w.account(100)
	c := ask(w.readyVideo(caller))
	c.Prompt = ptr(slang)

	c.ValidateOnly = true
	plan, err := w.CreateAnalysis(t.Context(), caller, c)
	require.NoError(t, err)
	require.True(t, plan.Assessable)
	require.Equal(t, analysis.ParseLLM, plan.Analysis.ParseMode)

	c.ValidateOnly = false
	plan, err = w.CreateAnalysis(t.Context(), caller, c)
	require.NoError(t, err)
	a := stateOf(w, analyses, plan.Analysis.ID)
	require.Equal(t, analysis.Queued, a.Status)
	require.Equal(t, analysis.ParseLLM, a.ParseMode)
	require.Equal(t, slang, *a.Query.OriginalPrompt)
	require.Equal(t, "dog", a.Query.Subjects[0].Term)

	q, mode, err := w.Parse(t.Context(), slang)
	require.NoError(t, err)
	require.Equal(t, analysis.ParseLLM, mode)
	require.Equal(t, a.Query, q)

	c.Prompt = ptr("Is there a cat?")
	plan, err = w.CreateAnalysis(t.Context(), caller, c)
	require.NoError(t, err)
	require.Equal(t, analysis.ParseHeuristic, plan.Analysis.ParseMode, "the model fails, and the rules answer")
	require.Equal(t, english.Compile("Is there a cat?"), plan.Analysis.Query)
	require.Equal(t, []string{slang, slang, slang, "Is there a cat?"}, model.asked)
}

// TestPromptsOfABatchAreReadTogether: all ten calls of the model run at the same time.
func TestPromptsOfABatchAreReadTogether(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	all.Add(10)
	model := &scripted{until: func() { all.Done(); all.Wait() }}
	w := newWorld(t, withCompiler(model))
	caller := w.account(1000)
	c := batchOf(w.readyVideo(caller), 10)
	c.Prompts[3] = slang
	batch, err := w.CreateBatch(t.Context(), caller, c)
	require.NoError(t, err)
	for i, p := range batch.Analyses {
		want := analysis.ParseHeuristic
		if i == 3 {
			want = analysis.ParseLLM
		}
		require.Equal(t, want, p.Analysis.ParseMode)
		require.Equal(t, c.Prompts[i], *p.Analysis.Query.OriginalPrompt)
	}
}

// TestModelIsNotCalledForInvalidPrompts: an invalid prompt is refused before the model is called, and test keys use only
// the rules.
func TestModelIsNotCalledForInvalidPrompts(t *testing.T) {
	t.Parallel()
	model := &scripted{}
	w := newWorld(t, withCompiler(model))
	caller := w.account(100)
	c := ask(w.readyVideo(caller))
	c.Prompt = ptr("?!")
	_, err := w.CreateAnalysis(t.Context(), caller, c)
	requireFault(t, err, fault.ParseFailed)
	batch := batchOf(c.VideoID, 3)
	batch.Prompts[2] = " "
	_, err = w.CreateBatch(t.Context(), caller, batch)
	requireFault(t, err, fault.PromptEmpty)
	require.Equal(t, "prompts.2", fault.Of(err).Param)
	own := ask(c.VideoID)
	own.Prompt, own.Query = nil, ptr(english.Compile("Is there a dog?"))
	_, err = w.CreateAnalysis(t.Context(), caller, own)
	require.NoError(t, err)

	tester, fixtureVideo := w.sandbox()
	c = ask(fixtureVideo)
	c.Prompt = ptr(slang)
	plan, err := w.CreateAnalysis(t.Context(), tester, c)
	require.NoError(t, err)
	require.Equal(t, analysis.ParseHeuristic, plan.Analysis.ParseMode)
	require.Empty(t, model.asked)
}

// TestAssessableIsConfigured: with a vision model, a prompt that the detector cannot answer is accepted, and
// it reserves the normal price.
func TestAssessableIsConfigured(t *testing.T) {
	t.Parallel()
	const juggling = "Is a person juggling?"
	w := newWorld(t)
	caller := w.account(100)
	c := ask(w.readyVideo(caller))
	c.Prompt = ptr(juggling)
	refused, err := w.CreateAnalysis(t.Context(), caller, c)
	require.NoError(t, err)
	require.False(t, refused.Assessable)
	require.Equal(t, analysis.CompletedStatus, refused.Analysis.Status)
	require.NotNil(t, refused.Analysis.Result.UnsupportedAction)
	require.EqualValues(t, 0, refused.Analysis.Usage.BilledSeconds)

	w.Assessable = func(q query.Query) bool { return q.PromptIntent != query.OpenEnded }
	c.ValidateOnly = true
	preview, err := w.CreateAnalysis(t.Context(), caller, c)
	require.NoError(t, err)
	require.True(t, preview.Assessable)
	require.EqualValues(t, 10, *preview.EstimatedSeconds)
	c.ValidateOnly = false
	admitted, err := w.CreateAnalysis(t.Context(), caller, c)
	require.NoError(t, err)
	require.Equal(t, analysis.Queued, admitted.Analysis.Status)
	require.EqualValues(t, 10, admitted.Analysis.HeldSeconds)

	c.Prompt = ptr("What is love?")
	open, err := w.CreateAnalysis(t.Context(), caller, c)
	require.NoError(t, err)
	require.Equal(t, answer.Indeterminate, open.Analysis.Result.Answer, "an open-ended question is still refused at once")
}
