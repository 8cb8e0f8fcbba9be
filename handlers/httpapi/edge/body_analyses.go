package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"vqa/domain/fault"
	"vqa/domain/query"
)

// maxPrompt is the longest prompt in characters (docs/contract.md#limits).
const maxPrompt = 2000

// checkCreateAnalysis applies the rules of docs/contract.md#create-analysis, with the
// specific codes for a prompt and a query.
func (e *Edge) checkCreateAnalysis(body map[string]any, v *verdict) {
	e.checkOverride(body, v)
	prompt, hasPrompt := body["prompt"]
	tree, hasQuery := body["query"]
	switch {
	case hasPrompt && hasQuery:
		v.add("query", fault.Exclusive, "cannot be given together with prompt")
	case !hasPrompt && !hasQuery:
		v.add("prompt", fault.Required, "is required unless query is given")
		v.setSpecific(fault.New(fault.PromptEmpty, "").WithParam("prompt"))
	case hasPrompt:
		checkPrompt("prompt", prompt, fault.PromptEmpty, v)
	default:
		checkQuery(tree, v)
	}
}

// checkCreateBatch applies the rules of docs/contract.md#batches to each prompt.
func (e *Edge) checkCreateBatch(body map[string]any, v *verdict) {
	e.checkOverride(body, v)
	prompts, _ := body["prompts"].([]any)
	for i, prompt := range prompts {
		checkPrompt(fmt.Sprintf("prompts.%d", i), prompt, fault.PromptEmpty, v)
	}
}

// checkParse reports an absent prompt with the same code as an empty one.
func checkParse(body map[string]any, v *verdict) {
	prompt, given := body["prompt"]
	if !given {
		v.setSpecific(fault.New(fault.EmptyPrompt, "").WithParam("prompt"))
		return
	}
	checkPrompt("prompt", prompt, fault.EmptyPrompt, v)
}

// checkPrompt reports a blank or too long prompt with its specific code.
func checkPrompt(param string, prompt any, empty fault.Code, v *verdict) {
	text, isText := prompt.(string)
	switch {
	case !isText:
	case strings.TrimSpace(text) == "":
		if !v.has(param) {
			v.add(param, fault.Length, "must not be blank")
		}
		v.setSpecific(fault.New(empty, "The prompt is empty.").WithParam(param))
	case utf8.RuneCountInString(text) > maxPrompt:
		v.setSpecific(fault.New(fault.PromptTooLong, "").WithParam(param))
	}
}

// checkOverride refuses a webhook override whose URL the service may not call.
func (e *Edge) checkOverride(body map[string]any, v *verdict) {
	if override, given := body["webhook"].(map[string]any); given {
		checkTarget("webhook.url", override["url"], e.Targets.CheckWebhookURL, v)
	}
}

// checkQuery reports query_invalid for a compiled query that does not match its schema or
// whose fields contradict each other.
func checkQuery(tree any, v *verdict) {
	if !v.has("query") {
		raw, err := json.Marshal(tree)
		if err == nil {
			_, err = query.Decode(raw)
		}
		var invalid *query.InvalidError
		switch {
		case errors.As(err, &invalid):
			v.add(strings.TrimSuffix("query."+invalid.Param, "."), fault.Format, invalid.Message)
		case err != nil:
			v.add("query", fault.Format, "is not a compiled query")
		default:
			return
		}
	}
	for _, violation := range v.violations {
		if violation.Param == "query" || strings.HasPrefix(violation.Param, "query.") {
			v.setSpecific(fault.Newf(fault.QueryInvalid, "%s: %s", violation.Param, violation.Message).WithParam(violation.Param))
			return
		}
	}
}
