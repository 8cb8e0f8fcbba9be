package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/edge"
)

// problem is the error of a call as a model reads it.
type problem struct {
	// Code is one of the registry.
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	// Next is what to do about it.
	Next string `json:"next"`
	// Retryable is true if the same call can succeed after a pause.
	Retryable   bool           `json:"retryable"`
	RetryAfterS int            `json:"retry_after_s,omitempty"`
	Errors      []violation    `json:"errors,omitempty"`
	Details     map[string]any `json:"details,omitempty"`
	RequestID   string         `json:"request_id,omitempty"`
}

// violation is a broken rule of an argument.
type violation struct {
	Argument string `json:"argument"`
	Code     string `json:"code"`
	Message  string `json:"message"`
}

// Error implements error.
func (p *problem) Error() string { return string(p.Code) + ": " + p.Message }

func newProblem(code fault.Code, message string) *problem {
	entry := fault.Lookup(code)
	return &problem{Code: code, Message: message, Next: next(code), Retryable: entry.Retryable}
}

// problemOf returns the problem of an error. An error without a code is internal_error.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	f := fault.Of(err)
	if f == nil {
		f = fault.New(fault.InternalError, "")
	}
	p = newProblem(f.Code, f.Message)
	p.RetryAfterS = f.RetryAfterS
	for _, v := range f.Violations {
		p.Errors = append(p.Errors, violation{Argument: v.Param, Code: string(v.Code), Message: v.Message})
	}
	return p
}

// failed returns the result of a failed call. It has no structured content, because that would have to
// match the schema of a success.
func failed(p *problem) *sdk.CallToolResult {
	raw, err := json.Marshal(map[string]any{"error": p})
	if err != nil { // the details come from JSON
		raw = fmt.Appendf(nil, "%s: %s %s", p.Code, p.Message, p.Next)
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(raw)}}}
}

// refusal returns a fault as an error of the protocol.
func refusal(f *fault.Fault, requestID string) error {
	if f == nil {
		f = fault.New(fault.InternalError, "")
	}
	data, err := json.Marshal(map[string]any{"code": f.Code, "retry_after_s": f.RetryAfterS, "next": next(f.Code), "request_id": requestID})
	if err != nil {
		data = nil
	}
	return &jsonrpc.Error{Code: edge.RPCRefused, Message: f.Message, Data: data}
}

// steps say what to do about an error. The other codes have one of the registry's general answers.
var steps = map[fault.Code]string{
	fault.InvalidAPIKey:            "Ask the person to configure a valid API key for this server.",
	fault.KeyRevoked:               "Ask the person to configure another API key for this server.",
	fault.KeyExpired:               "Ask the person to configure a new API key for this server.",
	fault.InsufficientScope:        "Ask the person for an API key with this scope, or to connect this program again with their own videos. Do not repeat the call.",
	fault.AccountRestricted:        "Tell the person that the account is restricted. Do not repeat the call.",
	fault.TestKeyFixtureOnly:       "Call get_test_fixture and use its video_id. For other videos, ask the person for a live API key, or to connect this program again with their own videos.",
	fault.ValidationFailed:         "Correct the arguments that errors lists and call again.",
	fault.VideoUnreadable:          "Ask the person for an MP4 or QuickTime file and call create_video_from_url again.",
	fault.VideoTooLarge:            "Ask the person for a smaller file.",
	fault.VideoTooLong:             "Ask the person for a shorter video.",
	fault.URLFetchFailed:           "Check that the URL is public, then call create_video_from_url again.",
	fault.URLForbidden:             "Use a public https URL on port 443.",
	fault.PromptEmpty:              "Call again with a question in prompt.",
	fault.PromptTooLong:            "Shorten prompt to 2000 characters and call again.",
	fault.QueryInvalid:             "Send a question in prompt instead of query.",
	fault.ModelNotFound:            "Call list_models and use one of its ids, or leave out model.",
	fault.ModelDeprecated:          "Call list_models and use another id, or leave out model.",
	fault.ParseFailed:              "Rephrase the question as a short closed question and call again.",
	fault.ResourceNotFound:         "Check the id. It must belong to the account of this API key.",
	fault.ResourceConflict:         "Call get_video or get_analysis to see the status, then decide.",
	fault.IdempotencyKeyReused:     "Use another idempotency_key for other arguments.",
	fault.IdempotencyUnavailable:   "An equal call is running. Wait retry_after_s seconds and call again with the same idempotency_key.",
	fault.RerunNotEligible:         "Call create_analysis instead. It costs credits.",
	fault.InsufficientCredits:      "Call get_credits to see the balance, and ask the person to add credits. Do not repeat the call before.",
	fault.GrantExhausted:           "Tell the person that the free credits are used up. Do not repeat the call before they add credits.",
	fault.RateLimitExceeded:        "Wait retry_after_s seconds, then call again with the same arguments.",
	fault.ConcurrencyLimitExceeded: "Call wait_for_analysis for one that is running, then call again with the same arguments.",
	fault.QuotaExceeded:            "Call get_usage to see the limits, and tell the person. Do not repeat the call.",
	fault.InferenceError:           "The model failed on this input. Call create_analysis again; this one was not billed.",
	fault.StuckTimeout:             "The analysis was lost and not billed. Call create_analysis again.",
}

// next returns what to do about an error code.
func next(code fault.Code) string {
	if step, ok := steps[code]; ok {
		return step
	}
	if fault.Lookup(code).Retryable {
		return "Wait retry_after_s seconds, then call again with the same arguments and the same idempotency_key."
	}
	return "Tell the person about this error. Do not repeat the call unchanged."
}
