package httpapi

import (
	"context"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/video"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// ListVideos answers GET /v1/videos.
func (s *server) ListVideos(ctx context.Context, r api.ListVideosRequestObject) (api.ListVideosResponseObject, error) {
	p := r.Params
	page := pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	videos, more, err := s.Resources.Videos(ctx, edge.ExchangeOf(ctx).Tenant(), video.Status(given(p.Status)), page)
	if err != nil {
		return nil, err
	}
	list := api.VideoList{Object: api.VideoListObjectList, Data: make([]api.Video, len(videos)), HasMore: more}
	for i, state := range videos {
		if list.Data[i], err = s.renderVideo(ctx, state); err != nil {
			return nil, err
		}
	}
	return api.ListVideos200JSONResponse(list), nil
}

// CreateVideo answers POST /v1/videos. The edge has checked the body.
func (s *server) CreateVideo(ctx context.Context, r api.CreateVideoRequestObject) (api.CreateVideoResponseObject, error) {
	c := command.CreateVideo{URL: r.Body.Url, Filename: r.Body.Filename, SizeBytes: r.Body.SizeBytes}
	if r.Body.ContentType != nil {
		c.ContentType = string(*r.Body.ContentType)
	}
	if r.Body.Metadata != nil {
		c.Metadata = *r.Body.Metadata
	}
	v, err := s.Service.CreateVideo(ctx, edge.ExchangeOf(ctx).Caller, c)
	if err != nil {
		return nil, err
	}
	out, err := s.renderVideo(ctx, v)
	return api.CreateVideo201JSONResponse(out), err
}

// GetVideo answers GET /v1/videos/{id}.
func (s *server) GetVideo(ctx context.Context, r api.GetVideoRequestObject) (api.GetVideoResponseObject, error) {
	v, err := s.ownVideo(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	out, err := s.renderVideo(ctx, v)
	return api.GetVideo200JSONResponse(out), err
}

// DeleteVideo answers DELETE /v1/videos/{id}.
func (s *server) DeleteVideo(ctx context.Context, r api.DeleteVideoRequestObject) (api.DeleteVideoResponseObject, error) {
	if _, err := s.ownVideo(ctx, r.Id); err != nil {
		return nil, err
	}
	if err := s.Service.DeleteVideo(ctx, edge.ExchangeOf(ctx).Caller, r.Id); err != nil {
		return nil, err
	}
	return api.DeleteVideo200JSONResponse{Id: r.Id, Object: api.DeletedVideoObjectVideo, Deleted: true}, nil
}

// CompleteVideo answers POST /v1/videos/{id}/complete.
func (s *server) CompleteVideo(ctx context.Context, r api.CompleteVideoRequestObject) (api.CompleteVideoResponseObject, error) {
	if _, err := s.ownVideo(ctx, r.Id); err != nil {
		return nil, err
	}
	v, err := s.Service.CompleteVideo(ctx, edge.ExchangeOf(ctx).Caller, r.Id)
	if err != nil {
		return nil, err
	}
	out, err := s.renderVideo(ctx, v)
	return api.CompleteVideo200JSONResponse(out), err
}

// ownVideo reads a video of the caller. A malformed id reads as unknown.
func (s *server) ownVideo(ctx context.Context, videoID string) (video.State, error) {
	if !id.Valid(id.Video, videoID) {
		return video.State{}, fault.NotFound("id", videoID)
	}
	return s.Resources.Video(ctx, edge.ExchangeOf(ctx).Tenant(), videoID)
}
