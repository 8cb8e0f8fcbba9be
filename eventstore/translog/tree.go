package translog

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// tileHeight is the height of a tile, which C2SP tlog-tiles fixes. A full tile has 256 hashes.
const tileHeight = 8

// TileWidth is the number of hashes of a full tile, and of records of a full bundle.
const TileWidth = 1 << tileHeight

// Tree is the state of a log: its number of leaves and its root.
type Tree struct {
	Size int64
	Root Hash
}

// EmptyTree returns the tree without leaves.
func EmptyTree() Tree {
	root, err := tlog.TreeHash(0, nil)
	if err != nil {
		panic(err) // the root of no leaves needs no hash
	}
	return Tree{Root: root}
}

// ReadTile returns the content of a file of the log by its path, as Tile.Path and BundlePath return it.
type ReadTile func(path string) ([]byte, error)

// Tile is a file of the tree.
type Tile struct {
	// Path is relative to the folder of the log, in the form of C2SP tlog-tiles.
	Path string
	Data []byte
}

// Grow appends leaves, given by their hashes, to a tree. It returns the new tree and the tiles to write
// before a checkpoint of it may be signed. It reads only the tiles at the right edge of the old tree and
// authenticates them against its root. Error: such a tile is missing or does not match.
func Grow(tree Tree, read ReadTile, leaves []Hash) (Tree, []Tile, error) {
	if len(leaves) == 0 {
		return tree, nil, nil
	}
	grown := overlay{base: hashes(tree, read), added: make(map[int64]Hash, 2*len(leaves))}
	size := tree.Size
	for _, leaf := range leaves {
		stored, err := tlog.StoredHashesForRecordHash(size, leaf, grown)
		if err != nil {
			return tree, nil, fmt.Errorf("translog: append leaf %d: %w", size, err)
		}
		first := tlog.StoredHashIndex(0, size)
		for i, h := range stored {
			grown.added[first+int64(i)] = h
		}
		size++
	}
	root, err := tlog.TreeHash(size, grown)
	if err != nil {
		return tree, nil, fmt.Errorf("translog: hash the tree of %d leaves: %w", size, err)
	}
	var tiles []Tile
	for _, t := range tlog.NewTiles(tileHeight, tree.Size, size) {
		data, err := tlog.ReadTileData(t, grown)
		if err != nil {
			return tree, nil, fmt.Errorf("translog: make tile %s: %w", tilePath(t), err)
		}
		tiles = append(tiles, Tile{tilePath(t), data})
	}
	return Tree{size, root}, tiles, nil
}

// Fold computes a tree from its leaves in order, and keeps only the hashes at its right edge.
type Fold struct {
	size int64
	// edge has the roots of the complete subtrees, the largest first.
	edge []Hash
}

// Size returns the number of leaves so far.
func (f *Fold) Size() int64 { return f.size }

// Add appends a leaf, given by its hash.
func (f *Fold) Add(leaf Hash) {
	f.edge = append(f.edge, leaf)
	for n := f.size; n&1 == 1; n >>= 1 { // each bit is a complete subtree on the left
		last := len(f.edge) - 1
		f.edge = append(f.edge[:last-1], tlog.NodeHash(f.edge[last-1], f.edge[last]))
	}
	f.size++
}

// Tree returns the tree of the leaves so far.
func (f *Fold) Tree() Tree {
	if f.size == 0 {
		return EmptyTree()
	}
	root := f.edge[len(f.edge)-1]
	for i := len(f.edge) - 2; i >= 0; i-- {
		root = tlog.NodeHash(f.edge[i], root)
	}
	return Tree{f.size, root}
}

// ReadLeafHash returns the hash of the leaf with an index, authenticated against the root.
func ReadLeafHash(tree Tree, read ReadTile, index int64) (Hash, error) {
	if index < 0 || index >= tree.Size {
		return Hash{}, fmt.Errorf("translog: a tree of %d leaves has no leaf %d", tree.Size, index)
	}
	found, err := hashes(tree, read).ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
	if err != nil {
		return Hash{}, fmt.Errorf("translog: read leaf %d: %w", index, err)
	}
	return found[0], nil
}

// hashes reads the stored hashes of a tree from its tiles, authenticated against the root.
func hashes(tree Tree, read ReadTile) tlog.HashReader {
	if tree.Size == 0 {
		return tlog.HashReaderFunc(func([]int64) ([]Hash, error) { return nil, errors.New("translog: the tree is empty") })
	}
	return tlog.TileHashReader(tlog.Tree{N: tree.Size, Hash: tree.Root}, tileReader{tree.Size, read})
}

// overlay adds hashes that are not in tiles yet.
type overlay struct {
	base  tlog.HashReader
	added map[int64]Hash
}

// ReadHashes implements tlog.HashReader.
func (o overlay) ReadHashes(indexes []int64) ([]Hash, error) {
	out := make([]Hash, len(indexes))
	var missing []int64
	for i, index := range indexes {
		h, ok := o.added[index]
		if !ok {
			missing = append(missing, index)
		}
		out[i] = h
	}
	if len(missing) == 0 {
		return out, nil
	}
	found, err := o.base.ReadHashes(missing)
	if err != nil {
		return nil, err
	}
	for i, index := range indexes {
		if _, ok := o.added[index]; !ok {
			out[i], found = found[0], found[1:]
		}
	}
	return out, nil
}

// tileReader adapts ReadTile to tlog.
type tileReader struct {
	size int64
	read ReadTile
}

// Height implements tlog.TileReader.
func (tileReader) Height() int { return tileHeight }

// SaveTiles implements tlog.TileReader. The caller of Grow writes tiles.
func (tileReader) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements tlog.TileReader.
func (r tileReader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		data, err := r.read(tilePath(t))
		if err != nil {
			return nil, fmt.Errorf("read tile %s: %w", tilePath(t), err)
		}
		if want := t.W * tlog.HashSize; len(data) != want {
			return nil, fmt.Errorf("tile %s has %d bytes instead of %d", tilePath(t), len(data), want)
		}
		out[i] = data
	}
	return out, nil
}

// partialPath returns the path of the last tile of a level with n hashes.
func partialPath(level int, n int64) string {
	return tilePath(tlog.Tile{H: tileHeight, L: level, N: n / TileWidth, W: int(n % TileWidth)})
}

// tilePath returns the path of a tile. That of tlog also has the height.
func tilePath(t tlog.Tile) string {
	return "tile/" + strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/", tileHeight))
}
