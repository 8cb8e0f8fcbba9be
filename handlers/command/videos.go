package command

import (
	"context"
	"errors"
	"time"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
)

// CreateVideo registers a video. URL is set for url mode; otherwise the caller will
// upload, and ContentType is required.
type CreateVideo struct {
	URL         *string
	Filename    *string
	ContentType string
	SizeBytes   *int64
	Metadata    map[string]string
}

// CreateVideo carries out the use case; the values were checked at the edge. Errors:
// capacity_exhausted when the disk is nearly full, in live mode alone (api-v1.md, "Limits":
// test-mode traffic is never shed); quota_exceeded.
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

// given is an optional size, 0 when it is not told.
func valueOrZero(size *int64) int64 {
	if size == nil {
		return 0
	}
	return *size
}

// CompleteVideo makes an uploaded video ready. Calls that run in parallel, and later ones,
// get the video that the first of them made. Errors: resource_not_found, resource_conflict,
// upload_incomplete, video_unreadable, video_too_large, video_too_long, capacity_exhausted.
func (s *Service) CompleteVideo(ctx context.Context, caller Caller, videoID string) (video.State, error) {
	v, err := s.ownVideo(ctx, caller, videoID)
	if err != nil || v.Status == video.ReadyStatus {
		return v, err
	}
	done, err := s.complete(ctx, caller, v)
	if err == nil || fault.Of(err) == nil {
		return done, err
	}
	// Another call may have completed or deleted the video, and taken its bytes away from
	// under this one. Then what the log says counts, not what this call stumbled on.
	switch latest, readErr := s.ownVideo(ctx, caller, videoID); {
	case fault.Has(readErr, fault.ResourceNotFound):
		return video.State{}, readErr
	case readErr == nil && latest.Status == video.ReadyStatus:
		return latest, nil
	}
	return v, err
}

// complete takes the steps from uploaded bytes to a ready video. The log decides which
// object belongs to the video: one that was kept and then not recorded is waste, which is
// removed here or, after a crash, by the sweep of the object store.
func (s *Service) complete(ctx context.Context, caller Caller, v video.State) (video.State, error) {
	if v.Status != video.AwaitingUpload {
		return v, fault.Newf(fault.ResourceConflict, "A video that is %s cannot be completed.", v.Status)
	}
	if !s.Now().Before(*v.ExpiresAt) {
		return v, fault.New(fault.UploadIncomplete, "The upload window of 24 hours is over.")
	}
	file, ticket, err := s.Uploads.Inspect(ctx, v)
	if err != nil {
		return v, err
	}
	if err := errors.Join(s.CheckDuration(file.DurationMicros), s.checkStorage(caller.Tier, v.DeclaredBytes, file.SizeBytes)); err != nil {
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
	// The client may be gone. What is left undone here, the sweep does.
	after := context.WithoutCancel(ctx)
	if IsStale(err) || err == nil && done.File.ObjectKey != file.ObjectKey {
		_ = s.Uploads.Discard(after, file.ObjectKey)
	}
	if err == nil {
		_ = s.Uploads.Close(after, v.ID)
	}
	return done, err
}

// DeleteVideo removes a video. Errors: resource_not_found, resource_conflict while
// an analysis of it is not terminal.
func (s *Service) DeleteVideo(ctx context.Context, caller Caller, videoID string) error {
	return s.Pipeline.do(ctx, caller.intent(videos.Stream(videoID)), func(ss *session) error {
		v, err := videos.get(ss, videoID)
		if err != nil {
			return err
		}
		if !owns(caller, v) {
			return fault.NotFound("id", videoID)
		}
		_, err = videos.record(ss, videoID, video.Delete{})
		return err
	})
}

// Fetch identifies one attempt at fetching a video from its URL.
type Fetch struct {
	AccountID string `json:"account_id"`
	VideoID   string `json:"video_id" river:"unique"`
	URL       string `json:"url"`
	// Attempt counts from 1; together with the video it identifies the fetch.
	Attempt int   `json:"attempt" river:"unique"`
	Cause   Cause `json:"cause"`
}

const fetcherActor = "fetcher"

// FinishFetch makes a fetched video ready, or failed when it is too long. A video
// that moved on meanwhile is left alone. The bytes of a video that did not become
// ready with them are waste.
func (s *Service) FinishFetch(ctx context.Context, f Fetch, file video.File) (waste bool, err error) {
	tier, err := s.tierOf(ctx, f.AccountID)
	if err != nil {
		return false, err
	}
	if err := errors.Join(s.CheckDuration(file.DurationMicros), s.checkStorage(tier, nil, file.SizeBytes)); err != nil {
		return true, s.FailVideo(ctx, f, err)
	}
	v, err := s.recordFetch(ctx, f, video.Finish{File: file})
	if err != nil && !IsStale(err) {
		return false, err
	}
	return v.File == nil || v.File.ObjectKey != file.ObjectKey, nil
}

// FailVideo ends a video with the fault that stopped it. A video that moved on
// meanwhile is left alone.
func (s *Service) FailVideo(ctx context.Context, f Fetch, why error) error {
	failure := video.Failure{Code: fault.URLFetchFailed, Message: fault.Lookup(fault.URLFetchFailed).Message}
	if ft := fault.Of(why); ft != nil {
		failure = video.Failure{Code: ft.Code, Message: ft.Message}
	}
	_, err := s.recordFetch(ctx, f, video.Fail{Error: failure})
	return ignoreStale(err)
}

// recordFetch returns the video as it is afterwards, also when it refused.
func (s *Service) recordFetch(ctx context.Context, f Fetch, c video.Command) (v video.State, err error) {
	in := intent{accountID: f.AccountID, meta: s.systemMeta(f.Cause, f.AccountID, fetcherActor)}
	in.streams = append(in.streams, videos.Stream(f.VideoID))
	err = s.Pipeline.do(ctx, in, func(ss *session) (err error) {
		v, err = videos.record(ss, f.VideoID, c)
		return err
	})
	return v, err
}

// ownVideo reads the caller's video without changing it.
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

// CheckDuration refuses a length, in microseconds, that is longer than the plan allows. An
// unknown length passes: the limit then holds while the video is decoded.
func (s *Service) CheckDuration(micros *int64) error {
	if micros == nil || *micros <= s.Limits.MaxVideoDuration.Microseconds() {
		return nil
	}
	d := time.Duration(*micros) * time.Microsecond
	return fault.Newf(fault.VideoTooLong, "The video is %s long; the plan allows %s.", d.Round(time.Second), s.Limits.MaxVideoDuration)
}
