// Package jobs runs the work that takes time, mostly as River jobs: analyses, fetches of
// videos from URLs, drawings, narratives and removals. It also runs the background loops of a
// node. They sweep for lost work, remove orphaned objects, check the engine
// and make the demo videos.
//
// # Attempts
//
// A job is one attempt at one piece of work. River never retries it by itself. The number of
// the attempt is part of the job. An attempt first claims its work: it appends an event at
// the version it expects. So a job that runs twice, or too late, is refused.
//
// Every node works under a lease (eventstore/node). When the lease is over, its jobs are
// canceled at once, and it works none until it has the next lease. A job belongs to the
// incarnation of a node that holds one lease. The sweep looks for unfinished work without a
// waiting job and without a job of an incarnation that is alive. It enqueues the next attempt.
// After three lost attempts it gives the work up: stuck_timeout for an analysis,
// url_fetch_failed for a video. An attempt that a clean stop or the end of a lease cut off does
// not count as lost, when its node could record that. Neither does one that ended because of
// the infrastructure: classify decides that, and the work pauses. Before each further attempt
// there is a pause, which doubles up to a minute. Work is given up a day after it began.
//
// A removal of a deleted video is repeated until the log says that the bytes are gone.
//
// River ends the rows of jobs whose node died, after the timeout of their kind. The sweep needs
// no such row. A job whose end could not be recorded is canceled by its own node.
//
// The sweep also ends work that has expired: uploads that did not arrive, and holds of
// credits that were neither settled nor released in time.
//
// # Turns
//
// When a slot of a node is free, the node chooses the next analysis by the turns of the
// accounts (package queue) and records the turn in the table account_turns. One node chooses at
// a time. A further attempt keeps its turn and comes first. The turns are forgotten when no
// analysis waits or runs. They are not part of the log: they only decide the order.
//
// # Fetches
//
// A node fetches 16 URLs at once, at most 2 of them for one account. A fetch whose account
// has no free share is put back for a second, which is not an attempt. The priority of a
// fetch follows from the number of unfinished fetches of its account, so the first fetches
// of an account go before the backlog of another. In this way the slow servers of one account
// do not keep others waiting. Removals have a queue of their own.
//
// # Orphaned objects
//
// A deletion enqueues the removal of the objects that the log knows. The log does not know
// objects that a process stored but did not record before it was killed, nor objects that
// arrive late. So every node walks the object store. Between two walks it waits at least 20 s,
// and at least four times the duration of the last walk. It removes each object that its
// video can never own again:
//
//	object    stays while its video is
//	upload    awaiting_upload
//	video     awaiting_upload or processing; ready, under the key that the log recorded
//	survey    not deleted or failed
//	artifact  not deleted or failed
//
// An unfinished file is removed with its video, and when it has not been written to for an
// hour. Objects of videos that the log does not know are counted in the logs and left alone.
//
// # Surveys
//
// The detections of a video are saved as its survey, so that later questions examine no
// frames, or only those they need in addition. Package sampling decides which. On a node,
// questions about one video take turns. Every scan asks the engine for all terms that it
// knows. It always asks for colors, which take less than a hundredth of the time of the
// model. It asks for keypoints when an open question about the video needs them.
//
// A scan saves the survey every minute, or less often when saving would take more than a
// twentieth of the time. Detections are in a file during a scan, not in memory: four hours of
// a crowd take 0.5 GB. After an attempt that was cut off, the next one examines the rest. The
// result is the same, bit for bit.
//
// The evidence for a question depends on the video and the question alone, not on earlier
// questions. Scans after the first begin at the keyframe before an instant. A part of the
// video that is damaged shows nothing then.
//
// # Outages
//
// Every node checks its engine every 5 seconds. When the engine has not answered for half as
// long as an analysis waits for it, the node opens a platform incident. Analyses that fail
// during the incident may be run again for free. The node closes it when the engine answers
// again. Another node closes it when the node that opened it is gone. An analysis that waits
// too long for an engine that reports ready opens an incident too. An incident that an
// operator opened is closed only by the operator.
//
// # After the answer
//
// An analysis completes before its artifacts and its narrative exist: it records the names of
// the objects that will be drawn, and its narrative is generating. A drawing and a narrative
// are jobs of their own, in their own queues. They use the survey, or scan the video again
// when there is none:
//
//	job       makes                     ends with            given up
//	draw      the artifacts, or none    analysis.drawn       after three lost attempts: none
//	narrate   the narrative             analysis.narrated    after three lost attempts, and when
//	                                                         the video cannot be examined:
//	                                                         analysis.narration_failed
//
// These jobs claim nothing. All attempts at one drawing make the same objects. The first to
// end records them; objects that no result names are removed. They save no survey,
// because the video may be deleted meanwhile. When a drawing fails, the artifacts are
// missing. When the language model fails, the narrative is written by rules. The answer
// stays. A node that draws nothing leaves promised drawings to nodes that draw. When no such
// node has run for an hour, it gives them up.
//
// # Second opinions
//
// When the detector finds no answer to a question of a closed form, a vision model may be
// asked. It is shown up to 8 frames, evenly spread over those that may show the answer.
// Package answer bounds the weight of its opinion. When the vision model fails, the first
// result stays. A question that the detector cannot answer at all waits for a vision model that
// is away. It fails when there is none, and is not billed.
//
// # Demo videos
//
// At its start each node adds the demo videos that are missing from the log. It asks their
// questions one at a time, when callers have had no work for half a minute. The ids follow from the scene, the
// question and the model, so several nodes, or a second start, repeat no work. A new
// revision of a scene and a new model have new ids, so the questions are asked again.
//
// It may import domain, eventstore and eventstore/fold, gpu, gpu/chat and gpu/frames, the readers of
// projections, and River with the pool of pgx. Of handlers it may import artifact, command,
// intake/demo, intake/fixture, language, objects and survey. Its only SQL chooses the next analysis (pilot.go).
package jobs
