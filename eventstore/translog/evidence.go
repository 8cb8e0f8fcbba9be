package translog

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Evidence proves the ledger of an account at a seal to somebody who knows the key alone.
type Evidence struct {
	// Statements are the signed key statements and Openings the signed openings of all logs, oldest first.
	Statements, Openings [][]byte
	// Checkpoint is a signed checkpoint, and Older one that it extends, with the proof of that.
	Checkpoint, Older []byte
	Consistency       []Hash
	// Seal is the last leaf of the tree: the event with the root of the account tree.
	Seal Indexed
	// Accounts proves the leaf of the account, or with its neighbors that it has none.
	Accounts []AccountProof
	// Entries are the leaves of the account's entries up to the seal, in order.
	Entries []Indexed
	// Nodes are the hashes beside the paths from the entries and the seal to the root.
	Nodes map[Range]Hash
}

// Indexed is a leaf with its index in the tree.
type Indexed struct {
	Index int64
	Leaf
}

// Range names a subtree of RFC 6962 by its leaves: from Low, inclusive, to High, exclusive.
type Range struct{ Low, High int64 }

// Path returns the subtrees beside the path from a leaf to the root of a tree of size leaves, in the order of
// an audit path: the lowest one first.
func Path(index, size int64) []Range {
	var out []Range
	for low, high := int64(0), size; high-low > 1; {
		middle := low + split(high-low)
		if index < middle {
			out, high = append(out, Range{middle, high}), middle
		} else {
			out, low = append(out, Range{low, middle}), middle
		}
	}
	slices.Reverse(out)
	return out
}

// split returns the largest power of two below n, which is at least 2.
func split(n int64) int64 {
	k := int64(1)
	for k*2 < n {
		k *= 2
	}
	return k
}

// AddPath adds the hashes beside the path of a leaf.
func (e *Evidence) AddPath(tree Tree, read ReadTile, index int64) error {
	proof, err := ProveInclusion(tree, read, index)
	if err != nil {
		return err
	}
	if e.Nodes == nil {
		e.Nodes = map[Range]Hash{}
	}
	for i, r := range Path(index, tree.Size) {
		e.Nodes[r] = proof[i]
	}
	return nil
}

// VerifyPath checks that a tree has a leaf at its index, by the hashes beside its path.
func (e *Evidence) VerifyPath(tree Tree, l Indexed) error {
	if l.Index < 0 || l.Index >= tree.Size {
		return fmt.Errorf("translog: a tree of %d leaves has no leaf %d", tree.Size, l.Index)
	}
	path := Path(l.Index, tree.Size)
	proof := make([]Hash, len(path))
	for i, r := range path {
		h, ok := e.Nodes[r]
		if !ok {
			return fmt.Errorf("translog: the proof of leaf %d lacks the hash of the leaves %d to %d", l.Index, r.Low, r.High-1)
		}
		proof[i] = h
	}
	return VerifyInclusion(tree, l.Index, l.Hash(), proof)
}

// Surplus returns a subtree that no path needs, if there is one.
func (e *Evidence) Surplus(size int64) (Range, bool) {
	needed := map[Range]bool{}
	for _, l := range append(slices.Clone(e.Entries), e.Seal) {
		for _, r := range Path(l.Index, size) {
			needed[r] = true
		}
	}
	for r := range e.Nodes {
		if !needed[r] {
			return r, true
		}
	}
	return Range{}, false
}

// FormatNodes returns the nodes as lines: the first leaf, the leaf after the last, and the hash in base64.
func FormatNodes(nodes map[Range]Hash) []byte {
	ranges := slices.Collect(maps.Keys(nodes))
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.High, b.High)) })
	var out bytes.Buffer
	for _, r := range ranges {
		fmt.Fprintf(&out, "%d %d %s\n", r.Low, r.High, nodes[r])
	}
	return out.Bytes()
}

// ParseNodes is the inverse of FormatNodes. Error: the text is not exactly what FormatNodes returns.
func ParseNodes(text []byte) (map[Range]Hash, error) {
	nodes := map[Range]Hash{}
	for line := range bytes.Lines(text) {
		var r Range
		var encoded string
		if _, err := fmt.Sscanf(string(line), "%d %d %s\n", &r.Low, &r.High, &encoded); err != nil {
			return nil, fmt.Errorf("translog: a node of a proof: %w", err)
		}
		h, err := tlog.ParseHash(encoded)
		if err != nil {
			return nil, fmt.Errorf("translog: a node of a proof: %w", err)
		}
		nodes[r] = h
	}
	if !bytes.Equal(FormatNodes(nodes), text) {
		return nil, fmt.Errorf("translog: the nodes of a proof are not in their canonical form")
	}
	return nodes, nil
}
