// Package video decides the life of a video, from registration to removal.
//
// # States (api-v1.md, "States and transitions: Video")
//
//	state           | command        | next            | event
//	(none)          | RegisterUpload | awaiting_upload | video.registered
//	(none)          | RegisterURL    | processing      | video.registered
//	(none)          | RegisterFixture| ready           | video.registered, video.ready
//	awaiting_upload | Finish         | ready           | video.ready
//	processing      | Finish         | ready           | video.ready
//	awaiting_upload | Fail           | failed          | video.failed
//	processing      | Fail           | failed          | video.failed
//	ready           | Finish         | ready           | (none): completing twice is harmless
//	ready           | OpenAnalysis   | ready           | video.analysis_opened
//	any but removed | CloseAnalysis  | unchanged       | video.analysis_closed
//	any but removed | Delete         | removed         | video.deleted, refused with
//	                |                |                 | resource_conflict while an analysis is open
//	removed         | any            | removed         | refused with resource_not_found
//
// Every other pair is refused with resource_conflict. The open analyses are part of
// the state so that a deletion and a new analysis that arrive together cannot both
// succeed.
//
// It may import the standard library and domain/fault, never a sibling aggregate.
package video
