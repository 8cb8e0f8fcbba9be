package export_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/projections/ledger/export"
	"vqa/projections/ledger/internal/history"
)

// drill runs the drill of an auditor on a bundle, and returns its output, without the note of a system that has
// no network namespaces.
func (m memory) drill(t *testing.T, kept, key string) (string, int) {
	t.Helper()
	find(t, "python3", "python3")
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(m.folder(t), "drill.sh"), kept, key)
	var noise strings.Builder
	cmd.Stderr = &noise
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	if cmd.ProcessState.ExitCode() == 2 {
		return noise.String(), 2
	}
	if noise.Len() > 0 {
		require.Contains(t, noise.String(), "no network namespace")
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestDrill keeps a checkpoint, a proof and a bundle, and compares them with a later bundle: a genuine one, and
// one of a history that was written again and signed with the genuine key.
func TestDrill(t *testing.T) {
	t.Parallel()
	p, q := newPlatform(t, "a"), newPlatform(t, "a")
	buy := func(p *platform, seconds ...int64) (id string) {
		id = "acct_1"
		for _, s := range seconds {
			p.Must(t, id, history.Start, credit.Grant{AccountID: id, TransactionID: p.ID("txn"), Kind: credit.Purchase, Seconds: s})
		}
		return id
	}
	id := buy(p, 100, 20, 30)
	p.pass(t)
	buy(p, 7)
	kept := p.pass(t)
	lastMonth, _ := p.bundle(t, id, nil)
	proof, err := p.prover.Entry(t.Context(), id, 2)
	require.NoError(t, err)
	buy(q, 100, 9020, 30)
	q.pass(t)
	buy(q, 7)
	inTheMiddle := q.pass(t)
	for _, x := range []*platform{p, q} {
		buy(x, 50)
		x.pass(t)
	}
	genuine, _ := p.bundle(t, id, kept.Signed)
	forged, _ := q.bundle(t, id, inTheMiddle.Signed)
	shorter := lastMonth

	past := map[string]string{
		"checkpoint": file(t, "checkpoint", string(kept.Signed)), "proof": file(t, "txn.tlog-proof", string(proof)), "bundle": lastMonth.folder(t),
	}
	for name, path := range past {
		out, code := genuine.drill(t, path, p.pin())
		require.Zero(t, code, "%s: %s", name, out)
		require.True(t, strings.HasPrefix(out, "correct\n"), out)
		require.Contains(t, out, "acct_1: 207 seconds posted")

		out, code = forged.drill(t, path, q.pin())
		require.Equal(t, 1, code, out)
		require.Contains(t, out, "wrong: ")
		require.NotContains(t, out, "correct")
		require.Contains(t, out, map[string]string{
			"checkpoint": fmt.Sprintf("the log was forked: the checkpoint of %d leaves that you kept has another root", kept.Checkpoint.Size),
			"proof":      "version 2 of credit/acct_1, position 2, is not the entry that you kept",
			"bundle":     "version 1 of credit/acct_1, position 1, is not the entry that you kept",
		}[name])
	}
	newest, err := p.prover.Head(t.Context())
	require.NoError(t, err)
	out, code := shorter.drill(t, file(t, "newest", string(newest.Signed)), p.pin())
	require.Equal(t, 1, code, out)
	require.Contains(t, out, fmt.Sprintf("the bundle ends at %d leaves, before the checkpoint of %d that you kept. Ask for a new bundle.", kept.Checkpoint.Size, newest.Checkpoint.Size))
	missing := filepath.Join(t.TempDir(), "nosuch")
	out, code = genuine.drill(t, missing, p.pin())
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "Cannot read "+missing+", the file that you kept: no such file.")
	stranger, _ := p.bundle(t, "acct_2", kept.Signed)
	out, code = stranger.drill(t, past["bundle"], p.pin())
	require.Zero(t, code, out)
	require.Contains(t, out, "of another account, so only its checkpoint was compared")
	other, _ := p.bundle(t, id, nil)
	out, code = other.drill(t, past["checkpoint"], p.pin())
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "ask for a bundle with --since and your file")
	out, code = genuine.drill(t, past["checkpoint"], base64.StdEncoding.EncodeToString(make([]byte, ed25519.PublicKeySize)))
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "is not the given one")
	out, code = genuine.with("entries.jsonl", []byte(strings.Replace(genuine["entries.jsonl"].String(), `"seconds\":20`, `"seconds\":21`, 1))).listed(t).drill(t, past["checkpoint"], p.pin())
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "wrong: entries.jsonl line 2: version 2 was altered")
}

