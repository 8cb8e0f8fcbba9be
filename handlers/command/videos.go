package command

import (
	"context"
	"errors"
	"time"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
)

// CreateVideo is the command to register a video. In url mode URL is set. In upload mode
// ContentType is required.
type CreateVideo struct {
	URL         *string
	Filename    *string
	ContentType string
	SizeBytes   *int64
	Metadata    map[string]string
}

// CreateVideo registers a video. handlers/httpapi has already validated the values. Errors:
// quota_exceeded, and capacity_exhausted when the disk is nearly full. The latter applies in
// live mode only, because test-mode traffic is never shed (docs/contract.md#limits).
func (s *Service) CreateVideo(ctx context.Context, caller Caller, c CreateVideo) (video.State, error) {
	r := video.Registration{
		ID: s.IDs.New(id.Video), AccountID: caller.AccountID, Livemode: caller.Livemode, Metadata: c.Metadata,
	}
	if caller.Livemode {
		if err := s.Uploads.Room(valueOrZero(c.SizeBytes)); err != nil {
			return video.State{}, err
		}
	}
	in := caller.intent()
	var v video.State
	err := s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		if err := s.admitVideo(ss, caller, c.SizeBytes); err != nil {
			return err
		}
		ss.fresh(videos.Stream(r.ID))
		in.created(r.ID)
		if c.URL != nil {
			v, err = videos.record(ss, r.ID, video.RegisterURL{Registration: r, URL: *c.URL})
			return err
		}
		v, err = videos.record(ss, r.ID, video.RegisterUpload{
			Registration: r, Filename: c.Filename, ContentType: c.ContentType, DeclaredBytes: c.SizeBytes,
			ExpiresAt: ss.now.Add(video.UploadWindow),
		})
		return err
	})
	return v, err
}

// valueOrZero returns an optional size, or 0 without one.
func valueOrZero(size *int64) int64 {
	if size == nil {
		return 0
	}
	return *size
}

// CompleteVideo makes an uploaded video ready. It is idempotent: parallel and later calls return
// the video that the first call made ready. Errors: resource_not_found, resource_conflict,
// upload_incomplete, video_unreadable, video_too_large, video_too_long, quota_exceeded,
// capacity_exhausted.
func (s *Service) CompleteVideo(ctx context.Context, caller Caller, videoID string) (video.State, error) {
	v, err := s.ownVideo(ctx, caller, videoID)
	if err != nil || v.Status == video.ReadyStatus {
		return v, err
	}
	done, err := s.complete(ctx, caller, v)
	if err == nil || fault.Of(err) == nil {
		return done, err
	}
	// Another call may have completed or deleted the video and removed its upload in the
	// meantime. Then the state in the log decides, not the error of this call.
	switch latest, readErr := s.ownVideo(ctx, caller, videoID); {
	case fault.Has(readErr, fault.ResourceNotFound):
		return video.State{}, readErr
	case readErr == nil && latest.Status == video.ReadyStatus:
		return latest, nil
	}
	return v, err
}

// complete turns uploaded bytes into a ready video. The log decides which object belongs to the
// video. An object that was stored but not recorded is garbage. It is deleted here or, after a
// crash, by the sweep of the object store.
func (s *Service) complete(ctx context.Context, caller Caller, v video.State) (video.State, error) {
	if v.Status != video.AwaitingUpload {
		return v, fault.Newf(fault.ResourceConflict, "A video with status %s cannot be completed. Only a video with status awaiting_upload can.", v.Status)
	}
	if !s.Now().Before(*v.ExpiresAt) {
		return v, fault.New(fault.UploadIncomplete, "The upload window of 24 hours has ended. Create a new video and upload the file again.")
	}
	file, ticket, err := s.Uploads.Inspect(ctx, v)
	if err != nil {
		return v, err
	}
	if err := errors.Join(s.checkDuration(file.DurationMicros), s.checkStorage(caller.Tier, v.DeclaredBytes, file.SizeBytes)); err != nil {
		return v, err
	}
	if err := s.Uploads.Keep(ctx, v.ID, file.ObjectKey, ticket); err != nil {
		return v, err
	}
	var done video.State
	err = s.Pipeline.do(ctx, caller.intent(videos.Stream(v.ID)), func(ss *session) (err error) {
		done, err = videos.record(ss, v.ID, video.Finish{File: file})
		return err
	})
	// The client may have disconnected. The sweep repeats this cleanup if it fails here.
	after := context.WithoutCancel(ctx)
	if IsStale(err) || err == nil && done.File.ObjectKey != file.ObjectKey {
		_ = s.Uploads.Discard(after, file.ObjectKey)
	}
	if err == nil {
		_ = s.Uploads.Close(after, v.ID)
	}
	return done, err
}

