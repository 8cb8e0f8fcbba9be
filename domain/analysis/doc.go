// Package analysis decides the life of an analysis, which answers a prompt about a video.
//
// # States (docs/contract.md#analysis-states)
//
//	state                                                                            | command       | next      | event
//	(none)                                                                           | Create        | queued    | analysis.created
//	(none)                                                                           | any           | unchanged | refused with resource_not_found
//	any                                                                              | Create        | unchanged | refused with resource_conflict
//	failed in an incident                                                            | Repeat        | repeated  | analysis.rerun
//	any                                                                              | Repeat        | unchanged | refused with rerun_not_eligible
//	drawing                                                                          | Draw          | completed | analysis.drawn
//	narrating                                                                        | Narrate       | completed | analysis.narrated
//	narrating                                                                        | FailNarration | completed | analysis.narration_failed
//	completed, drawing, narrating, failed, failed in an incident, repeated, canceled | Cancel        | unchanged | refused with analysis_not_cancelable
//	completed, drawing, narrating, failed, failed in an incident, repeated, canceled | any           | unchanged | refused with resource_conflict
//	queued                                                                           | Claim         | preparing | analysis.started
//	preparing, analyzing, rendering                                                  | Claim         | unchanged | analysis.reclaimed
//	queued                                                                           | Progress      | unchanged | refused with resource_conflict
//	preparing, analyzing                                                             | Progress      | rendering | analysis.progressed
//	rendering                                                                        | Progress      | unchanged | (none)
//	any                                                                              | Complete      | completed | analysis.completed
//	any                                                                              | Fail          | failed    | analysis.failed
//	any                                                                              | Cancel        | canceled  | analysis.canceled
//	any                                                                              | any           | unchanged | refused with resource_conflict
//
// The first row that fits applies.
//
//   - The Progress of the table begins the stage rendering. A Progress that begins no later
//     stage has no event. The percent within a stage is not an event: it is kept in a table
//     of its own while the work runs.
//   - Queued work completes only with an answer that was known at creation.
//   - "failed in an incident" and "repeated" have the status failed. The first failed while
//     a platform incident was open and has one free re-run. The second has used it.
//   - analysis.rerun changes nothing else of the failed analysis.
//
// "drawing" and "narrating" have the status completed. The artifacts of the first are being
// rendered, and the narrative of the second is being written. An analysis can be both. The
// two end in any order, with a result or a failure. The status, the answer and the bill are
// final before that: each event adds its part once and changes nothing else. An answer that
// was known at creation has its narrative already, or none.
//
// Each run of the work is an attempt with a number. A claim must have a higher number than
// the latest attempt, and reports of earlier attempts are refused. So a worker that was
// wrongly declared dead cannot overwrite its successor. The percent never falls.
//
// It may import the standard library, domain/fault, domain/query and domain/answer,
// never a sibling aggregate.
package analysis
