// Package video decides the life of a video, from registration to removal.
//
// # States (docs/contract.md#video-states)
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
//	removed                     | Purge           | purged          | video.purged
//	purged                      | Purge           | unchanged       | (none)
//	(none), removed, purged     | any             | unchanged       | refused with resource_not_found
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
// The first row that fits applies. "in use" is ready with an analysis that has not ended.
// "purged" is removed, with the time at which the bytes were gone.
//
//   - The open analyses are part of the state, so that a concurrent deletion and new
//     analysis cannot both succeed.
//   - A CloseAnalysis with a decoded length that differs from the known one also records
//     video.measured.
//   - Delete of the fixture video of a test key is refused with resource_conflict, because
//     the key can analyze no other video.
//
// # Length
//
// A video has three lengths, each in microseconds. The claimed length is in the container's
// header, and nothing depends on it. The computed length comes from the timestamps of the
// video stream when the file is probed. The decoded length comes from an analysis. It is
// recorded only when it differs from the computed one. It then replaces the computed one in
// duration_s, the plan limit, later holds and later bills.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package video
