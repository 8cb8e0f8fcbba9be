package probe

import (
	"bytes"
	"net/http"
	"strings"
)

// sniffBytes is the number of bytes that tell formats apart. Packets of MPEG-TS have 188.
const sniffBytes = 512

// isMovie reports whether a file begins like MP4 or QuickTime.
func isMovie(head []byte) bool {
	return len(head) >= 8 && strings.Contains(" ftyp moov mdat moof styp free skip wide pnot uuid ", " "+string(head[4:8])+" ")
}

// convert is the command that makes an MP4 of most videos.
const convert = "ffmpeg -i INPUT -c:v libx264 -pix_fmt yuv420p OUTPUT.mp4"

// signatures are the starts of formats that net/http does not know.
var signatures = []struct{ start, format string }{
	{"\x1a\x45\xdf\xa3", "WebM or Matroska"},
	{"FLV\x01", "Flash video (FLV)"},
	{"\x00\x00\x01\xba", "an MPEG program stream"},
	{"\x00\x00\x01\xb3", "an MPEG video stream"},
	{"\x30\x26\xb2\x75", "Windows Media (ASF)"},
	{"\x00\x00\x00\x01", "a raw video stream"},
}

// otherFormat says what a file is that is not MP4 or QuickTime.
func otherFormat(head []byte) string {
	if len(head) == 0 {
		return "The file is empty."
	}
	format := ""
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.start)) {
			format = s.format
			break
		}
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch {
	case format != "":
	case len(head) > 188 && head[0] == 'G' && head[188] == 'G', len(head) > 196 && head[4] == 'G' && head[196] == 'G':
		format = "an MPEG transport stream"
	case kind == "image/gif" || kind == "application/ogg" || strings.HasPrefix(kind, "video/"):
		format = kind
	case kind == "application/octet-stream":
		return "The file is not a media file, or its start is missing."
	default: // such as text/html, application/zip, image/png
		return "The file is not a video: it looks like " + kind + "."
	}
	return "The file is " + format + ", not MP4 or QuickTime. Convert it: " + convert
}
