package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool and the operation that it carries out.
type tool struct {
	name, title, description string
	// operation is the operationId, and method and path are its request.
	operation, method, path string
	arguments               []argument
	// result is the schema of the result.
	result schema
	// effect says what a call changes.
	effect effect
	run    func(ctx context.Context, c *call) (any, error)
}

// effect says what a call of a tool changes. No tool deletes anything.
type effect int

const (
	reads effect = iota
	// creates adds a resource. With an idempotency_key, a repeated call adds nothing.
	creates
	// fetches adds a resource and reads from another host.
	fetches
)

// described returns the tool as clients see it.
func (t *tool) described() *sdk.Tool {
	properties := map[string]schema{}
	var required []string
	for _, a := range t.arguments {
		properties[a.name] = a.schema
		if a.required {
			required = append(required, a.name)
		}
	}
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: object(properties, required...), OutputSchema: t.result,
		Annotations: &sdk.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.effect == reads, IdempotentHint: t.effect == reads,
			DestructiveHint: new(false), OpenWorldHint: new(t.effect == fetches),
		},
	}
}

// argument returns an argument by its name, or nil.
func (t *tool) argument(name string) *argument {
	for i := range t.arguments {
		if t.arguments[i].name == name {
			return &t.arguments[i]
		}
	}
	return nil
}

// nameOf returns the argument that sets a field of the operation. Other fields keep their name.
func (t *tool) nameOf(field string) string {
	for _, a := range t.arguments {
		if a.place != own && a.field == field {
			return a.name
		}
	}
	return field
}

// The arguments that several tools have.
var (
	videoID = argument{name: "video_id", place: inBody, field: "video_id", required: true, schema: text("The id of a video with status ready, for example video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A.")}
	prompt  = argument{
		name: "prompt", place: inBody, field: "prompt",
		schema: text("The question in plain English, 1 to 2000 characters, for example: Is there a dog? How many cars are there? When does a person enter?"),
	}
	compiledQuery = argument{
		name: "query", place: inBody, field: "query",
		schema: schema{"type": "object", "description": "A compiled query instead of prompt, from validate_analysis or POST /v1/parse. Send prompt or query, not both."},
	}
	modelID   = argument{name: "model", place: inBody, field: "model", schema: text("An id of list_models. The default is the default model.")}
	narrative = argument{name: "narrative", place: inBody, field: "options.narrative", schema: boolean("Also describe what happens over time. No extra cost.")}
	labels    = argument{
		name: "metadata", place: inBody, field: "metadata",
		schema: schema{"type": "object", "additionalProperties": schema{"type": "string"}, "description": "Labels of your own: at most 16 strings of at most 500 characters."},
	}
	idempotencyKey = argument{
		name: "idempotency_key", place: inHeader, field: "Idempotency-Key",
		schema: text("1 to 255 visible ASCII characters that you choose for this call, such as a UUID. A repeated call with the same key and arguments within 24 hours returns the first result and costs nothing."),
	}
	analysisID = argument{name: "analysis_id", place: inPath, field: "id", required: true, schema: text("The id of the analysis, for example an_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A.")}
	image      = argument{name: "include_image", place: own, schema: boolean("Also return a picture with the best frame of each interval, if there is one. About 300 KB. The default is false.")}
	after      = argument{name: "starting_after", place: inQuery, field: "starting_after", schema: text("The next_starting_after of the previous page.")}
)

func pathOf(a argument) argument { a.place, a.field = inPath, "id"; return a }

func limit(of string) argument {
	return argument{name: "limit", place: inQuery, field: "limit", value: "10", schema: integer(fmt.Sprintf("The most %s to return, 1 to 100. The default is 10.", of)).within(1, 100).with("default", 10)}
}

