package mcp

// schema is a JSON schema. Objects are open: a schema that forbids unknown members would break clients
// when a member is added.
type schema map[string]any

func typed(kind, description string) schema { return schema{"type": kind, "description": description} }

func text(description string) schema    { return typed("string", description) }
func number(description string) schema  { return typed("number", description) }
func integer(description string) schema { return typed("integer", description) }
func boolean(description string) schema { return typed("boolean", description) }

// with returns a copy with another keyword.
func (s schema) with(keyword string, value any) schema {
	out := schema{keyword: value}
	for k, v := range s {
		out[k] = v
	}
	return out
}

// within sets the smallest and the largest value.
func (s schema) within(low, high int) schema { return s.with("minimum", low).with("maximum", high) }

// examples names known values. Clients must accept further ones, so there is no enumeration.
func (s schema) examples(values ...any) schema { return s.with("examples", values) }

func list(items schema, description string) schema {
	return schema{"type": "array", "items": items, "description": description}
}

// orNull accepts null, too. A list of types is not used, because some clients refuse it.
func orNull(s schema) schema { return schema{"anyOf": []any{s, schema{"type": "null"}}} }

// object returns an open object that always has the required members.
func object(properties map[string]schema, required ...string) schema {
	s := schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

var (
	clipSchema = object(map[string]schema{
		"start_s": number("Start in seconds."), "end_s": number("End in seconds."), "confidence": number("0 to 1."),
	}, "start_s", "end_s", "confidence")

	failureSchema = object(map[string]schema{
		"code": text("A code of the error registry."), "message": text("The reason."),
	}, "code", "message")

	// videoSchema and analysisSchema describe the resources of the contract. TestSchemasAreThoseOfTheContract holds them
	// together.
	videoSchema = object(map[string]schema{
		"id": text("The id, for video_id of other tools."), "livemode": boolean("False for a video of test mode."),
		"status":   text("awaiting_upload, processing, ready or failed.").examples("ready"),
		"filename": orNull(text("The name of the file.")), "duration_s": orNull(number("Seconds.")), "width": orNull(integer("Pixels.")),
		"height": orNull(integer("Pixels.")), "fps": orNull(number("Frames per second.")), "size_bytes": orNull(integer("Bytes.")),
		"media": orNull(object(map[string]schema{"url": text("A signed URL of the file."), "expires_at": text("RFC 3339.")}, "url", "expires_at")),
		"error": orNull(failureSchema), "created_at": text("RFC 3339."),
	}, "id", "livemode", "status", "created_at")

	answerSchema = object(map[string]schema{
		"answer":               text("yes, no or indeterminate.").examples("yes"),
		"confidence":           number("0 to 1. From 0.7 reliable, below 0.4 unreliable."),
		"clips":                list(clipSchema, "The intervals in which the answer applies."),
		"detected_count":       orNull(integer("The largest number that is visible at the same time. Only for count questions.")),
		"count_evidence":       list(clipSchema, "The intervals in which the count is visible."),
		"indeterminate_reason": orNull(text("Why there is no answer.")),
		"unsupported_action":   object(map[string]schema{"reason": text("Why the question is not supported.")}, "reason"),
	}, "answer", "confidence", "clips")

	analysisSchema = object(map[string]schema{
		"id": text("The id of the analysis."), "livemode": boolean("False for a canned result of a test key, which says nothing about a real video."),
		"status":   text("queued, preparing, analyzing, rendering, completed, failed or canceled.").examples("completed"),
		"video_id": text("The video."), "prompt": orNull(text("The question.")), "model": text("The model."),
		"query":          {"type": "object", "description": "The compiled query. unassessable_components are parts of the question that no model assesses."},
		"progress":       orNull(object(map[string]schema{"stage": text("The current step."), "percent": number("0 to 100.")}, "percent")),
		"queue_position": orNull(integer("1 is next.")), "estimated_start_s": orNull(integer("Seconds until the start.")),
		"result":      orNull(answerSchema),
		"suggestions": list(text("A question."), "Questions that are answered. Only if this one was not."),
		"narrative": orNull(object(map[string]schema{
			"status": text("generating, ready or failed."), "entries": list(object(map[string]schema{"t_s": number("Seconds."), "text": text("What happens.")}), "In order."),
		}, "status", "entries")),
		"artifacts": orNull(object(map[string]schema{
			"annotated_video_url": text("A signed URL of the annotated video."), "expires_at": text("RFC 3339."),
			"contact_sheet_url": orNull(text("A signed URL of a PNG with the best frame of each interval.")),
		}, "annotated_video_url", "expires_at")),
		"error": orNull(failureSchema), "rerun_eligible": boolean("True if rerun_analysis is free."),
		"usage": orNull(object(map[string]schema{
			"billed_seconds": integer("Credits that were billed: seconds of video."), "credit_balance_after": orNull(integer("The balance right after.")),
		}, "billed_seconds")),
		"created_at": text("RFC 3339."), "completed_at": orNull(text("RFC 3339.")),
	}, "id", "livemode", "status", "video_id", "created_at")

	// briefSchema describes the members of an analysis that matter outside get_analysis. The full schema in each tool would
	// double the list of tools.
	briefSchema = object(map[string]schema{
		"id": text("The id of the analysis."), "status": text("As in get_analysis."), "prompt": orNull(text("The question.")),
		"result": orNull(object(map[string]schema{"answer": text("yes, no or indeterminate."), "confidence": number("0 to 1.")}, "answer", "confidence")),
		"error":  orNull(failureSchema), "rerun_eligible": boolean("True if rerun_analysis is free."),
	}, "id", "status")

	costSchema = object(map[string]schema{
		"held_seconds": integer("Credits that are reserved: seconds of video."), "held_usd": number("Their price in US dollars."), "note": text("What is billed."),
	}, "note")

	pricingSchema = object(map[string]schema{
		"full_price_prompts": integer("Prompts at the full price."), "discounted_prompts": integer("Prompts with the discount."), "discount_pct": integer("Percent."),
		"estimated_seconds": integer("Credits of all prompts: seconds of video."), "estimated_usd": number("Their price in US dollars."),
	}, "full_price_prompts", "discounted_prompts", "discount_pct")
)