// removalPatience bounds the time in which a DELETE removes stored objects. The job that follows from its
// event tries again.
const removalPatience = 5 * time.Second

// DeleteVideo deletes a video and its objects, so that signed URLs stop working at once. Errors:
// resource_not_found, resource_conflict while an analysis of it is not terminal.
func (s *Service) DeleteVideo(ctx context.Context, caller Caller, videoID string) error {
	key := ""
	err := s.Pipeline.do(ctx, caller.intent(videos.Stream(videoID)), func(ss *session) error {
		v, err := videos.get(ss, videoID)
		if err != nil {
			return err
		}
		if !owns(caller, v) {
			return fault.NotFound("id", videoID)
		}
		if v.File != nil {
			key = v.File.ObjectKey
		}
		_, err = videos.record(ss, videoID, video.Delete{})
		return err
	})
	if err != nil {
		return err
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalPatience)
	defer cancel()
	_ = s.Uploads.Remove(after, videoID, key) // the job logs what still fails then
	return nil
}

// Fetch identifies one attempt at fetching a video from its URL.
type Fetch struct {
	AccountID string `json:"account_id"`
	VideoID   string `json:"video_id" river:"unique"`
	URL       string `json:"url"`
	// Attempt counts from 1. The video and the attempt identify the fetch.
	Attempt int   `json:"attempt" river:"unique"`
	Cause   Cause `json:"cause"`
}

const fetcherActor = "fetcher"

// FinishFetch makes a fetched video ready, or failed when it is too long or too large. It does
// not change a video that has left the state processing. waste is true when the video did not
// become ready with these bytes, and the caller must delete them.
func (s *Service) FinishFetch(ctx context.Context, f Fetch, file video.File) (waste bool, err error) {
	tier, err := s.tierOf(ctx, f.AccountID)
	if err != nil {
		return false, err
	}
	if err := errors.Join(s.checkDuration(file.DurationMicros), s.checkStorage(tier, nil, file.SizeBytes)); err != nil {
		return true, s.FailVideo(ctx, f, err)
	}
	v, err := s.recordFetch(ctx, f, video.Finish{File: file})
	if err != nil && !IsStale(err) {
		return false, err
	}
	return v.File == nil || v.File.ObjectKey != file.ObjectKey, nil
}

// FailVideo fails a video with the fault why, or with url_fetch_failed when why is not a fault.
// It does not change a video that has left the state processing.
func (s *Service) FailVideo(ctx context.Context, f Fetch, why error) error {
	failure := video.Failure{Code: fault.URLFetchFailed, Message: fault.Lookup(fault.URLFetchFailed).Message}
	if ft := fault.Of(why); ft != nil {
		failure = video.Failure{Code: ft.Code, Message: ft.Message}
	}
	_, err := s.recordFetch(ctx, f, video.Fail{Error: failure})
	return ignoreStale(err)
}

// recordFetch returns the resulting video, also when the command was refused.
func (s *Service) recordFetch(ctx context.Context, f Fetch, c video.Command) (v video.State, err error) {
	in := intent{accountID: f.AccountID, meta: s.systemMeta(f.Cause, f.AccountID, fetcherActor)}
	in.streams = append(in.streams, videos.Stream(f.VideoID))
	err = s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		v, err = videos.record(ss, f.VideoID, c)
		return err
	})
	return v, err
}

// ownVideo reads the caller's video.
func (s *Service) ownVideo(ctx context.Context, caller Caller, videoID string) (video.State, error) {
	var v video.State
	in := caller.intent(videos.Stream(videoID))
	in.dryRun = true
	err := s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		if v, err = videos.get(ss, videoID); err == nil && !owns(caller, v) {
			err = fault.NotFound("id", videoID)
		}
		return err
	})
	return v, err
}

func owns(caller Caller, v video.State) bool {
	return v.Exists() && v.AccountID == caller.AccountID && v.Livemode == caller.Livemode
}

// checkDuration refuses a video length, in microseconds, above the limit of the plan. An unknown
// length passes, because decoding the video enforces the limit again.
func (s *Service) checkDuration(micros *int64) error {
	if micros == nil || *micros <= s.Limits.MaxVideoDuration.Microseconds() {
		return nil
	}
	d := time.Duration(*micros) * time.Microsecond
	return fault.Newf(fault.VideoTooLong, "The video is %s long, and the plan allows %s. Use a shorter video.", d.Round(time.Second), s.Limits.MaxVideoDuration)
}