// table returns all tools. The order is that of a conversation.
func (s *endpoint) table() []*tool {
	price := fmt.Sprintf("One credit is one second of video and costs $%s.", s.price(1))
	return append([]*tool{
		{
			name: "create_video_from_url", title: "Register a video", operation: "createVideo", method: "POST", path: "/v1/videos", effect: fetches, run: createVideo,
			description: "Registers a public https URL of an MP4 or QuickTime file, at most 2 GiB. The service fetches the file. Registering is free. " +
				"Returns the video with status processing; call get_video until it is ready. A file without a public URL is uploaded with an API key (POST /v1/videos); list_videos finds it.",
			arguments: []argument{
				{name: "url", place: inBody, field: "url", required: true, schema: text("A public https URL on port 443, at most 2048 characters.")}, labels, idempotencyKey,
			},
			result: videoSchema,
		},
		{
			name: "get_video", title: "Read a video", operation: "getVideo", method: "GET", path: "/v1/videos/{id}", run: getVideo,
			description: "Returns the status, the duration in seconds and the size in pixels of a video. Free.",
			arguments:   []argument{pathOf(videoID)}, result: videoSchema,
		},
		{
			name: "create_analysis", title: "Ask a question about a video", operation: "createAnalysis", method: "POST", path: "/v1/analyses", effect: creates, run: createAnalysis,
			description: "Asks one question about a video and returns its analysis at once; wait_for_analysis waits for the answer. " + price +
				" The cost is the duration of the video in seconds, rounded up. It is reserved now and billed only if the analysis completes. " +
				"validate_analysis estimates it, free of charge. With a test key, the answer is canned, immediate and free.",
			arguments: []argument{videoID, prompt, compiledQuery, modelID, narrative, labels, idempotencyKey},
			result: object(map[string]schema{
				"analysis": briefSchema, "cost": costSchema, "next": text("What to do next."),
			}, "analysis", "cost", "next"),
		},
		{
			name: "validate_analysis", title: "Check a question and its cost", operation: "createAnalysis", method: "POST", path: "/v1/analyses", run: validateAnalysis,
			description: "Checks whether a question can be answered and estimates its cost in credits and US dollars. Creates nothing and costs nothing. " + price,
			arguments:   []argument{videoID, prompt, compiledQuery, modelID},
			result: object(map[string]schema{
				"assessable": boolean("True if the question can be answered."), "note": text("Why the question cannot be answered fully."),
				"question_type": text("The form of the question, such as presence, count or action."), "search_terms": list(text("A term."), "The terms that the model searches in the frames."),
				"not_assessed":     list(text("A part of the question."), "Parts of the question that no model assesses."),
				"suggestions":      list(text("A question."), "Questions that are answered. Only if assessable is false."),
				"video_duration_s": number("Seconds."), "estimated_seconds": integer("Credits: seconds of video. Absent if the duration is unknown."),
				"estimated_usd": number("Their price in US dollars."), "query": {"type": "object", "description": "The compiled query, for query of create_analysis."},
				"next": text("What to do next."),
			}, "assessable", "query", "next"),
		},
		{
			name: "create_analysis_batch", title: "Ask several questions about a video", operation: "createAnalysisBatch", method: "POST", path: "/v1/analyses/batch", effect: creates, run: createBatch,
			description: fmt.Sprintf("Asks 2 to 10 questions about one video. All are accepted or none. The first has the full price, each other one a discount of %d%%. %s "+
				"Call wait_for_analysis for each analysis.", s.BatchDiscountPct, price),
			arguments: []argument{
				videoID,
				{name: "prompts", place: inBody, field: "prompts", required: true, schema: list(text("A question, 1 to 2000 characters."), "2 to 10 questions.").with("minItems", 2).with("maxItems", 10)},
				modelID, narrative, labels, idempotencyKey,
			},
			result: object(map[string]schema{
				"batch_id": text("The id of the batch."), "analyses": list(briefSchema, "In the order of the prompts."), "pricing": pricingSchema, "next": text("What to do next."),
			}, "batch_id", "analyses", "pricing", "next"),
		},
	}, s.readers()...)
}

