package command

import (
	"context"

	"vqa/domain/video"
)

// Removal identifies one attempt at removing the stored objects of a deleted video.
type Removal struct {
	AccountID string `json:"account_id"`
	VideoID   string `json:"video_id" river:"unique"`
	// Key is the object of the video's bytes, or empty when there is none.
	Key string `json:"key"`
	// Attempt counts from 1. The video and the attempt identify the removal.
	Attempt int   `json:"attempt" river:"unique"`
	Cause   Cause `json:"cause"`
}

// PurgeVideo records that the objects of a deleted video are gone. It may be repeated. It does
// nothing for a video that the log does not know.
func (s *Service) PurgeVideo(ctx context.Context, r Removal) error {
	in := intent{accountID: r.AccountID, meta: s.systemMeta(r.Cause, r.AccountID, removerActor)}
	in.streams = append(in.streams, videos.Stream(r.VideoID))
	err := s.Pipeline.do(ctx, in, func(ss *session) error {
		_, err := videos.record(ss, r.VideoID, video.Purge{})
		return err
	})
	return ignoreStale(err)
}

// removerActor is the actor of events that a removal records.
const removerActor = "remover"
