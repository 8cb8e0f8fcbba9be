package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"vqa/handlers/httpapi/reference"
)

// assetPath is where files of the documentation are served.
const assetPath = "/docs/assets/"

// Asset is a file that a page needs. Its name holds the hash of its content, so that a
// browser may keep it for good.
type Asset struct {
	Name, ContentType string
	Content           []byte
}

func (a Asset) url() string { return assetPath + a.Name }

// assets are the files of the rendered reference.
type assets struct {
	byName map[string]Asset
	// renderer, rendererStyle, script and style are those of the page; installed is
	// false when there is no renderer, and then nothing is served.
	renderer, rendererStyle, script, style Asset
	installed                              bool
}

// loadAssets reads the renderer's files and our own; renderer may be nil.
func loadAssets(renderer fs.FS) (assets, error) {
	if renderer == nil {
		return assets{}, nil
	}
	all := assets{byName: map[string]Asset{}, installed: true}
	own, err := fs.Sub(pageFiles, "assets")
	if err != nil {
		return all, err
	}
	for _, file := range []struct {
		from fs.FS
		name string
		to   *Asset
	}{
		{renderer, reference.Script, &all.renderer}, {renderer, reference.Style, &all.rendererStyle},
		{own, "reference.js", &all.script}, {own, "reference.css", &all.style},
	} {
		content, err := fs.ReadFile(file.from, file.name)
		if err != nil {
			return all, fmt.Errorf("httpapi/pages: the reference: %w", err)
		}
		*file.to = newAsset(file.name, content)
		all.byName[file.to.Name] = *file.to
	}
	return all, nil
}

func newAsset(name string, content []byte) Asset {
	kind := "text/javascript"
	if path.Ext(name) == ".css" {
		kind = "text/css"
	}
	sum := sha256.Sum256(content)
	base, extension, _ := strings.Cut(name, ".")
	return Asset{
		Name: base + "." + hex.EncodeToString(sum[:6]) + "." + extension, ContentType: kind + "; charset=utf-8", Content: content,
	}
}

// Asset finds a file by the name that pages link to.
func (p *Pages) Asset(name string) (Asset, bool) {
	a, ok := p.assets.byName[name]
	return a, ok
}
