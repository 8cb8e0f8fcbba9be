package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"vqa/domain/fault"
	"vqa/domain/query"
)

// maxPrompt is the longest prompt in characters (api-v1.md, "Limits").
const maxPrompt = 2000

// checkCreateAnalysis applies what the schema cannot say, and the codes that the
// contract has for a prompt and a query (api-v1.md, "Create analysis request").
func (e *Edge) checkCreateAnalysis(body map[string]any, v *verdict) {
	checkWebhook(body, v)
	prompt, hasPrompt := body["prompt"]
	tree, hasQuery := body["query"]
	switch {
	case hasPrompt && hasQuery:
		v.add("query", fault.Exclusive, "cannot be given together with prompt")
	case !hasPrompt && !hasQuery:
		v.add("prompt", fault.Required, "is required without query")
		v.name(fault.New(fault.PromptEmpty, "").WithParam("prompt"))
	case hasPrompt:
		checkPrompt("prompt", prompt, fault.PromptEmpty, v)
	default:
		checkQuery(tree, v)
	}
}

// checkCreateBatch does so for each prompt of a batch.
func (e *Edge) checkCreateBatch(body map[string]any, v *verdict) {
	checkWebhook(body, v)
	prompts, _ := body["prompts"].([]any)
	for i, prompt := range prompts {
		checkPrompt(fmt.Sprintf("prompts.%d", i), prompt, fault.PromptEmpty, v)
	}
}

// checkParse gives an absent prompt the code that the parser has for an empty one.
func checkParse(body map[string]any, v *verdict) {
	prompt, given := body["prompt"]
	if !given {
		v.name(fault.New(fault.EmptyPrompt, "").WithParam("prompt"))
		return
	}
	checkPrompt("prompt", prompt, fault.EmptyPrompt, v)
}

// checkPrompt gives a blank prompt and one that is too long their codes.
func checkPrompt(param string, prompt any, empty fault.Code, v *verdict) {
	text, isText := prompt.(string)
	switch {
	case !isText:
	case strings.TrimSpace(text) == "":
		if !v.has(param) {
			v.add(param, fault.Length, "must not be blank")
		}
		v.name(fault.New(empty, "The prompt is empty.").WithParam(param))
	case utf8.RuneCountInString(text) > maxPrompt:
		v.name(fault.New(fault.PromptTooLong, "").WithParam(param))
	}
}

// checkWebhook refuses the override of an analysis or a batch: nothing delivers it yet, and a caller
// who relied on it would wait in vain.
func checkWebhook(body map[string]any, v *verdict) {
	if _, given := body["webhook"]; given {
		v.violations = slices.DeleteFunc(v.violations, func(o fault.Violation) bool { return o.Param == "webhook" })
		v.add("webhook", fault.UnknownField, "is not available yet, because the service does not deliver webhooks; leave the field out and poll the analysis or follow its events")
	}
}

// checkQuery answers a compiled query that does not match its schema, or whose fields
// contradict each other, with query_invalid.
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
			v.name(fault.Newf(fault.QueryInvalid, "%s: %s", violation.Param, violation.Message).WithParam(violation.Param))
			return
		}
	}
}
