package pages

import (
	"fmt"
	"io/fs"
)

// loadLive reads the modules that the compiler made of live/*.ts.
func loadLive() (map[string]Asset, error) {
	names, err := fs.Glob(pageFiles, "assets/live/*.js")
	if err != nil {
		return nil, fmt.Errorf("httpapi/pages: listing the modules of the page /live: %w", err)
	}
	modules := map[string]Asset{}
	for _, path := range names {
		content, err := fs.ReadFile(pageFiles, path)
		if err != nil {
			return nil, fmt.Errorf("httpapi/pages: reading the modules of the page /live: %w", err)
		}
		name := path[len("assets/live/"):]
		modules[name] = newAsset(name, content)
	}
	return modules, nil
}

// LiveAsset finds a module of the page /live by its name in live/*.ts. The name of the asset
// also contains the hash of its content.
func (p *Pages) LiveAsset(name string) (Asset, bool) {
	a, ok := p.live[name]
	return a, ok
}

// Live renders the page that sends live video. Only this page may use the camera and the screen,
// and it never uses the microphone.
func (p *Pages) Live() (Page, error) {
	page, err := rendered(livePage, livePolicy, map[string]any{"Title": "Ask about live video", "PublicURL": p.PublicURL})
	if err != nil {
		return Page{}, err
	}
	page.Headers["Permissions-Policy"] = "camera=(self), display-capture=(self), microphone=()"
	return page, nil
}
