package witness_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/translog"
	"vqa/handlers/witness"
	"vqa/handlers/witness/witnesstest"
)

// log is a log of which only two trees are known.
type log struct {
	key           ed25519.PrivateKey
	small, larger []byte
	proof         []translog.Hash
	smallSize     int64
}

func newLog(t *testing.T, name string) log {
	t.Helper()
	l := log{key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)), smallSize: 3}
	tiles := map[string][]byte{}
	read := func(path string) ([]byte, error) {
		if data, ok := tiles[path]; ok {
			return data, nil
		}
		return nil, errors.New("no tile")
	}
	grow := func(tree translog.Tree, n int) translog.Tree {
		var hashes []translog.Hash
		for i := range n {
			hashes = append(hashes, translog.Leaf{Position: tree.Size + int64(i) + 1, Stream: name}.Hash())
		}
		grown, added, err := translog.Grow(tree, read, hashes)
		require.NoError(t, err)
		for _, tile := range added {
			tiles[tile.Path] = tile.Data
		}
		return grown
	}
	sign := func(tree translog.Tree) []byte {
		signed, err := translog.Checkpoint{Origin: "vqa.example/ledger", Tree: tree}.Sign(l.key)
		require.NoError(t, err)
		return signed
	}
	small := grow(translog.EmptyTree(), 3)
	larger := grow(small, 5)
	l.small, l.larger = sign(small), sign(larger)
	var err error
	l.proof, err = translog.ProveConsistency(larger, read, small.Size)
	require.NoError(t, err)
	return l
}

func (l log) public() ed25519.PublicKey { return l.key.Public().(ed25519.PublicKey) }

// client returns a client of a handler.
func client(t *testing.T, verifierKey string, handler http.Handler) *witness.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	setting, err := witness.ParseSetting(verifierKey + "@" + server.URL + "/")
	require.NoError(t, err)
	return witness.New(setting, http.DefaultTransport)
}

func TestAdd(t *testing.T) {
	t.Parallel()
	l, forked := newLog(t, "a"), newLog(t, "b")
	w := witnesstest.New("witness.example", l.public())
	c := client(t, w.VerifierKey(), w)
	line, err := c.Add(t.Context(), 0, nil, l.small)
	require.NoError(t, err)
	at, err := c.Key().Cosigned(append(bytes.Clone(l.small), line...))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)

	var conflict *witness.ConflictError
	_, err = c.Add(t.Context(), 0, nil, l.larger)
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, l.smallSize, conflict.Size)
	_, err = c.Add(t.Context(), l.smallSize, forked.proof, forked.larger)
	require.ErrorIs(t, err, witness.ErrInconsistent)
	_, err = c.Add(t.Context(), l.smallSize, nil, forked.small)
	require.ErrorAs(t, err, &conflict, "another tree of the same size")
	_, err = c.Add(t.Context(), l.smallSize, l.proof, l.larger)
	require.NoError(t, err)

	stranger := newLog(t, "a")
	stranger.key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	signed, err := translog.Checkpoint{Origin: "o", Tree: translog.EmptyTree()}.Sign(stranger.key)
	require.NoError(t, err)
	_, err = c.Add(t.Context(), 0, nil, signed)
	require.ErrorContains(t, err, "give it the key of this log")
}

// TestBadResponses: no response of a stranger becomes a cosignature or a statement about the log.
func TestBadResponses(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a")
	genuine, other := witnesstest.New("witness.example", l.public()), witnesstest.New("other.example", l.public())
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
	}{
		"no line":                {200, "", ""},
		"another witness":        {200, "", string(other.Cosign(l.small, time.Now()))},
		"another checkpoint":     {200, "", string(genuine.Cosign(l.larger, time.Now()))},
		"a cut line":             {200, "", strings.TrimSuffix(string(genuine.Cosign(l.small, time.Now())), "\n")},
		"too long":               {200, "", strings.Repeat("x", 20<<10) + "\n" + string(genuine.Cosign(l.small, time.Now()))},
		"a conflict of no size":  {409, "text/x.tlog.size", "many\n"},
		"a conflict as a page":   {409, "text/html", "7\n"},
		"a negative size":        {409, "text/x.tlog.size", "-7\n"},
		"an unknown origin":      {404, "", ""},
		"a redirect":             {307, "", ""},
		"an error of the server": {500, "text/html", strings.Repeat("<html>", 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := client(t, genuine.VerifierKey(), http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", c.kind)
				out.Header().Set("Location", "http://127.0.0.1:1/")
				out.WriteHeader(c.status)
				_, _ = fmt.Fprint(out, c.body)
			}))
			_, err := client.Add(t.Context(), 0, nil, l.small)
			require.Error(t, err)
			require.NotErrorIs(t, err, witness.ErrInconsistent)
			require.False(t, errors.As(err, new(*witness.ConflictError)))
			require.Less(t, len(err.Error()), 500)
		})
	}
}

func TestParseSetting(t *testing.T) {
	t.Parallel()
	key := witnesstest.New("witness.example/w1", nil).VerifierKey()
	s, err := witness.ParseSetting(" " + key + "@https://witness.example/w1/")
	require.NoError(t, err)
	require.Equal(t, "https://witness.example/w1", witness.New(s, nil).URL())
	for _, bad := range []string{
		"", key, key + "@", "@https://witness.example", key + "@witness.example", key + "@ftp://witness.example", key[:len(key)-4] + "@https://witness.example",
		key + "@https://user:secret@witness.example", key + "@https://witness.example/?a=b",
	} {
		_, err := witness.ParseSetting(bad)
		require.Error(t, err, bad)
	}
}
