package export_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/projections/ledger/export"
)

// TestForeignLog puts the proofs of another log into a bundle, and forges a whole bundle with another key.
func TestForeignLog(t *testing.T) {
	t.Parallel()
	p, q := newPlatform(t, "a"), newPlatform(t, "b")
	id := p.Live(t, 3, 1, 20)[0]
	require.Equal(t, id, q.Live(t, 4, 1, 20)[0], "both platforms have the account")
	p.pass(t)
	q.pass(t)
	genuine, _ := p.bundle(t, id, nil)
	foreign, _ := q.bundle(t, id, nil)
	mixed := genuine
	for _, name := range []string{"proof.json", "nodes.txt", "checkpoint.txt", "older.txt", "log.json"} {
		mixed = mixed.with(name, foreign[name].Bytes())
	}
	mixed = mixed.listed(t)
	out, code := mixed.verdict(t)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "entries.jsonl line 1: version 1 of credit/"+id)
	_, err := export.CheckBundle(os.DirFS(mixed.folder(t)), p.Codec)
	require.Error(t, err)

	out, code = foreign.verdict(t)
	require.Zero(t, code, "it is consistent in itself: %s", out)
	require.Contains(t, out, "if the key is that of the platform")
	out, code = foreign.verdict(t, "--key", p.pin())
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "is not the given one")
}
