package seal

import "context"

// cached keeps the files that one pass or one proof reads again and again. It is not safe for concurrent use.
type cached struct {
	Files
	known map[string][]byte
}

// Cached returns files that are read once. It keeps at most mostCached of them.
func Cached(of Files) Files { return cached{of, map[string][]byte{}} }

// mostCached bounds the files in memory. A file has at most 34 kB.
const mostCached = 2000

// Read implements Files.
func (c cached) Read(ctx context.Context, name string) ([]byte, error) {
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
