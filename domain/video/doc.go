// Package video decides the life of a video, from registration to removal.
//
// # States (api-v1.md, "States and transitions: Video")
//
//	state                       | command         | next            | event
//	(none)                      | RegisterUpload  | awaiting_upload | video.registered
//	(none)                      | RegisterURL     | processing      | video.registered
//	(none)                      | RegisterFixture | ready           | video.registered, video.ready
//	(none)                      | RegisterStored  | ready           | video.registered, video.ready
//	any                         | RegisterUpload  | unchanged       | refused with resource_conflict
//	any                         | RegisterURL     | unchanged       | refused with resource_conflict
//	any                         | RegisterFixture | unchanged       | refused with resource_conflict
//	any                         | RegisterStored  | unchanged       | refused with resource_conflict
//	(none), removed             | any             | unchanged       | refused with resource_not_found
//	awaiting_upload, processing | Finish          | ready           | video.ready
//	awaiting_upload, processing | Fail            | failed          | video.failed
//	ready, in use               | Finish          | unchanged       | (none)
//	ready                       | OpenAnalysis    | in use          | video.analysis_opened
//	in use                      | OpenAnalysis    | unchanged       | video.analysis_opened
//	in use                      | CloseAnalysis   | ready           | video.analysis_closed
//	in use                      | Delete          | unchanged       | refused with resource_conflict
//	any                         | CloseAnalysis   | unchanged       | (none)
//	any                         | Delete          | removed         | video.deleted
//	any                         | any             | unchanged       | refused with resource_conflict
//
// The first row that fits holds. A CloseAnalysis that knows the decoded length also records
// video.measured when that is not the length known before. "in use" is ready with an analysis that is not
// terminal. The open analyses are part of the state so that a deletion and a new
// analysis that arrive together cannot both succeed. The fixture video of a test key is not
// deleted: Delete is refused with resource_conflict, because the key may ask about no other.
//
// # Length
//
// There are three lengths, each in microseconds. The claimed one is what the container
// says; nothing is decided by it. The computed one comes from the timestamps of the video
// stream when the file is probed. The decoded one is what an analysis saw; it is recorded
// only when it differs from the computed one, and replaces it: duration_s, the plan limit,
// later holds and later bills use it.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package video
