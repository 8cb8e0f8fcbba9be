package decode

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxJPEG bounds one sample, in bytes. A noisy one of 4096x4096 pixels has about 16 MB.
	maxJPEG = 32 << 20
	// maxLines bounds the lines before a sample and before its time. ffmpeg writes four.
	maxLines = 16
)

// readPart reads the next sample of ffmpeg's multipart stream: lines with a Content-length, an empty
// line, the bytes.
func readPart(r *bufio.Reader) ([]byte, error) {
	length := -1
	for range maxLines {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" && length >= 0 {
			jpeg := make([]byte, length)
			if _, err := io.ReadFull(r, jpeg); err != nil {
				return nil, fmt.Errorf("a sample is cut off: %w", err)
			}
			if !bytes.HasPrefix(jpeg, []byte{0xff, 0xd8}) {
				return nil, errors.New("a sample is not a JPEG")
			}
			return jpeg, nil
		}
		if name, value, ok := strings.Cut(text, ":"); ok && strings.EqualFold(name, "Content-length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 || length > maxJPEG {
				return nil, fmt.Errorf("invalid length of a sample: %q", value)
			}
		}
	}
	return nil, errors.New("a sample has no Content-length")
}

// readTime reads up to the next line of the form "frame:N pts:P pts_time:S" and returns P, in ticks.
func readTime(r *bufio.Reader) (int64, error) {
	for range maxLines {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, fmt.Errorf("read the time of a sample: %w", err)
		}
		var frame, pts int64
		if n, _ := fmt.Sscanf(string(line), "frame:%d pts:%d ", &frame, &pts); n == 2 {
			return pts, nil
		}
	}
	return 0, errors.New("the time of a sample is missing")
}
