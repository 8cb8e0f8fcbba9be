// Package analysis decides the life of a question about a video.
//
// # States (api-v1.md, "States and transitions: Analysis")
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
//	preparing, analyzing, rendering                                                  | Progress      | rendering | analysis.progressed
//	any                                                                              | Complete      | completed | analysis.completed
//	any                                                                              | Fail          | failed    | analysis.failed
//	any                                                                              | Cancel        | canceled  | analysis.canceled
//	any                                                                              | any           | unchanged | refused with resource_conflict
//
// The first row that fits holds; the Progress of the table has reached rendering, and
// one that says nothing new leads to no event. Queued work completes only with an
// answer that was known at once. The status of the last two but one is failed: one
// failed while a platform incident was open, which earns it one free re-run, and one has
// used that. The event changes nothing else of an analysis that has ended.
//
// A completed analysis that has something to show is drawing, and one whose narrative was
// asked for is narrating, until that is there or has failed; it may be both, and is so in
// either order. Its status, its answer and its bill are final before: the event fills in
// what it was without, once, and changes nothing else. An answer that was known at once has
// its narrative with it, or none.
//
// Each run of the work is an attempt with a number: a claim must be higher than the
// latest, and reports of an earlier attempt are refused, so a worker that was
// thought dead cannot write over its successor. Progress percent never falls.
//
// It may import the standard library, domain/fault, domain/query and domain/answer,
// never a sibling aggregate.
package analysis
