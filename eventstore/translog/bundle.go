package translog

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// maxRecord is the largest record of C2SP tlog-tiles, in bytes.
const maxRecord = math.MaxUint16

// BundlePath returns the path of the bundle with the record of the leaf with an index, in a log of size
// leaves: "tile/entries/…". Only the last bundle of a log can be partial.
func BundlePath(index, size int64) string {
	n := index / TileWidth
	width := int(min(TileWidth, size-n*TileWidth))
	t := tlog.Tile{H: tileHeight, L: 0, N: n, W: width}
	return "tile/entries/" + strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/0/", tileHeight))
}

// Bundles appends records to a log of size leaves, and returns the bundles that change. last has the
// records of the last bundle when that is partial. A record has at most 65,535 bytes.
func Bundles(size int64, last, records [][]byte) ([]Tile, error) {
	if partial := int(size % TileWidth); partial != len(last) {
		return nil, fmt.Errorf("translog: the last bundle of %d records has %d of them, not %d", size, partial, len(last))
	}
	end := size + int64(len(records))
	rest := append(append(make([][]byte, 0, len(last)+len(records)), last...), records...)
	var out []Tile
	for index := size - int64(len(last)); index < end; index += TileWidth {
		width := min(TileWidth, len(rest))
		data := make([]byte, 0, sizeOf(rest[:width]))
		for _, r := range rest[:width] {
			if len(r) > maxRecord {
				return nil, fmt.Errorf("translog: a record has %d bytes, more than %d", len(r), maxRecord)
			}
			data = append(binary.BigEndian.AppendUint16(data, uint16(len(r))), r...) //nolint:gosec // checked above
		}
		out, rest = append(out, Tile{BundlePath(index, end), data}), rest[width:]
	}
	return out, nil
}

// sizeOf returns the number of bytes of a bundle.
func sizeOf(records [][]byte) (n int) {
	for _, r := range records {
		n += 2 + len(r)
	}
	return n
}

// ParseBundle returns the records of a bundle. Error: the data is cut.
func ParseBundle(data []byte) ([][]byte, error) {
	var records [][]byte
	for len(data) > 0 {
		if len(data) < 2 {
			return nil, fmt.Errorf("translog: a bundle ends within the length of record %d", len(records))
		}
		n := int(binary.BigEndian.Uint16(data))
		if len(data)-2 < n {
			return nil, fmt.Errorf("translog: a bundle ends within record %d", len(records))
		}
		records, data = append(records, data[2:2+n]), data[2+n:]
	}
	return records, nil
}

// ReadRecords returns the records of the bundle that has the leaf with an index, and the index of its
// first record. It authenticates each against the root. Error: the bundle is missing, or a record does
// not match.
func ReadRecords(tree Tree, read ReadTile, index int64) (first int64, records [][]byte, err error) {
	if index < 0 || index >= tree.Size {
		return 0, nil, fmt.Errorf("translog: a tree of %d leaves has no leaf %d", tree.Size, index)
	}
	path := BundlePath(index, tree.Size)
	data, err := read(path)
	if err != nil {
		return 0, nil, fmt.Errorf("translog: read %s: %w", path, err)
	}
	if records, err = ParseBundle(data); err != nil {
		return 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	first = index / TileWidth * TileWidth
	if want := min(TileWidth, tree.Size-first); int64(len(records)) != want {
		return 0, nil, fmt.Errorf("translog: %s has %d records instead of %d", path, len(records), want)
	}
	stored := make([]int64, len(records))
	for i := range records {
		stored[i] = tlog.StoredHashIndex(0, first+int64(i))
	}
	leaves, err := hashes(tree, read).ReadHashes(stored)
	if err != nil {
		return 0, nil, fmt.Errorf("translog: read the leaves of %s: %w", path, err)
	}
	for i, r := range records {
		if tlog.RecordHash(r) != leaves[i] {
			return 0, nil, fmt.Errorf("translog: record %d of the log does not match the tree", first+int64(i))
		}
	}
	return first, records, nil
}
