package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// maxBoxes bounds the number of boxes that are skipped in one level. Muxers put the movie box
// among the first few boxes or after the media.
const maxBoxes = 1000

// Claimed returns the length that an MP4 or QuickTime file claims in its header, in
// microseconds, > 0. It returns nil for an impossible length and for a file of another format.
// It returns an error when the file cannot be read.
//
// The claim is the duration in the movie header box. If that is 0, it is the duration in the
// movie extends header box of a fragmented file (ISO/IEC 14496-12, 8.2.2 and 8.8.2).
func Claimed(file io.ReadSeeker) (*int64, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	b := boxes{file: file}
	movie := b.find(byteRange{0, size}, "moov")
	header := b.read(b.find(movie, "mvhd"), 32)
	if b.err != nil || len(header) < 20 {
		return nil, b.err
	}
	scale, duration := binary.BigEndian.Uint32(header[12:]), uint64(binary.BigEndian.Uint32(header[16:]))
	if header[0] == 1 {
		if len(header) < 32 {
			return nil, nil
		}
		scale, duration = binary.BigEndian.Uint32(header[20:]), binary.BigEndian.Uint64(header[24:])
	}
	if duration == 0 {
		duration = b.extends(movie)
	}
	if b.err != nil {
		return nil, b.err
	}
	return microsOf(duration, uint64(scale)), nil
}

// microsOf returns nil for a length of 0 and for one that does not fit into an int64.
func microsOf(ticks, scale uint64) *int64 {
	high, low := bits.Mul64(ticks, 1e6)
	if high >= scale { // also a scale of 0
		return nil
	}
	quotient, _ := bits.Div64(high, low, scale)
	micros := int64(quotient) //nolint:gosec // a value above the range is negative and refused below
	if micros <= 0 {
		return nil
	}
	return &micros
}

// byteRange is a part of a file, in bytes from its start. The zero value is empty.
type byteRange struct{ from, to int64 }

// boxes reads the boxes of a file. After an error it finds no boxes.
type boxes struct {
	file io.ReadSeeker
	err  error
}

// find returns the content of the first box with a name.
func (b *boxes) find(in byteRange, name string) byteRange {
	for range maxBoxes {
		head := b.read(in, 16)
		if len(head) < 8 {
			return byteRange{}
		}
		length, content := int64(binary.BigEndian.Uint32(head)), int64(8)
		switch {
		case length == 0: // up to the end
			length = in.to - in.from
		case length == 1 && len(head) == 16:
			length, content = int64(min(binary.BigEndian.Uint64(head[8:]), 1<<62)), 16 //nolint:gosec // at most 1<<62
		}
		if length < content {
			return byteRange{}
		}
		end := min(in.from+length, in.to)
		if bytes.Equal(head[4:8], []byte(name)) {
			return byteRange{in.from + content, end}
		}
		in.from = end
	}
	return byteRange{}
}

// extends returns the duration of a fragmented movie, or 0.
func (b *boxes) extends(movie byteRange) uint64 {
	header := b.read(b.find(b.find(movie, "mvex"), "mehd"), 12)
	switch {
	case len(header) >= 12 && header[0] == 1:
		return binary.BigEndian.Uint64(header[4:])
	case len(header) >= 8:
		return uint64(binary.BigEndian.Uint32(header[4:]))
	}
	return 0
}

// read returns the first n bytes of a range, or all bytes of a shorter range.
func (b *boxes) read(s byteRange, n int64) []byte {
	n = min(n, s.to-s.from)
	if b.err != nil || n <= 0 {
		return nil
	}
	if _, b.err = b.file.Seek(s.from, io.SeekStart); b.err != nil {
		return nil
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(b.file, data); err != nil {
		if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			b.err = fmt.Errorf("probe: %w", err)
		}
		return nil
	}
	return data
}