// readers returns the tools that follow a question, and those about the account.
func (s *endpoint) readers() []*tool {
	return []*tool{
		{
			name: "list_videos", title: "Find videos", operation: "listVideos", method: "GET", path: "/v1/videos", run: listVideos,
			description: "Lists the videos of the account, newest first, also those that a person uploaded. Free. Use it to find the video_id by filename or time.",
			arguments: []argument{
				limit("videos"), after,
				{name: "status", place: inQuery, field: "status", schema: text("Only videos with this status: awaiting_upload, processing, ready or failed.")},
			},
			result: object(map[string]schema{
				"videos": list(object(map[string]schema{
					"id": text("For video_id of other tools."), "status": text("As in get_video."), "filename": orNull(text("The name of the file.")),
					"duration_s": orNull(number("Seconds.")), "created_at": text("RFC 3339."),
				}, "id", "status"), "Newest first."),
				"has_more": boolean("True if there are more."), "next_starting_after": text("For starting_after of the next page."),
			}, "videos", "has_more"),
		},
		{
			name: "get_analysis", title: "Read an analysis", operation: "getAnalysis", method: "GET", path: "/v1/analyses/{id}", run: getAnalysis,
			description: "Returns the status of an analysis, and its answer with confidence (0 to 1) and intervals (seconds) if it is completed. Free. Use wait_for_analysis to wait.",
			arguments:   []argument{analysisID, image}, result: analysisSchema,
		},
		{
			name: "wait_for_analysis", title: "Wait for an answer", operation: "streamAnalysis", method: "GET", path: "/v1/analyses/{id}/events", run: wait,
			description: "Waits until an analysis is completed, failed or canceled, at most 45 seconds, and reports progress. Free. " +
				"If retry is not null, the analysis still runs: call this tool again.",
			arguments: []argument{
				analysisID, image,
				{name: "timeout_s", place: own, value: "45", schema: integer("Seconds to wait, 1 to 45. The default is 45.").within(1, maxWait).with("default", maxWait)},
			},
			result: object(map[string]schema{
				"analysis": briefSchema,
				"retry": orNull(object(map[string]schema{
					"reason": text("timeout.").examples("timeout"), "note": text("What to do."),
				}, "reason", "note")),
			}, "analysis", "retry"),
		},
		{
			name: "list_video_analyses", title: "List the questions about a video", operation: "listVideoAnalyses", method: "GET", path: "/v1/videos/{id}/analyses", run: listAnalyses,
			description: "Lists the analyses of a video, newest first, with their answers. Free. Use it before you ask a question again.",
			arguments: []argument{
				pathOf(videoID), limit("analyses"), after,
				{name: "status", place: inQuery, field: "status", schema: text("Only analyses with this status: queued, preparing, analyzing, rendering, completed, failed or canceled.")},
			},
			result: object(map[string]schema{
				"analyses": list(briefSchema, "Newest first, without links."), "has_more": boolean("True if there are more."),
				"next_starting_after": text("For starting_after of the next page."),
			}, "analyses", "has_more"),
		},
		{
			name: "rerun_analysis", title: "Repeat a failed analysis for free", operation: "rerunAnalysis", method: "POST", path: "/v1/analyses/{id}/rerun", effect: creates, run: rerun,
			description: "Repeats an analysis that failed because of the service (rerun_eligible is true). Free, once for each analysis. Returns a new analysis.",
			arguments:   []argument{analysisID, idempotencyKey},
			result:      object(map[string]schema{"analysis": briefSchema, "next": text("What to do next.")}, "analysis", "next"),
		},
		{
			name: "list_models", title: "List the models", operation: "listModels", method: "GET", path: "/v1/models", run: listModels,
			description: "Lists the models with their abilities and the terms that they know. Free.",
			result: object(map[string]schema{"models": list(object(map[string]schema{
				"id": text("For model of other tools."), "status": text("preview, stable or deprecated."), "default": boolean("True for the default model."),
				"counting": boolean("Answers count questions."), "actions": text("none, beta or stable."), "narrative": boolean("Describes what happens."),
				"open_vocabulary": boolean("Accepts any term."), "vocabulary": list(text("A term."), "The terms that the model knows. Absent if it accepts any."),
			}, "id", "status", "default"), "All models.")}, "models"),
		},
		{
			name: "get_usage", title: "Read usage and quotas", operation: "getUsage", method: "GET", path: "/v1/usage", run: getUsage,
			description: "Returns the meters of the account: balance in credits, seconds processed, and quotas with their limits. Free.",
			result: object(map[string]schema{"meters": list(object(map[string]schema{
				"meter": text("The name, such as credit_seconds."), "unit": text("The unit."), "balance": integer("For a balance."), "used": integer("For a period."),
				"limit": integer("The limit. Absent if there is none."), "resets_at": text("RFC 3339: the end of the period."),
			}, "meter", "unit"), "All meters.")}, "meters"),
		},
		{
			name: "get_credits", title: "Read the credit balance", operation: "getCredits", method: "GET", path: "/v1/credits", run: getCredits,
			description: fmt.Sprintf("Returns the balance in credits (seconds of video, $%s each) and the latest transactions. Free.", s.price(1)),
			arguments:   []argument{limit("transactions"), after},
			result: object(map[string]schema{
				"available_seconds": integer("Credits that can be spent."), "available_usd": number("Their price in US dollars."),
				"balance_seconds": integer("The posted balance."), "held_seconds": integer("Reserved for running analyses."),
				"price_per_second_usd": number("US dollars for one credit."),
				"transactions": list(object(map[string]schema{
					"id": text("The id."), "kind": text("Such as signup_grant, purchase or analysis_debit."), "seconds_delta": integer("Negative for debits."),
					"balance_after_seconds": integer("The balance right after."), "source_id": text("The analysis."), "created_at": text("RFC 3339."),
				}, "id", "kind", "seconds_delta"), "Newest first."),
				"has_more": boolean("True if there are more transactions."), "next_starting_after": text("For starting_after of the next page."),
			}, "available_seconds", "balance_seconds", "held_seconds", "transactions", "has_more"),
		},
		{
			name: "get_test_fixture", title: "Get a free test video", operation: "getTestFixture", method: "GET", path: "/v1/test-fixture", run: getFixture,
			description: "Returns a test video, a question about it and the expected answer. With a test key it also returns the video_id of the test video, so that every tool can be tried free of charge.",
			result: object(map[string]schema{
				"video_id": text("The test video of this key. Absent for a live key."), "video_url": text("The file."), "duration_s": number("Seconds."),
				"prompt": text("A question about the video."), "expected_answer": text("yes, no or indeterminate."), "next": text("What to do next."),
			}, "video_url", "duration_s", "prompt", "expected_answer", "next"),
		},
	}
}
