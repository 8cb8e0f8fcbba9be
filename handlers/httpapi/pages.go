package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
)

// html has the fields of every generated response that is a page.
type html struct {
	Body          io.Reader
	ContentLength int64
}

// show sets the headers of a page and returns its response.
func show(ctx context.Context, p pages.Page) html {
	h := edge.ExchangeOf(ctx).Header()
	for name, value := range p.Headers {
		h.Set(name, value)
	}
	return html{Body: bytes.NewReader(p.HTML), ContentLength: int64(len(p.HTML))}
}

// GetDocs answers GET /docs.
func (s *server) GetDocs(ctx context.Context, _ api.GetDocsRequestObject) (api.GetDocsResponseObject, error) {
	p, err := s.pages.Docs()
	if err != nil {
		return nil, err
	}
	return api.GetDocs200TexthtmlResponse(show(ctx, p)), nil
}

// GetErrorDocs answers GET /docs/errors.
func (s *server) GetErrorDocs(ctx context.Context, _ api.GetErrorDocsRequestObject) (api.GetErrorDocsResponseObject, error) {
	p, err := s.pages.Errors()
	if err != nil {
		return nil, err
	}
	return api.GetErrorDocs200TexthtmlResponse(show(ctx, p)), nil
}

// GetQuestionDocs answers GET /docs/questions.
func (s *server) GetQuestionDocs(ctx context.Context, _ api.GetQuestionDocsRequestObject) (api.GetQuestionDocsResponseObject, error) {
	p, err := s.pages.Questions()
	if err != nil {
		return nil, err
	}
	return api.GetQuestionDocs200TexthtmlResponse(show(ctx, p)), nil
}

// GetQuickstart answers GET /docs/quickstart.
func (s *server) GetQuickstart(ctx context.Context, _ api.GetQuickstartRequestObject) (api.GetQuickstartResponseObject, error) {
	p, err := s.pages.Quickstart()
	if err != nil {
		return nil, err
	}
	return api.GetQuickstart200TexthtmlResponse(show(ctx, p)), nil
}

// GetChangelogDocs answers GET /docs/changelog.
func (s *server) GetChangelogDocs(ctx context.Context, _ api.GetChangelogDocsRequestObject) (api.GetChangelogDocsResponseObject, error) {
	p, err := s.pages.Changelog()
	if err != nil {
		return nil, err
	}
	return api.GetChangelogDocs200TexthtmlResponse(show(ctx, p)), nil
}

// GetDocsAsset answers GET /docs/assets/{file}.
func (s *server) GetDocsAsset(ctx context.Context, r api.GetDocsAssetRequestObject) (api.GetDocsAssetResponseObject, error) {
	a, ok := s.pages.Asset(r.File)
	if !ok {
		return nil, fault.New(fault.ResourceNotFound, "This file does not exist.")
	}
	return assetResponse{a, edge.ExchangeOf(ctx).Request}, nil
}

// GetLivePage answers GET /live.
func (s *server) GetLivePage(ctx context.Context, _ api.GetLivePageRequestObject) (api.GetLivePageResponseObject, error) {
	p, err := s.pages.Live()
	if err != nil {
		return nil, err
	}
	return api.GetLivePage200TexthtmlResponse(show(ctx, p)), nil
}

// GetLiveAsset answers GET /live/{file}. The modules import each other by name, so their names have no hash and browsers ask
// for them again.
func (s *server) GetLiveAsset(ctx context.Context, r api.GetLiveAssetRequestObject) (api.GetLiveAssetResponseObject, error) {
	a, ok := s.pages.LiveAsset(r.File)
	if !ok {
		return nil, fault.New(fault.ResourceNotFound, "This file does not exist.")
	}
	return liveAssetResponse{a, edge.ExchangeOf(ctx).Request}, nil
}

// liveAssetResponse sends a module of the page /live.
type liveAssetResponse struct {
	pages.Asset
	request *http.Request
}

// VisitGetLiveAssetResponse implements api.GetLiveAssetResponseObject.
func (a liveAssetResponse) VisitGetLiveAssetResponse(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", a.ContentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `"`+a.Name+`"`)
	http.ServeContent(w, a.request, "", time.Time{}, bytes.NewReader(a.Content))
	return nil
}

// assetResponse sends a file that pages load.
type assetResponse struct {
	pages.Asset
	request *http.Request
}

// VisitGetDocsAssetResponse implements api.GetDocsAssetResponseObject.
func (a assetResponse) VisitGetDocsAssetResponse(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", a.ContentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("ETag", `"`+a.Name+`"`)
	http.ServeContent(w, a.request, "", time.Time{}, bytes.NewReader(a.Content))
	return nil
}

// prefersPage reports whether a client accepts HTML and not JSON, like a browser.
func prefersPage(accept []string) bool {
	all := strings.ToLower(strings.Join(accept, ","))
	return strings.Contains(all, "text/html") && !strings.Contains(all, "application/json")
}

// home answers GET / with a page. If the database is down, the gallery is empty.
func (s *server) home(ctx context.Context) (api.GetIndexResponseObject, error) {
	gallery, err := s.gallery(ctx)
	if err != nil {
		s.Log.WarnContext(ctx, "cannot list the demo videos for the home page", "error", err)
	}
	p, err := s.pages.Home(gallery)
	if err != nil {
		return nil, err
	}
	edge.ExchangeOf(ctx).Header().Set("Cache-Control", cacheDemos)
	return api.GetIndex200TexthtmlResponse(show(ctx, p)), nil
}
