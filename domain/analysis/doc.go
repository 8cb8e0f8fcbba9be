// Package analysis decides the life of a question about a video.
//
// # States (api-v1.md, "States and transitions: Analysis")
//
//	state      | command  | next                 | event
//	(none)     | Create   | queued               | analysis.created
//	queued     | Claim    | preparing            | analysis.started
//	running    | Claim    | unchanged            | analysis.reclaimed, by a later attempt only
//	running    | Progress | the stage's          | analysis.progressed, never backwards
//	running    | Complete | completed            | analysis.completed
//	queued     | Complete | completed            | analysis.completed, for an answer known at once
//	queued     | Fail     | failed               | analysis.failed
//	running    | Fail     | failed               | analysis.failed
//	queued     | Cancel   | canceled             | analysis.canceled
//	running    | Cancel   | canceled             | analysis.canceled
//	terminal   | Cancel   | unchanged            | refused with analysis_not_cancelable
//	terminal   | any      | unchanged            | refused with resource_conflict
//
// "running" is preparing, analyzing or rendering. Each run of the work is an attempt
// with a number: reports of an earlier attempt are refused, so a worker that was
// thought dead cannot write over its successor. Progress percent never falls.
//
// It may import the standard library, domain/fault, domain/query and domain/answer,
// never a sibling aggregate.
package analysis
