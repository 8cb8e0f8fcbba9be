package doctor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/handlers/language"
)

const (
	// modelPatience is how long a model is given that is examined, whatever it gets in service.
	modelPatience = 30 * time.Second
	modelQuestion = "Is there a ball?"

	fixLLM = "check VQA_LLM_URL, VQA_LLM_MODEL and VQA_LLM_API_KEY, or unset them: rules compile prompts then"
	fixVLM = "check VQA_VLM_URL, VQA_VLM_MODEL and VQA_VLM_API_KEY, or unset them: there are no second opinions then"
)

// checkLanguageModel lets the model compile a prompt, and takes the time.
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
		Chat: client, Timeout: modelPatience, Assessable: query.Assessable, Log: slog.New(slog.DiscardHandler),
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
		f := found("%s compiles a prompt in %d ms, and is given %s: rules will compile most", client.Model(), took.Milliseconds(), x.LLMTimeout)
		f.Verdict, f.Fix = Warning, "raise VQA_LLM_TIMEOUT, which every create may then take longer, or configure a faster model"
		return f
	}
	return found("%s compiles a prompt in %d ms", client.Model(), took.Milliseconds())
}

// checkVisionModel shows the model a picture in which the truth is known.
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
		return Finding{Verdict: Warning, Detail: "not checked: it needs a picture from ffmpeg"}
	}
	vision, err := language.NewVisionModel(client, slog.New(slog.DiscardHandler))
	if err != nil {
		return wrong(fixVLM, "%v", err)
	}
	prompt := modelQuestion
	said, err := vision.Opinion(ctx, &prompt, query.Compile(prompt), []language.Frame{{JPEG: x.picture}})
	if err != nil {
		return wrong(fixVLM, "%v", err)
	}
	if said.Answer != answer.Yes {
		return Finding{Verdict: Warning, Detail: client.Model() + " does not see the ball in the picture of a ball", Fix: "configure a model that takes pictures"}
	}
	return found("%s sees the ball in the picture", client.Model())
}