// bundleAndCheckpoint returns a platform, a bundle of one of its accounts, and a file with its checkpoint.
func bundleAndCheckpoint(t *testing.T) (p *platform, m memory, kept string) {
	t.Helper()
	p = newPlatform(t, "a")
	id := p.Live(t, 3, 1, 10)[0]
	h := p.pass(t)
	m, _ = p.bundle(t, id, nil)
	return p, m, file(t, "checkpoint", string(h.Signed))
}

// TestDrillNeedsNoNetwork runs the program with a Python that cannot open a socket. The drill itself runs in a
// network namespace, where the system allows one.
func TestDrillNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	p, m, kept := bundleAndCheckpoint(t)

	// sitecustomize runs before every program of this Python.
	closed := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(closed, "sitecustomize.py"), []byte(`import sys
sys.addaudithook(lambda event, args: sys.exit("a socket was opened") if event.startswith("socket.") else None)
`), 0o600))
	cmd := exec.CommandContext(t.Context(), find(t, "python3", "python3"), "-B", filepath.Join(m.folder(t), "verify.py"), "--kept", kept, "--key", p.pin())
	cmd.Env = append(os.Environ(), "PYTHONPATH="+closed)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "VERDICT   VALID")
	probe := exec.CommandContext(t.Context(), "python3", "-c", "import socket; socket.socket()")
	probe.Env = cmd.Env
	out, err = probe.CombinedOutput()
	require.Error(t, err, "the hook must bite: %s", out)
	require.Contains(t, string(out), "a socket was opened")
}

// TestDrillOfAnIncompleteBundle: a missing file is not a wrong row, because nothing was compared.
func TestDrillOfAnIncompleteBundle(t *testing.T) {
	t.Parallel()
	p, genuine, kept := bundleAndCheckpoint(t)
	for name := range genuine {
		lacking := maps.Clone(genuine)
		delete(lacking, name)
		if name != "drill.sh" {
			out, code := lacking.drill(t, kept, p.pin())
			require.Equal(t, 2, code, "%s: %s", name, out)
			require.Contains(t, out, "incomplete", name)
			require.Contains(t, out, "has no "+name, name)
		}
		// The auditor's own copy of the programs checks the folder.
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(genuine.folder(t), "drill.sh"), kept, p.pin(), lacking.folder(t))
		var reason strings.Builder
		cmd.Stderr = &reason
		out, err := cmd.Output()
		require.Error(t, err, name)
		require.Equal(t, 2, cmd.ProcessState.ExitCode(), name)
		require.Empty(t, string(out), "%s: nothing is called wrong", name)
		require.Contains(t, reason.String(), "The bundle is incomplete, so nothing was checked: ", name)
		require.Contains(t, reason.String(), "has no "+name+".", name)
		_, err = export.CheckBundle(os.DirFS(lacking.folder(t)), p.Codec, p.key())
		require.EqualError(t, err, "the bundle is incomplete: it has no "+name)
	}
	two := maps.Clone(genuine)
	delete(two, "nodes.txt")
	delete(two, "entries.jsonl")
	out, code := two.drill(t, kept, p.pin())
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "has no entries.jsonl, nodes.txt.")
}

// TestDrillOfUnusableArguments: a file or a key that is none is no wrong row, because nothing was compared.
func TestDrillOfUnusableArguments(t *testing.T) {
	t.Parallel()
	p, m, kept := bundleAndCheckpoint(t)
	for _, key := range []string{"AAAA", "not base64", "lk_0c88e4b2a1d3f567"} {
		out, code := m.drill(t, kept, key)
		require.Equal(t, 2, code, out)
		require.Contains(t, out, key+" is not a public key, so nothing was checked.")
	}
	signed, err := os.ReadFile(kept)
	require.NoError(t, err)
	damaged := m.with("entries.jsonl", m["entries.jsonl"].Bytes()[:100]).folder(t)
	for name, path := range map[string]string{
		"text":             file(t, "text", "Dear auditor,\n\nhere is the checkpoint.\n"),
		"bytes":            file(t, "bytes", "\x00\xff\xfe"),
		"nothing":          file(t, "nothing", ""),
		"a cut checkpoint": file(t, "cut", string(signed[:60])),
		"a cut proof":      file(t, "cut.tlog-proof", "c2sp.org/tlog-proof@v1\nextra MTA6dnFh"),
		"a damaged bundle": damaged,
	} {
		out, code := m.drill(t, path, p.pin())
		require.Equal(t, 2, code, "%s: %s", name, out)
		require.Contains(t, out, path+" is not a checkpoint, a .tlog-proof or the folder of a bundle, so nothing was compared.", name)
	}
}
