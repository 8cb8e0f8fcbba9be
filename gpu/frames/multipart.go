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

// maxPictureBytes bounds one JPEG; a 4096x4096 one of noise has about 16 MB.
const maxPictureBytes = 32 << 20

// maxHeaderLines of one part; ffmpeg writes four.
const maxHeaderLines = 16

// readPart reads the next picture of ffmpeg's multipart stream: header lines, among
// them Content-length, an empty line, the bytes. io.EOF at its end.
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
				return nil, fmt.Errorf("picture of %q bytes", strings.TrimSpace(value))
			}
			length = n
		}
	}
	return nil, errors.New("a part without a length")
}

func readPicture(r *bufio.Reader, length int) ([]byte, error) {
	jpeg := make([]byte, length)
	if _, err := io.ReadFull(r, jpeg); err != nil {
		return nil, fmt.Errorf("picture cut off: %w", io.ErrUnexpectedEOF)
	}
	if !bytes.HasPrefix(jpeg, []byte{0xff, 0xd8}) {
		return nil, errors.New("a part that is no JPEG")
	}
	return jpeg, nil
}

// readTime reads on to the next `frame:N pts:P pts_time:S` line.
func readTime(r *bufio.Reader) (float64, error) {
	for range maxHeaderLines {
		line, err := readLine(r)
		if err != nil {
			return 0, fmt.Errorf("time of a picture: %w", err)
		}
		_, value, ok := strings.Cut(line, "pts_time:")
		if !ok {
			continue
		}
		at, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || at < -1e9 || at > 1e9 || at != at {
			return 0, fmt.Errorf("time of a picture: %q", value)
		}
		return max(0, at), nil
	}
	return 0, errors.New("no time of a picture")
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
