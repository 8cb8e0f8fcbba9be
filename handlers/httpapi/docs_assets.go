package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/reference"
)

// assetPath is where files of the documentation are served.
const assetPath = "/docs/assets/"

// asset is a file that a page needs. Its name holds the hash of its content, so that a
// browser may keep it for good.
type asset struct {
	name, contentType string
	content           []byte
}

func (a asset) url() string { return assetPath + a.name }

// assets are the files of the rendered reference.
type assets struct {
	byName map[string]asset
	// renderer, rendererStyle, script and style are those of the page; installed is
	// false when there is no renderer, and then nothing is served.
	renderer, rendererStyle, script, style asset
	installed                              bool
}

// loadAssets reads the renderer's files and our own; renderer may be nil.
func loadAssets(renderer fs.FS) (assets, error) {
	if renderer == nil {
		return assets{}, nil
	}
	all := assets{byName: map[string]asset{}, installed: true}
	own, err := fs.Sub(pageFiles, "pages/assets")
	if err != nil {
		return all, err
	}
	for _, file := range []struct {
		from fs.FS
		name string
		to   *asset
	}{
		{renderer, reference.Script, &all.renderer}, {renderer, reference.Style, &all.rendererStyle},
		{own, "reference.js", &all.script}, {own, "reference.css", &all.style},
	} {
		content, err := fs.ReadFile(file.from, file.name)
		if err != nil {
			return all, fmt.Errorf("httpapi: the reference: %w", err)
		}
		*file.to = newAsset(file.name, content)
		all.byName[file.to.name] = *file.to
	}
	return all, nil
}

func newAsset(name string, content []byte) asset {
	kind := "text/javascript"
	if path.Ext(name) == ".css" {
		kind = "text/css"
	}
	sum := sha256.Sum256(content)
	base, extension, _ := strings.Cut(name, ".")
	return asset{
		name: base + "." + hex.EncodeToString(sum[:6]) + "." + extension, contentType: kind + "; charset=utf-8", content: content,
	}
}

// GetDocsAsset answers GET /docs/assets/{file}.
func (s *server) GetDocsAsset(ctx context.Context, r api.GetDocsAssetRequestObject) (api.GetDocsAssetResponseObject, error) {
	a, ok := s.assets.byName[r.File]
	if !ok {
		return nil, fault.New(fault.ResourceNotFound, "There is no such file.")
	}
	return assetResponse{a, exchangeOf(ctx).request}, nil
}

// assetResponse writes a file.
type assetResponse struct {
	asset
	request *http.Request
}

// VisitGetDocsAssetResponse implements api.GetDocsAssetResponseObject.
func (a assetResponse) VisitGetDocsAssetResponse(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("ETag", `"`+a.name+`"`)
	http.ServeContent(w, a.request, "", time.Time{}, bytes.NewReader(a.content))
	return nil
}
