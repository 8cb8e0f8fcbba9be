// Package live runs the live streams of a node: it turns the pictures of a client into answers, keeps the
// live clock and ends each stream once.
//
// It may import the standard library, domain, golang.org/x/sync and the other packages of streaming. The
// log, the engine and the credits are behind interfaces. It writes no SQL and serves no HTTP.
//
// # A session
//
// A Host has one Session for each stream whose slot was granted to this node. One goroutine owns the
// state of a session. Others do what can take long, and report to it: the watcher asks the engine, the
// clerk writes to the log, and the decoder and the recorder have their own.
//
//	ready    no offer yet         ends as canceled when the time to join is over
//	offered  ICE looks for a path ends as ice_failed when its time is over, with a diagnosis
//	live     ICE has succeeded    ends as media_timeout without a result in the first-frame window,
//	                              as timeout at the longest session, as insufficient_credits when the held
//	                              seconds are used up, as completed when the client ends it or vanishes
//	ended                         the resources are freed, the log has the end
//
// An end through the API on another node is read from the log, at the latest at the next heartbeat.
// Observe brings it at once.
//
// # Presence
//
// A live client has vanished when the connection is lost, or when it has neither a socket nor media. It
// has the grace window to come back. A socket that closes while media arrive changes nothing. A client
// that closes the connection (DTLS) ends the stream.
//
// # Clock
//
// The clock runs from picture to picture. A gap of more than MaxGap stops it at the picture before the
// gap. It starts when the log has recorded that the stream is live. Each start counts a second at least:
// otherwise a client that sends a picture after each gap would get results for nothing. A question that the model
// cannot assess stops it as well: see watcher.assesses.
//
// # Credits
//
// The log has the last word: it places the holds. With each heartbeat (stream.Meter) it extends the hold
// when few seconds are left, and answers with the held seconds in stream.State. The session ends when the
// clock reaches them, and the clock never exceeds them. A second before, the session asks once more, so
// that credits bought since the latest heartbeat count. The log sets the billed seconds of the end by
// stream.State.Billable, and settles the hold.
//
// # Outages
//
//   - The log is away: the session goes on and repeats what it could not record, with back-off. The
//     clock is not lost. Held seconds that run out meanwhile end the stream as error.
//   - The engine is away: no results and one error message. The stream and its clock go on, unless it has no result yet
//     when the first-frame window is over.
//   - ffmpeg fails: streaming/decode starts another one.
//
// # Answers
//
// The newest sample goes to the engine when the stream has its turn. Streams take turns in the order in
// which they asked, with a bounded number of calls in flight. So a stream is at most one sample behind.
//
// domain/answer decides over a window that ends at the newest sample. Its length follows from the predicates of
// the question (predicate.Needs), and is 20 seconds for "before" and "after". The window has samples half a
// second apart, as those with which the rules were measured, and the others between them as fine frames. A slow engine has fewer samples in it, at least the newest one: a window with as many as that of a fast
// engine would show objects that have left. Samples from before a pause of the clock are forgotten.
//
// An answer changes when no result has confirmed it for a while: see opinion. So an answer rests on samples of at
// most the window and that while, and each sample of a slow engine counts. A question that the model cannot
// assess gets the result of domain/answer for it once a second, without the engine. A vision model is not asked.
//
// # Bounds
//
// A subscriber has 128 results and 64 other messages in its queue. The oldest results are dropped for a
// slow one; it is cut off when the other messages are too many. The last 128 results can be read again by
// their numbers. The window has at most 256 samples. What waits for the log is merged to a few commands,
// except for parts of a recording, whose number the recorder bounds.
package live
