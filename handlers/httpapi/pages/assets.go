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

// assetPath is the path below which assets are served.
const assetPath = "/docs/assets/"

// Asset is a file that a page loads. Its name contains the hash of its content, so that
// browsers may cache it forever.
type Asset struct {
	Name, ContentType string
	Content           []byte
}

func (a Asset) url() string { return assetPath + a.Name }

// assets are the files of the rendered reference.
type assets struct {
	byName                                 map[string]Asset
	renderer, rendererStyle, script, style Asset
	// installed is false if there is no renderer. The other fields are then empty.
	installed bool
}

// loadAssets reads the files of the renderer and our own. renderer may be nil.
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
			return all, fmt.Errorf("httpapi/pages: reading the files of the reference: %w", err)
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

// Asset finds a file by its name.
func (p *Pages) Asset(name string) (Asset, bool) {
	a, ok := p.assets.byName[name]
	return a, ok
}
