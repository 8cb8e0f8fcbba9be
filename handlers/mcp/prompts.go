package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPromptArgument is the longest argument of a prompt in bytes, a little more than a question of 2,000 characters.
const maxPromptArgument = 8 << 10

// askPrompt is a prompt that clients offer to the person, for example as a command.
var askPrompt = &sdk.Prompt{
	Name: "ask_about_video", Title: "Ask about a video", Description: "Answer a question about a video, and say what it costs first.",
	Arguments: []*sdk.PromptArgument{
		{Name: "video", Description: "A public https URL of an MP4 or QuickTime file, or the id of a video of the account.", Required: true},
		{Name: "question", Description: "A question that has a short answer, such as: Is there a dog?", Required: true},
	},
}

// getAskPrompt returns the message of askPrompt. Errors: an argument is missing or too long.
func getAskPrompt(_ context.Context, request *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	for _, argument := range askPrompt.Arguments {
		if given := strings.TrimSpace(request.Params.Arguments[argument.Name]); given == "" || len(given) > maxPromptArgument {
			return nil, &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s: send 1 to %d bytes. %s", argument.Name, maxPromptArgument, argument.Description),
			}
		}
	}
	text := fmt.Sprintf("Answer this question about the video %s with the tools of this server: %s\n\n"+
		"Register the video if it is a URL, and wait until it is ready. Estimate the cost with validate_analysis and tell me before you create the analysis. "+
		"Then wait for the answer, and name the times in the video that it rests on.",
		strings.TrimSpace(request.Params.Arguments["video"]), strings.TrimSpace(request.Params.Arguments["question"]))
	return &sdk.GetPromptResult{
		Description: askPrompt.Description, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}},
	}, nil
}
