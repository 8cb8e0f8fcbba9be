package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// maxBoxes bounds the number of boxes that are read in one level. Four hours of fragments of one
	// second have 28,800.
	maxBoxes = 50_000
	// maxTableBytes bounds one table: the sizes of 4 million frames.
	maxTableBytes = 16 << 20
	// walkTime bounds the reading of the boxes of one file. Only a slow store needs longer, where each
	// box is a request of its own. Boxes that are not reached count as absent.
	walkTime = 5 * time.Second
)

// byteRange is a part of a file, in bytes from its start. The zero value is empty.
type byteRange struct{ from, to int64 }

// box is one box of an MP4 or QuickTime file.
type box struct {
	name string
	// at is the place of the box, end the one after it. A cut box ends beyond the file.
	at, end int64
	// content is the part that the file has.
	content byteRange
}

// boxes reads the boxes of a file. After an error it finds no boxes.
type boxes struct {
	file  io.ReadSeeker
	until time.Time
	err   error
}

// each calls do with each box of a range until do returns false.
func (b *boxes) each(in byteRange, do func(box) bool) {
	for range maxBoxes {
		head := b.read(in, 16)
		if len(head) < 8 || time.Now().After(b.until) {
			return
		}
		length, content := int64(binary.BigEndian.Uint32(head)), int64(8)
		switch {
		case length == 0: // up to the end
			length = in.to - in.from
		case length == 1 && len(head) == 16:
			length, content = int64(min(binary.BigEndian.Uint64(head[8:]), 1<<61)), 16 //nolint:gosec // at most 1<<61
		}
		if length < content {
			return
		}
		found := box{name: string(head[4:8]), at: in.from, end: in.from + length}
		found.content = byteRange{in.from + content, min(found.end, in.to)}
		if !do(found) {
			return
		}
		in.from = found.content.to
	}
}

// find returns the content of the first box with a name.
func (b *boxes) find(in byteRange, name string) byteRange {
	var content byteRange
	b.each(in, func(found box) bool {
		if found.name != name {
			return true
		}
		content = found.content
		return false
	})
	return content
}

// within finds a box in boxes in each other.
func (b *boxes) within(in byteRange, names ...string) byteRange {
	for _, name := range names {
		in = b.find(in, name)
	}
	return in
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

// numbers reads big-endian numbers from the start of some bytes. Beyond the end they are 0.
type numbers []byte

func (n *numbers) take(size int) uint64 {
	var value uint64
	for _, b := range (*n)[:min(size, len(*n))] {
		value = value<<8 | uint64(b)
	}
	*n = (*n)[min(size, len(*n)):]
	return value
}

// table reads the content of a box, and splits off its version and flags.
func (b *boxes) table(in byteRange) (fields numbers, version byte, flags uint64) {
	if in.to-in.from > maxTableBytes {
		return nil, 0, 0
	}
	fields = b.read(in, maxTableBytes)
	version = byte(fields.take(1)) //nolint:gosec // one byte
	return fields, version, fields.take(3)
}
