package translog_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/translog"
)

// files keeps a log in memory.
type files map[string][]byte

func (f files) read(path string) ([]byte, error) {
	data, ok := f[path]
	if !ok {
		return nil, errors.New("no such file")
	}
	return data, nil
}

func (f files) write(tiles []translog.Tile) {
	for _, t := range tiles {
		f[t.Path] = t.Data
	}
}

// leaf returns a leaf that depends on n alone.
func leaf(n int64) translog.Leaf {
	return translog.Leaf{
		Position: n + 1, RecordedAt: time.Date(2026, 11, 23, 0, 0, 0, int(n)*1000, time.UTC),
		Stream: fmt.Sprintf("credit/acct_%d", n%7), Version: n/7 + 1, Chain: sha256.Sum256(fmt.Append(nil, n)),
	}
}

func leaves(from, to int64) (hashes []translog.Hash, records [][]byte) {
	for n := from; n < to; n++ {
		hashes, records = append(hashes, leaf(n).Hash()), append(records, leaf(n).Record())
	}
	return hashes, records
}

// root computes the root by the definition of RFC 6962, section 2.1.
func root(leaves []translog.Hash) translog.Hash {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	left, right := root(leaves[:k]), root(leaves[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// grown returns a log of size leaves that grew by steps of at most step leaves.
func grown(t testing.TB, size, step int64, r *rand.Rand) (translog.Tree, files) {
	t.Helper()
	f, tree := files{}, translog.EmptyTree()
	for tree.Size < size {
		f2, next := extend(t, f, tree, min(size, tree.Size+1+r.Int64N(step)))
		f, tree = f2, next
	}
	return tree, f
}

func extend(t testing.TB, f files, tree translog.Tree, to int64) (files, translog.Tree) {
	t.Helper()
	hashes, records := leaves(tree.Size, to)
	var last [][]byte
	if tree.Size%translog.TileWidth != 0 {
		var err error
		_, last, err = translog.ReadRecords(tree, f.read, tree.Size-1)
		require.NoError(t, err)
	}
	bundles, err := translog.Bundles(tree.Size, last, records)
	require.NoError(t, err)
	next, tiles, err := translog.Grow(tree, f.read, hashes)
	require.NoError(t, err)
	f.write(bundles)
	f.write(tiles)
	return f, next
}

func TestLeafRecord(t *testing.T) {
	t.Parallel()
	l := translog.Leaf{
		Position: 12, RecordedAt: time.Date(2026, 11, 23, 1, 2, 3, 4000, time.UTC), Stream: "credit/acct_1", Version: 3, Chain: [32]byte{0xab},
	}
	require.Equal(t, "10:vqa-leaf-12:1227:2026-11-23T01:02:03.000004Z13:credit/acct_11:364:ab"+fmt.Sprintf("%062d", 0), string(l.Record()))
	back, err := translog.ParseLeaf(l.Record())
	require.NoError(t, err)
	require.Equal(t, l, back)
	sum := sha256.Sum256(append([]byte{0}, l.Record()...))
	require.Equal(t, translog.Hash(sum), l.Hash())
	for name, change := range map[string]func(*translog.Leaf){
		"position": func(l *translog.Leaf) { l.Position++ }, "time": func(l *translog.Leaf) { l.RecordedAt = l.RecordedAt.Add(time.Microsecond) },
		"stream": func(l *translog.Leaf) { l.Stream += "2" }, "version": func(l *translog.Leaf) { l.Version++ }, "chain": func(l *translog.Leaf) { l.Chain[31]++ },
	} {
		other := l
		require.True(t, l.Equal(other))
		change(&other)
		require.False(t, l.Equal(other), name)
	}
	local := l
	local.RecordedAt = l.RecordedAt.In(time.FixedZone("x", 3600)).Add(time.Nanosecond)
	require.True(t, l.Equal(local), "a record has microseconds in UTC")
}

func TestRecordsHaveOneForm(t *testing.T) {
	t.Parallel()
	good := leaf(5).Record()
	for name, bad := range map[string]string{
		"empty": "", "cut": string(good[:len(good)-1]), "longer": string(good) + "x", "another format": "10:vqa-leaf-2" + string(good[13:]),
		"a field more": string(good) + "1:x", "a padded length": "010:" + string(good[3:]), "no netstring": "vqa-leaf-1",
	} {
		_, err := translog.ParseLeaf([]byte(bad))
		require.Error(t, err, name)
	}
	r := translog.Restart{Origin: "a/b", Size: 7, Root: translog.Hash{1}, Digest: "d", Lost: "2 events", Reason: "disk", Actor: "ada", At: time.Unix(5, 0).UTC()}
	back, err := translog.ParseRestart(r.Record())
	require.NoError(t, err)
	require.Equal(t, r, back)
	_, err = translog.ParseRestart(good)
	require.Error(t, err, "a leaf is not a restart")
	_, err = translog.ParseLeaf(r.Record())
	require.Error(t, err, "a restart is not a leaf")
}

// TestGrow compares the tree with the definition, for sizes around those of tiles.
func TestGrow(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int64{1, 2, 3, 255, 256, 257, 511, 512, 700} {
		for _, step := range []int64{1, 100, 1000} {
			tree, f := grown(t, size, step, r)
			all, records := leaves(0, size)
			require.Equal(t, translog.Tree{Size: size, Root: root(all)}, tree, "size %d, step %d", size, step)
			var folded translog.Fold
			require.Equal(t, translog.EmptyTree(), folded.Tree())
			for _, leaf := range all {
				folded.Add(leaf)
			}
			require.Equal(t, tree, folded.Tree())
			for index := range size {
				got, err := translog.ReadLeafHash(tree, f.read, index)
				require.NoError(t, err)
				require.Equal(t, all[index], got)
			}
			first, found, err := translog.ReadRecords(tree, f.read, size-1)
			require.NoError(t, err)
			require.Equal(t, records[first:], found)
		}
	}
	require.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hex.EncodeToString(rootBytes(translog.EmptyTree())))
}

func rootBytes(t translog.Tree) []byte { return t.Root[:] }

// TestChangedTilesAreRefused changes each byte-carrying file of a log in turn.
func TestChangedTilesAreRefused(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	tree, f := grown(t, 600, 90, r)
	more, _ := leaves(600, 610)
	for _, path := range []string{"tile/0/002.p/88", "tile/1/000.p/2"} {
		good := f[path]
		require.NotNil(t, good, path)
		bad := append([]byte(nil), good...)
		bad[r.IntN(len(bad))] ^= 1
		f[path] = bad
		_, _, err := translog.Grow(tree, f.read, more)
		require.Error(t, err, path)
		_, err = translog.ReadLeafHash(tree, f.read, 599)
		require.Error(t, err, path)
		f[path] = good[:len(good)-32]
		_, _, err = translog.Grow(tree, f.read, more)
		require.Error(t, err, path)
		f[path] = good
	}
	bundle := translog.BundlePath(599, 600)
	good := f[bundle]
	for range 200 {
		bad := append([]byte(nil), good...)
		bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
		f[bundle] = bad
		_, _, err := translog.ReadRecords(tree, f.read, 599)
		require.Error(t, err)
	}
}

func TestProofs(t *testing.T) {
	t.Parallel()
	const size = 70
	tree, f := grown(t, size, 9, rand.New(rand.NewPCG(5, 6)))
	all, _ := leaves(0, size)
	for index := range int64(size) {
		proof, err := translog.ProveInclusion(tree, f.read, index)
		require.NoError(t, err)
		require.NoError(t, translog.VerifyInclusion(tree, index, all[index], proof))
		require.Error(t, translog.VerifyInclusion(tree, (index+1)%size, all[index], proof))
		require.Error(t, translog.VerifyInclusion(tree, index, all[(index+1)%size], proof))
		if len(proof) > 0 {
			require.Error(t, translog.VerifyInclusion(tree, index, all[index], proof[1:]))
		}
	}
	_, err := translog.ProveInclusion(tree, f.read, size)
	require.Error(t, err)
	for old := range int64(size + 1) {
		older := translog.Tree{Size: old, Root: root(all[:old])}
		proof, err := translog.ProveConsistency(tree, f.read, old)
		require.NoError(t, err)
		require.NoError(t, translog.VerifyConsistency(older, tree, proof))
		if old == 0 {
			continue
		}
		forked := translog.Tree{Size: old, Root: translog.Hash{1}}
		require.Error(t, translog.VerifyConsistency(forked, tree, proof))
		if old < size {
			require.ErrorContains(t, translog.VerifyConsistency(tree, older, proof), "shortened")
		}
	}
}

func TestProofFile(t *testing.T) {
	t.Parallel()
	key := keyOf("a")
	tree, f := grown(t, 300, 100, rand.New(rand.NewPCG(7, 8)))
	signed, err := translog.Checkpoint{Origin: "example.org/ledger", Tree: tree}.Sign(key)
	require.NoError(t, err)
	hashes, err := translog.ProveInclusion(tree, f.read, 42)
	require.NoError(t, err)
	proof := translog.Proof{Record: leaf(42).Record(), Index: 42, Hashes: hashes, Checkpoint: signed}
	back, err := translog.ParseProof(proof.Format())
	require.NoError(t, err)
	require.Equal(t, proof, back)
	c, err := back.Verify(nil, public(key))
	require.NoError(t, err)
	require.Equal(t, tree, c.Tree)
	_, err = back.Verify(leaf(42).Record(), public(key))
	require.NoError(t, err)
	_, err = back.Verify(leaf(43).Record(), public(key))
	require.Error(t, err)
	_, err = back.Verify(nil, public(keyOf("b")))
	require.Error(t, err)
	for _, bad := range []string{"", "c2sp.org/tlog-proof@v1\n\n", "c2sp.org/tlog-proof@v2\nindex 1\n\nx", "c2sp.org/tlog-proof@v1\nindex -1\n\nx", "c2sp.org/tlog-proof@v1\nindex 1\nzz\n\nx"} {
		_, err := translog.ParseProof([]byte(bad))
		require.Error(t, err, bad)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(leaf(1).Record())
	f.Add([]byte("c2sp.org/tlog-proof@v1\nindex 1\n\nx\n1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := translog.ParseLeaf(data); err == nil {
			require.Equal(t, data, l.Record())
		}
		if a, err := translog.ParseAccount(data); err == nil {
			require.Equal(t, data, a.Record())
		}
		if p, err := translog.ParseProof(data); err == nil {
			_, _ = p.Verify(nil, public(keyOf("a")))
		}
		if records, err := translog.ParseBundle(data); err == nil && len(data) > 0 {
			require.NotEmpty(t, records)
		}
	})
}

func TestOutdated(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{1, 256, 300, 65_536, 70_000} {
		tree, f := grown(t, size, size, rand.New(rand.NewPCG(9, 9)))
		partial := translog.Outdated(size, size+1000)
		for _, path := range partial {
			require.Contains(t, f, path)
		}
		f, tree = extend(t, f, tree, size+1000)
		for _, path := range partial {
			delete(f, path)
		}
		_, err := translog.ProveConsistency(tree, f.read, size)
		require.NoError(t, err, "a larger tree does not need them")
		_, _, err = translog.ReadRecords(tree, f.read, size)
		require.NoError(t, err)
	}
}

func TestOpening(t *testing.T) {
	t.Parallel()
	a := &acts{t: t}
	a.add(a.statement(translog.Pin, public(keyOf("1")), 1, 0), keyOf("1"))
	for _, o := range []translog.Opening{
		{Number: 1, Origin: translog.OriginOf("o", 1)},
		{Number: 2, Origin: translog.OriginOf("o", 2), Restart: &translog.Restart{Origin: "o", Size: 4, Reason: "a restore", At: time.Unix(9, 0).UTC()}},
	} {
		signed, err := o.Sign(keyOf("1"))
		require.NoError(t, err)
		back, err := a.keys.OpenOpening(signed)
		require.NoError(t, err)
		require.Equal(t, o, back)
		signed, err = o.Sign(keyOf("2"))
		require.NoError(t, err)
		_, err = a.keys.OpenOpening(signed)
		require.Error(t, err, "another key")
	}
}
