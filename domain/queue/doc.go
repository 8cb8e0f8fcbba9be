// Package queue decides whose turn it is in the queue of analyses, and forecasts when the work
// on each of them begins.
//
// # Turns
//
// Accounts take turns by seconds of video. This is start-time fair queueing (Goyal, Vin and
// Cheng, 1996). A waiting analysis has a tag: the seconds of video that its account has
// started, plus those of its earlier waiting analyses. The smallest tag starts first, and the
// oldest among equal tags. The tag of an account that returns begins at the tag of the
// analysis that started last. So an account saves up no turns while it asks nothing.
//
// An analysis costs the length of its video. It costs a second when a stored survey answers
// it, or when an earlier analysis of the same video runs or waits and its scan serves both. A scan
// that started before a question about poses was asked looks for no joints, so that question costs
// the length again: it examines each frame with people a second time. The samples around jumps and
// falls are not counted; they are at most a quarter of the others, and 24 more. A video of unknown
// length counts as the mean of the others. The service's own analyses come last.
//
// On nodes with two or more slots, one account never holds all slots of a node, and videos
// longer than 30 s never hold all of them. The last slot stays free for a short video of
// another account. The engine loses nothing: one scan keeps it busy.
//
// # Bounds
//
// Let an analysis be created when its account is d seconds of video ahead: those of its
// earlier waiting analyses, and those by which the least tag of its next one exceeds the tag
// that started last. Until the analysis starts, each other account starts at most d plus the
// length of its longest video. For an account that started nothing of late, d is 0: at most one
// video of each other account starts before it. So every analysis starts, in a time that is
// linear in the number of accounts with work.
//
// A short video also waits for a free slot. All slots but one may have long videos. The last
// slot has none, so the wait there is one short video of each other account.
//
// # Forecast
//
// A forecast plays the unfinished analyses forward by these rules over the slots of the living
// nodes, at the speed of the latest completed ones. Callers read those analyses and pass them
// in; the package keeps nothing and reads no clock.
//
// The forecast knows the length of each video and which videos have a survey. It does not
// know how much of a video a new scan covers. A scan of a part of a video, or one that only
// adds keypoints, counts as a scan of the whole video. Later analyses of other accounts may
// start first. The forecast does not know them.
//
// It imports domain/query alone, to tell whether a stored survey can answer a query.
package queue
