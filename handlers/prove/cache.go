package prove

import (
	"context"

	"vqa/handlers/seal"
)

// cache keeps the files that one proof reads again and again.
type cache struct {
	seal.Files
	known map[string][]byte
}

func newCache(of seal.Files) cache { return cache{of, map[string][]byte{}} }

// mostCached bounds the files of a cache. A file has at most 34 kB.
const mostCached = 2000

// Read implements seal.Files.
func (c cache) Read(ctx context.Context, name string) ([]byte, error) {
	if data, ok := c.known[name]; ok {
		return data, nil
	}
	data, err := c.Files.Read(ctx, name)
	if err == nil {
		if len(c.known) >= mostCached {
			clear(c.known)
		}
		c.known[name] = data
	}
	return data, err
}
