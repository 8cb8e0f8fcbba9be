package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// magic starts an index. The digit is its version.
const magic = "VQAIDX1\n"

const (
	// maxPictures bounds the pictures of a part. At 60 per second, a part of 10 s has 600.
	maxPictures = 4096
	// maxPicture bounds a picture in bytes, as streaming/assemble does.
	maxPicture = 4 << 20
	// maxIndex is the largest size of an index: two varints of 64 bits for each picture.
	maxIndex = len(magic) + 2*binary.MaxVarintLen64*maxPictures
)

// entry describes a picture of a part.
type entry struct {
	// time is on the timeline of the recording, in ticks of 1/90000 s.
	time int64
	// size is the number of bytes, 1 to maxPicture.
	size int
}

// formatIndex returns the index of a part.
func formatIndex(entries []entry) []byte {
	b := []byte(magic)
	last := int64(0)
	for _, e := range entries {
		b = binary.AppendUvarint(b, uint64(e.size)) //nolint:gosec // a size is positive
		b = binary.AppendVarint(b, e.time-last)
		last = e.time
	}
	return b
}

var errIndex = errors.New("record: the index is damaged")

// parseIndex reads an index.
func parseIndex(b []byte) ([]entry, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not start with %q", errIndex, magic)
	}
	b = b[len(magic):]
	var entries []entry
	last := int64(0)
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size == 0 || size > maxPicture {
			return nil, fmt.Errorf("%w: length of picture %d", errIndex, len(entries)+1)
		}
		b = b[n:]
		step, n := binary.Varint(b)
		// The timeline starts at 0. It stays far below the bound, with which nothing overflows.
		if n <= 0 || step > math.MaxInt64/2-last || last+step < 0 {
			return nil, fmt.Errorf("%w: time of picture %d", errIndex, len(entries)+1)
		}
		b = b[n:]
		last += step
		if len(entries) == maxPictures {
			return nil, fmt.Errorf("%w: it has more than %d pictures", errIndex, maxPictures)
		}
		entries = append(entries, entry{time: last, size: int(size)})
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%w: it has no pictures", errIndex)
	}
	return entries, nil
}
