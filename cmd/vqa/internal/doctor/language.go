package doctor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"vqa/domain/answer"
	"vqa/domain/query/english"
	"vqa/handlers/language"
)

const (
	// modelPatience is the time limit of a model in this check. The service's limit may be shorter.
	modelPatience = 30 * time.Second
	modelQuestion = "Is there a ball?"

	fixLLM = "check VQA_LLM_URL, VQA_LLM_MODEL and VQA_LLM_API_KEY, or unset them: then rules compile prompts"
	fixVLM = "check VQA_VLM_URL, VQA_VLM_MODEL and VQA_VLM_API_KEY, or unset them: then there are no second opinions"
)

// checkLanguageModel compiles a prompt with the model and measures the time.
func checkLanguageModel(ctx context.Context, x *Examination) Finding {
	client, err := x.LanguageModel()
	if err != nil {
		return wrong(fixLLM, "%v", err)
	}
	if client == nil {
		return found("none (VQA_LLM_URL): rules compile prompts and write narratives")
	}
	defer client.Close()
	compiler, err := language.NewCompiler(language.CompilerOptions{
		Chat: client, Timeout: modelPatience, Assessable: answer.Assessable, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return wrong(fixLLM, "%v", err)
	}
	started := time.Now()
	_, err = compiler.Compile(ctx, modelQuestion)
	took := time.Since(started)
	switch {
	case errors.Is(err, language.ErrUnusable):
		return Finding{Verdict: Warning, Detail: client.Model() + " does not understand " + modelQuestion, Fix: "configure a more capable model"}
	case err != nil:
		return wrong(fixLLM, "%v", err)
	case took > x.LLMTimeout:
		f := found("%s compiles a prompt in %d ms, but VQA_LLM_TIMEOUT is %s: rules will compile most prompts", client.Model(), took.Milliseconds(), x.LLMTimeout)
		f.Verdict, f.Fix = Warning, "configure a faster model, or raise VQA_LLM_TIMEOUT, which can slow down the creation of every analysis"
		return f
	}
	return found("%s compiles a prompt in %d ms", client.Model(), took.Milliseconds())
}

// checkVisionModel asks the model about a frame that shows a ball.
func checkVisionModel(ctx context.Context, x *Examination) Finding {
	client, err := x.VisionModel()
	if err != nil {
		return wrong(fixVLM, "%v", err)
	}
	if client == nil {
		return found("none (VQA_VLM_URL): no second opinions")
	}
	defer client.Close()
	if x.picture == nil {
		return Finding{Verdict: Warning, Detail: "not checked, because ffmpeg extracted no frame"}
	}
	vision, err := language.NewVisionModel(client, slog.New(slog.DiscardHandler))
	if err != nil {
		return wrong(fixVLM, "%v", err)
	}
	prompt := modelQuestion
	opinion, err := vision.Opinion(ctx, &prompt, english.Compile(prompt), []language.Frame{{JPEG: x.picture}})
	if err != nil {
		return wrong(fixVLM, "%v", err)
	}
	if opinion.Answer != answer.Yes {
		return Finding{Verdict: Warning, Detail: client.Model() + " does not see the ball in the test frame", Fix: "configure a model that reads images"}
	}
	return found("%s sees the ball in the test frame", client.Model())
}
