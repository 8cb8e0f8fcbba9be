package seal

import "context"

// cache keeps the files that one step of a pass reads again and again.
type cache struct {
	Files
	known map[string][]byte
}

func newCache(of Files) cache { return cache{of, map[string][]byte{}} }

// Read implements Files.
func (c cache) Read(ctx context.Context, name string) ([]byte, error) {
	if data, ok := c.known[name]; ok {
		return data, nil
	}
	data, err := c.Files.Read(ctx, name)
	if err == nil {
		c.known[name] = data
	}
	return data, err
}
