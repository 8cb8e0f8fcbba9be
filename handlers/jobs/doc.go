// Package jobs does what takes time, as River jobs: analyses, fetching videos from
// URLs, removing objects, the sweep that finds work whose worker was lost, the sealer
// that signs checkpoints of the ledger, and the watch over the engine.
//
// # Attempts
//
// A job is one attempt at one piece of work and River never retries it by itself.
// The number of the attempt is part of the job, and the first thing an attempt does
// is to claim the work by appending an event at the version it expects; so a job that
// runs twice, or too late, is refused. Every node holds a lock that lasts as long as
// it lives. The sweep looks for unfinished work that no waiting job and no job of a
// living node is about to do, and enqueues the next attempt, or, after three were
// lost, gives the work up: stuck_timeout for an analysis, url_fetch_failed for a video.
// An attempt that a clean stop cut off is not a lost one.
//
// The sweep also ends what waited too long: uploads that never came, and holds of
// credits that nobody settled or released in time.
//
// # Fetches
//
// A node fetches 16 URLs at once, at most 2 of them for one account. A fetch that finds its
// account's share in use is put back for a second, which is not an attempt. The first
// fetches of an account go before the backlog of another: the priority of a job follows from
// how many unfinished fetches its account has. So slow servers of one account keep nobody
// else waiting. Removals have a queue of their own.
//
// # Orphaned objects
//
// A deletion enqueues the removal of what the log knows of the video. What a process stored
// and never recorded because it was killed, or what came late, the log does not know: every
// node walks the object store, at least 20 s and four times the duration of the last walk
// apart, and removes each object that its video can never own again:
//
//	object    stays while its video is
//	upload    awaiting_upload
//	video     awaiting_upload or processing; ready, under the key that the log recorded
//	survey    not deleted or failed
//	artifact  not deleted or failed
//
// An unfinished file goes with its video, and when nobody has written to it for an hour.
// Objects of videos that the log does not know are counted in the log and left alone.
//
// # Surveys
//
// What was seen in a video is kept, so that later questions look at nothing, or only at
// what they need besides. On a node, questions about one video take turns. Every look asks
// the engine for all that it knows; colors always, since they cost less than a hundredth
// of the model, joints when an open question about the video needs them. A video is looked
// at in this order:
//
//	look    instants                               when
//	whole   every 0.5 s, every 2 s over 10 min     nothing was kept, or by another engine
//	close   every 0.5 s around hints               over 10 min: where a picture shows a class
//	                                               of the question at two thirds of a score that counts
//	edges   every 0.125 s between two samples      where runs begin and end, the surest first, of
//	                                               all classes (over 10 min: of the question's); at
//	                                               most a quarter of the samples and 24
//	lively  every 0.125 s between two samples      the question is about a jump or a fall: where
//	                                               its things are, those that go up and down
//	                                               most; at most as many as the samples or, in a
//	                                               short video, 144: all of 24 s
//	joints  the pictures with somebody             the question needs them, and no look asked
//
// What a look saw so far is kept every minute, less often where that would take more than a
// twentieth of the time. What frames show is in a file while it is worked on, not in memory:
// four hours of a crowd are 0.5 GB of it. An attempt that follows one which was cut off, by another question
// or after the process was started anew, looks at the rest, and sees the same, bit for bit.
//
// A question is told what these looks alone would have told it, whatever was asked before:
// the same question has the same answer. The looks that follow the first begin at the key
// picture before an instant; a part of the video that is damaged shows nothing there.
//
// # Checkpoints
//
// Once a minute the sealer signs a checkpoint of every account whose ledger moved on.
// Nodes may seal at the same time: each checkpoint names the one before and is appended
// at the version it expects, so that one of two is refused and nothing forks.
//
// # Outages
//
// Every node looks at its engine every 5 seconds. One that is away for half as long as an
// analysis waits for it is a platform incident, which the node opens by itself, so that what
// fails by it may be run again for free; the node closes it when the engine is back, and
// another node when the one that opened it is gone. An analysis that waited in vain for an
// engine which says that it is ready opens one too. An incident that an operator opened is
// the operator's.
//
// # After the answer
//
// What is made of an answer does not hold it up. An analysis completes with the names of
// the objects that will be drawn, and its narrative is generating; each is a job of its own,
// on a queue of its own, and works from the survey, or looks again when that is gone:
//
//	job       makes                     ends with            given up
//	draw      the artifacts, or none    analysis.drawn       after three lost attempts: none
//	narrate   the narrative             analysis.narrated    after three lost attempts, and when
//	                                                         there is nothing to look at:
//	                                                         analysis.narration_failed
//
// Nothing is claimed here: attempts at one drawing make the same objects, the first to end
// says what there is, what nobody was told of is removed, and what is seen is not kept. So
// nothing stays of a video that is deleted meanwhile. A drawing that fails costs the artifacts, a model that
// writes badly costs the prose, and neither the answer. A node that draws nothing leaves
// the drawings that were promised to those that do; when none was there for an hour, it
// gives them up.
//
// # Second opinions
//
// Where the detector finds no answer to a question of closed form, a model that looks at
// pictures may be asked, with up to 8 frames: those that may show it, evenly spread. Its
// word is bounded by domain/answer. A model that is away costs the second opinion alone;
// only a question that the detector cannot answer at all fails without it, as inference
// that was away, and is not billed.
//
// # Demo videos
//
// At its start each node adds the demo videos that are missing from the log. It asks their
// questions one at a time, with the lowest priority. The ids follow from the scene, the
// question and the model, so several nodes, or a second start, repeat no work. A new
// revision of a scene and a new model have new ids, so the questions are asked again.
//
// It may import domain, handlers/language, the contract of eventstore, handlers/command,
// handlers/artifact, demo, objects and survey, handlers/react, the readers of projections,
// the contract of gpu and River. It never sees SQL.
package jobs
