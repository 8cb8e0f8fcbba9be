package httpapi

import (
	"context"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query/english"
	"vqa/domain/video"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
	"vqa/handlers/intake/demo"
	"vqa/projections"
	"vqa/projections/resources"
)

// Demos are the public demo videos. The zero value has none.
type Demos struct {
	Scenes []demo.Scene
	// Files opens the stored files. It is required if there are scenes. Error:
	// resource_not_found.
	Files interface {
		Reader(ctx context.Context, key string) (io.ReadSeekCloser, error)
	}
}

// The values of Cache-Control. The list changes while answers are computed. The files of an
// id never change.
const (
	cacheDemos     = "public, max-age=30"
	cacheDemoFiles = "public, max-age=31536000, immutable"
)

// demoHistory is how many analyses of a demo video are searched for the newest answer to
// each prompt.
const demoHistory = 100

var demoTenant = resources.Tenant{AccountID: account.SystemID, Livemode: true}

// ListDemoVideos answers GET /v1/demo-videos.
func (s *server) ListDemoVideos(ctx context.Context, _ api.ListDemoVideosRequestObject) (api.ListDemoVideosResponseObject, error) {
	videos, err := s.demoVideos(ctx)
	if err != nil {
		return nil, err
	}
	edge.ExchangeOf(ctx).Header().Set("Cache-Control", cacheDemos)
	return api.ListDemoVideos200JSONResponse{Videos: videos}, nil
}

// demoVideos lists the demo videos that are rendered.
func (s *server) demoVideos(ctx context.Context) ([]api.DemoVideo, error) {
	list := []api.DemoVideo{}
	for _, scene := range s.Demos.Scenes {
		v, err := s.Resources.Video(ctx, demoTenant, scene.VideoID())
		if fault.Has(err, fault.ResourceNotFound) {
			continue // not rendered yet
		}
		if err != nil {
			return nil, err
		}
		shown, err := s.renderDemo(ctx, scene, v)
		if err != nil {
			return nil, err
		}
		list = append(list, shown)
	}
	return list, nil
}

// renderDemo renders a demo video with the newest answer to each of its prompts.
func (s *server) renderDemo(ctx context.Context, scene demo.Scene, v video.State) (api.DemoVideo, error) {
	out := api.DemoVideo{
		Id: v.ID, DisplayName: scene.DisplayName, ThumbnailUrl: s.demoURL(v.ID, "thumbnail.jpg"), ResultsByPrompt: map[string]api.DemoResult{},
	}
	if d := v.DurationS(); d != nil {
		out.DurationSeconds = *d
	}
	answered, _, err := s.Resources.Analyses(ctx, demoTenant,
		resources.AnalysisFilter{VideoID: v.ID, Status: analysis.CompletedStatus}, projections.Page{Limit: demoHistory})
	if err != nil {
		return api.DemoVideo{}, err
	}
	for _, prompt := range scene.Prompts {
		for _, a := range answered {
			if a.Prompt != nil && *a.Prompt == prompt {
				out.ResultsByPrompt[prompt] = api.DemoResult{
					Answer: api.DemoResultAnswer(a.Result.Answer), Confidence: a.Result.Confidence, QueryType: api.QueryType(a.Result.QueryType),
					DetectedCount: a.Result.DetectedCount,
					VideoUrl:      s.demoURL(v.ID, "video.mp4"), ComputedAt: stamp(*a.CompletedAt),
				}
				break
			}
		}
	}
	return out, nil
}

// gallery lists the demo videos with their answers, in the order of their prompts.
func (s *server) gallery(ctx context.Context) ([]pages.Demo, error) {
	videos, err := s.demoVideos(ctx)
	if err != nil {
		return nil, err
	}
	prompts := map[string][]string{}
	for _, scene := range s.Demos.Scenes {
		prompts[scene.VideoID()] = scene.Prompts
	}
	list := make([]pages.Demo, len(videos))
	for i, v := range videos {
		path := "/v1/demo-videos/" + v.Id
		list[i] = pages.Demo{Name: v.DisplayName, Thumbnail: path + "/thumbnail.jpg", Video: path + "/video.mp4", DurationS: v.DurationSeconds}
		for _, prompt := range prompts[v.Id] {
			result, answered := v.ResultsByPrompt[prompt]
			if !answered {
				continue
			}
			word := answer.Word(english.Compile(prompt).PromptIntent, answer.Answer(result.Answer), result.DetectedCount)
			list[i].Answers = append(list[i].Answers, pages.Answer{Prompt: prompt, Answer: word, Confidence: result.Confidence})
		}
	}
	return list, nil
}

func (s *server) demoURL(videoID, file string) string {
	return s.url("/v1/demo-videos/" + videoID + "/" + file)
}

// GetDemoVideoFile answers GET /v1/demo-videos/{id}/video.mp4.
func (s *server) GetDemoVideoFile(ctx context.Context, r api.GetDemoVideoFileRequestObject) (api.GetDemoVideoFileResponseObject, error) {
	return s.demoFile(ctx, r.Id, demo.VideoType, func(videoKey string) string { return videoKey })
}

// GetDemoThumbnail answers GET /v1/demo-videos/{id}/thumbnail.jpg.
func (s *server) GetDemoThumbnail(ctx context.Context, r api.GetDemoThumbnailRequestObject) (api.GetDemoThumbnailResponseObject, error) {
	return s.demoFile(ctx, r.Id, demo.ThumbnailType, demo.ThumbnailKey)
}

// demoFile opens a file of a demo video.
func (s *server) demoFile(ctx context.Context, videoID, contentType string, keyOf func(videoKey string) string) (storedFile, error) {
	if s.Demos.Files == nil {
		return storedFile{}, fault.NotFound("id", videoID)
	}
	v, err := s.Resources.Video(ctx, demoTenant, videoID)
	if err != nil {
		return storedFile{}, err
	}
	if v.File == nil || v.File.ObjectKey == "" {
		return storedFile{}, fault.NotFound("id", videoID)
	}
	key := keyOf(v.File.ObjectKey)
	content, err := s.Demos.Files.Reader(ctx, key)
	if err != nil {
		return storedFile{}, err
	}
	return storedFile{
		content: content, contentType: contentType, tag: path.Base(key), request: edge.ExchangeOf(ctx).Request,
		whole: contentType != demo.VideoType,
	}, nil
}

// storedFile is a file whose content never changes.
type storedFile struct {
	content     io.ReadSeekCloser
	contentType string
	// tag is the ETag.
	tag     string
	request *http.Request
	// whole is true if Range is ignored.
	whole bool
}

// VisitGetDemoVideoFileResponse implements api.GetDemoVideoFileResponseObject.
func (f storedFile) VisitGetDemoVideoFileResponse(w http.ResponseWriter) error {
	r := f.request
	// A server may answer a list of ranges with the whole file (RFC 9110, section 14.2).
	// Players do not send lists.
	if f.whole || strings.Contains(r.Header.Get("Range"), ",") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", cacheDemoFiles)
	h.Set("ETag", `"`+f.tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, f.content)
	return f.content.Close()
}

// VisitGetDemoThumbnailResponse implements api.GetDemoThumbnailResponseObject.
func (f storedFile) VisitGetDemoThumbnailResponse(w http.ResponseWriter) error {
	return f.VisitGetDemoVideoFileResponse(w)
}
