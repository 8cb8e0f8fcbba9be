package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"vqa/handlers/httpapi/api"
)

// homePage is what a browser sees at the base address.
var homePage = chapter("home.html")

// homePolicy is the policy of pages for reading, with the thumbnails of this service.
const homePolicy = "default-src 'none'; style-src %s; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// shownDemo is a demo video in the gallery. Paths are relative to the service, because a
// reader may have come by another name than the public one.
type shownDemo struct {
	Name, Thumbnail, Video string
	DurationS              float64
	Answers                []shownAnswer
}

// shownAnswer is a question of the gallery with its answer in one word or number.
type shownAnswer struct {
	Prompt, Answer string
	Confidence     float64
}

// prefersPage reports whether a client asks for HTML by name and not for JSON: browsers do,
// programs do not.
func prefersPage(accept []string) bool {
	all := strings.ToLower(strings.Join(accept, ","))
	return strings.Contains(all, "text/html") && !strings.Contains(all, "application/json")
}

// home makes the page. Without the database the gallery is empty.
func (s *server) home(ctx context.Context) (api.GetIndexResponseObject, error) {
	gallery, err := s.gallery(ctx)
	if err != nil {
		exchangeOf(ctx).log.WarnContext(ctx, "the gallery of demo videos cannot be shown", "error", err)
	}
	b, err := rendered(homePage, map[string]any{"Title": "Ask questions about video", "Version": s.version, "Demos": gallery})
	if err != nil {
		return nil, err
	}
	guard(ctx, fmt.Sprintf(homePolicy, styleHashes(b.Bytes())))
	exchangeOf(ctx).response.Header().Set("Cache-Control", cacheDemos)
	return api.GetIndex200TexthtmlResponse{Body: b, ContentLength: int64(b.Len())}, nil
}

// gallery lists the demo videos with their answers, in the order of their questions.
func (s *server) gallery(ctx context.Context) ([]shownDemo, error) {
	videos, err := s.demoVideos(ctx)
	if err != nil {
		return nil, err
	}
	prompts := map[string][]string{}
	for _, scene := range s.Demos.Scenes {
		prompts[scene.VideoID()] = scene.Prompts
	}
	list := make([]shownDemo, len(videos))
	for i, v := range videos {
		path := "/v1/demo-videos/" + v.Id
		list[i] = shownDemo{Name: v.DisplayName, Thumbnail: path + "/thumbnail.jpg", Video: path + "/video.mp4", DurationS: v.DurationSeconds}
		for _, prompt := range prompts[v.Id] {
			result, answered := v.ResultsByPrompt[prompt]
			if !answered {
				continue
			}
			word := string(result.Answer)
			if strings.HasPrefix(prompt, "How many") && result.DetectedCount != nil && word != "indeterminate" {
				word = strconv.Itoa(*result.DetectedCount)
			}
			list[i].Answers = append(list[i].Answers, shownAnswer{prompt, word, result.Confidence})
		}
	}
	return list, nil
}
