package frames

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxPictureBytes bounds one JPEG. A noisy one of 4096x4096 pixels has about 16 MB.
const maxPictureBytes = 32 << 20

// maxHeaderLines bounds the header of one part. ffmpeg writes four lines.
const maxHeaderLines = 16

// readPart reads the next frame of ffmpeg's multipart stream: header lines with a
// Content-length, an empty line, the bytes. It returns io.EOF at the end.
func readPart(r *bufio.Reader) ([]byte, error) {
	length := -1
	for range maxHeaderLines {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		if line == "" && length >= 0 {
			return readPicture(r, length)
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "Content-length") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || n < 0 || n > maxPictureBytes {
				return nil, fmt.Errorf("invalid length of a frame: %q", strings.TrimSpace(value))
			}
			length = n
		}
	}
	return nil, errors.New("a part has no Content-length")
}

func readPicture(r *bufio.Reader, length int) ([]byte, error) {
	jpeg := make([]byte, length)
	if _, err := io.ReadFull(r, jpeg); err != nil {
		return nil, fmt.Errorf("a frame is cut off: %w", io.ErrUnexpectedEOF)
	}
	if !bytes.HasPrefix(jpeg, []byte{0xff, 0xd8}) {
		return nil, errors.New("a part is not a JPEG")
	}
	return jpeg, nil
}

// stamp is the time of a frame as ffmpeg reports it.
type stamp struct {
	// number counts steps of the grid, if there is one.
	number int64
	// seconds are rounded to six digits, which is not exact beyond 1000 s.
	seconds float64
}

// at is the exact time in seconds.
func (s stamp) at(opts Options, mode mode) float64 {
	if mode == first {
		return max(0, s.seconds)
	}
	return max(0, float64(s.number)/opts.FPS)
}

// readTime reads up to the next `frame:N pts:P pts_time:S` line.
func readTime(r *bufio.Reader) (stamp, error) {
	for range maxHeaderLines {
		line, err := readLine(r)
		if err != nil {
			return stamp{}, fmt.Errorf("read the time of a frame: %w", err)
		}
		var frame int64
		var s stamp
		if n, _ := fmt.Sscanf(line, "frame:%d pts:%d pts_time:%f", &frame, &s.number, &s.seconds); n != 3 {
			continue
		}
		if !(s.seconds > -1e9 && s.seconds < 1e9) || s.number < -1e15 || s.number > 1e15 {
			return stamp{}, fmt.Errorf("invalid time of a frame: %q", line)
		}
		return s, nil
	}
	return stamp{}, errors.New("the time of a frame is missing")
}

// readLine returns a line without its end; lines longer than the buffer are errors.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		if len(line) > 0 && errors.Is(err, io.EOF) {
			return "", io.ErrUnexpectedEOF
		}
		return "", err
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}
