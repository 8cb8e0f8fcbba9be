package mcp

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxPicture is the largest contact sheet in bytes that is read into memory. A sheet of 12 tiles has
	// at most 1760 by 1320 pixels, which is 9 MB without compression.
	maxPicture = 16 << 20
	// pictureWait is how long a call waits for a sheet that is still rendered.
	pictureWait = 10 * time.Second
	// pictureQuality is the JPEG quality. A sheet of 12 photos has about 300 KB with it.
	pictureQuality = 75
)

// addPicture adds the contact sheet as an image. Without one, the result has its link only, and a text
// says why.
func (c *call) addPicture(ctx context.Context, address string) {
	if address == "" {
		c.pictures = append(c.pictures, &sdk.TextContent{Text: "There is no picture: the answer has no intervals, or no pictures are rendered here."})
		return
	}
	data, err := c.picture(ctx, address)
	if err != nil {
		c.Log.DebugContext(ctx, "cannot send a contact sheet", "error", err.Error())
		c.pictures = append(c.pictures, &sdk.TextContent{Text: "The picture is not ready. Call get_analysis with include_image in a few seconds, or open contact_sheet_url."})
		return
	}
	c.pictures = append(c.pictures, &sdk.ImageContent{Data: data, MIMEType: "image/jpeg"})
}

// picture reads a contact sheet through the edge and returns it as a JPEG. It never fetches the URL of
// another host: a bucket that is not served by this process has only the link.
func (c *call) picture(ctx context.Context, address string) ([]byte, error) {
	path, ours := strings.CutPrefix(address, c.PublicURL)
	if !ours {
		return nil, fmt.Errorf("the contact sheet is on another host")
	}
	ctx, cancel := context.WithTimeout(ctx, pictureWait)
	defer cancel()
	r, err := c.newRequest(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Del("Authorization") // the address is the credential
	w := &memory{header: http.Header{}, limit: maxPicture}
	c.Edge.ServeHTTP(w, r)
	if w.status != http.StatusOK {
		return nil, fmt.Errorf("reading the contact sheet: status %d", w.status)
	}
	sheet, err := png.Decode(&w.body)
	if err != nil {
		return nil, fmt.Errorf("decoding the contact sheet: %w", err)
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, sheet, &jpeg.Options{Quality: pictureQuality}); err != nil {
		return nil, fmt.Errorf("encoding the contact sheet: %w", err)
	}
	return out.Bytes(), nil
}
