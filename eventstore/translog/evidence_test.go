package translog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/translog"
)

// TestEvidence proves some leaves of trees of every small size with shared hashes.
func TestEvidence(t *testing.T) {
	t.Parallel()
	for size := int64(1); size < 40; size++ {
		files := map[string][]byte{}
		read := func(path string) ([]byte, error) { return files[path], nil }
		var hashes []translog.Hash
		leaves := make([]translog.Indexed, size)
		for i := range leaves {
			leaves[i] = translog.Indexed{Index: int64(i), Leaf: translog.Leaf{Position: int64(i + 1), RecordedAt: time.Unix(int64(i), 0), Stream: "credit/acct_1", Version: int64(i + 1)}}
			hashes = append(hashes, leaves[i].Hash())
		}
		tree, tiles, err := translog.Grow(translog.EmptyTree(), read, hashes)
		require.NoError(t, err)
		for _, tile := range tiles {
			files[tile.Path] = tile.Data
		}
		e := translog.Evidence{Seal: leaves[size-1]}
		for i := int64(0); i < size; i += 3 {
			e.Entries = append(e.Entries, leaves[i])
			require.NoError(t, e.AddPath(tree, read, i))
		}
		require.NoError(t, e.AddPath(tree, read, size-1))
		parsed, err := translog.ParseNodes(translog.FormatNodes(e.Nodes))
		require.NoError(t, err)
		e.Nodes = parsed
		_, surplus := e.Surplus(size)
		require.False(t, surplus)
		for _, l := range e.Entries {
			require.NoError(t, e.VerifyPath(tree, l))
			other := l
			other.Version++
			require.Error(t, e.VerifyPath(tree, other), "another event at leaf %d of %d", l.Index, size)
			moved := l
			moved.Index = (l.Index + 1) % size
			require.True(t, size == 1 || e.VerifyPath(tree, moved) != nil, "leaf %d of %d at another index", l.Index, size)
		}
		outside := leaves[0]
		outside.Index = size
		require.Error(t, e.VerifyPath(tree, outside))
		e.Nodes = map[translog.Range]translog.Hash{{Low: size, High: size + 1}: {}}
		_, surplus = e.Surplus(size)
		require.True(t, surplus)
		require.True(t, size == 1 || e.VerifyPath(tree, leaves[0]) != nil, "a hash is missing")
	}
	for _, text := range []string{"0 1", "0 1 AAAA\n", "1 2 x y\n", "00 1 " + translog.Hash{}.String() + "\n", "0 1 " + translog.Hash{}.String()} {
		_, err := translog.ParseNodes([]byte(text))
		require.Error(t, err, text)
	}
}
