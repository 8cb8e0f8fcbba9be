package main

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestVerifyAgainstAnOlderCheckpoint keeps a checkpoint, and then changes the past as the owner of the database.
func TestVerifyAgainstAnOlderCheckpoint(t *testing.T) {
	b := newToolbench(t)
	b.text("ledger", "checkpoint")
	names, err := filepath.Glob(filepath.Join(b.config.objectsDir(), "ledger", "checkpoints", "0001", "*"))
	require.NoError(t, err)
	require.Len(t, names, 1)
	signed, err := os.ReadFile(names[0])
	require.NoError(t, err)
	kept := filepath.Join(t.TempDir(), "checkpoint")
	require.NoError(t, os.WriteFile(kept, signed, 0o600))
	b.text("credits", "purchase", b.key.AccountID, "5", "--reason", "test", "--idempotency-key", "k1")
	b.text("ledger", "checkpoint")
	require.Contains(t, b.text("ledger", "verify", "--against", kept), "correct: the database contains all")
	bundle := filepath.Join(t.TempDir(), "bundle")
	require.Contains(t, b.text("ledger", "bundle", b.key.AccountID, "--since", kept, "-o", bundle), "2 entries, proven by the checkpoint of ")
	out := b.text("ledger", "verify", "--against", bundle)
	require.Contains(t, out, "correct: the database contains all")
	require.Contains(t, out, "the 2 entries of the bundle are among them")
	header := filepath.Join(t.TempDir(), "header")
	require.NoError(t, os.WriteFile(header, []byte(base64.StdEncoding.EncodeToString(signed)+"\n"), 0o600))
	require.Contains(t, b.text("ledger", "verify", "--against", header), "correct: the database contains all")
	testAgainstURL(t, b, signed)
	note := filepath.Join(t.TempDir(), "README.md")
	for _, text := range []string{"# vqa\n\nText.\n", "text"} {
		require.NoError(t, os.WriteFile(note, []byte(text), 0o600))
		out, _, err = b.run("ledger", "verify", "--against", note)
		require.ErrorContains(t, err, note+" is not a checkpoint, a .tlog-proof or the folder of a bundle")
		require.NotContains(t, out, "WRONG:")
	}
	forgedBundle := filepath.Join(t.TempDir(), "forged")
	require.NoError(t, os.CopyFS(forgedBundle, os.DirFS(bundle)))
	require.NoError(t, os.WriteFile(filepath.Join(forgedBundle, "statement.html"), []byte("you owe us more"), 0o600))
	out, _, err = b.run("ledger", "verify", "--against", forgedBundle)
	require.Error(t, err)
	require.Contains(t, out, "the bundle itself is wrong: statement.html: it is not the file that manifest.json lists")

	forged := filepath.Join(t.TempDir(), "forged")
	require.NoError(t, os.WriteFile(forged, append([]byte("x"), signed...), 0o600))
	out, _, err = b.run("ledger", "verify", "--against", forged)
	require.Error(t, err)
	require.Contains(t, out, "no log with the origin")

	owner, err := pgx.Connect(t.Context(), b.config.DatabaseURL)
	require.NoError(t, err)
	defer owner.Close(context.WithoutCancel(t.Context()))
	_, err = owner.Exec(t.Context(), "alter table events disable trigger events_append_only")
	require.NoError(t, err)
	var position int64
	require.NoError(t, owner.QueryRow(t.Context(), `update events set chain = sha256(chain)
		where stream = $1 and version = 1 returning position`, "credit/"+b.key.AccountID).Scan(&position))
	out, _, err = b.run("ledger", "verify", "--against", kept)
	require.Error(t, err)
	require.Contains(t, out, "WRONG")
	require.Contains(t, out, "the first difference: ")
	require.Contains(t, out, fmt.Sprintf("osition %d", position))

	_, err = owner.Exec(t.Context(), "delete from events where position >= $1", position)
	require.NoError(t, err)
	out, _, err = b.run("ledger", "verify", "--against", kept)
	require.Error(t, err)
	require.Contains(t, out, "the past is longer")
	require.Contains(t, out, fmt.Sprintf("osition %d", position))

	// Without the records beside the tree, the bundle names the row.
	require.NoError(t, os.RemoveAll(filepath.Join(b.config.objectsDir(), "ledger", "trees")))
	out, _, err = b.run("ledger", "verify", "--against", kept)
	require.Error(t, err)
	require.Contains(t, out, "cannot name the row")
	out, _, err = b.run("ledger", "verify", "--against", bundle)
	require.Error(t, err)
	require.Contains(t, out, fmt.Sprintf("position %d, stream credit/%s, version 1: the event was removed", position, b.key.AccountID))
}

// testAgainstURL serves a checkpoint over http on this machine, and tries URLs that must not be fetched.
func testAgainstURL(t *testing.T, b toolbench, signed []byte) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/checkpoint":
			_, _ = w.Write(signed)
		case "/large":
			_, _ = w.Write(make([]byte, mostCheckpoint+1))
		case "/key":
			w.WriteHeader(http.StatusUnauthorized)
		case "/elsewhere":
			http.Redirect(w, r, "/checkpoint", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	server, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer server.Close()
	defer secure.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	t.Setenv("VQA_EGRESS_CA_FILE", authority)
	require.Contains(t, b.text("ledger", "verify", "--against", secure.URL+"/checkpoint"), "correct: the database contains all")
	require.Contains(t, b.text("ledger", "verify", "--against", server.URL+"/checkpoint"), "correct: the database contains all")
	for url, want := range map[string]string{
		server.URL + "/large":           "too large",
		server.URL + "/elsewhere":       "status 302",
		server.URL + "/key":             needsKey(server.URL + "/key").Error(),
		secure.URL + "/key":             needsKey(secure.URL + "/key").Error(),
		secure.URL + "/none":            "status 404",
		server.URL + "/none":            "status 404",
		"http://192.0.2.1:9/checkpoint": "http is allowed only to this machine",
	} {
		_, _, err := b.run("ledger", "verify", "--against", url)
		require.ErrorContains(t, err, want, url)
	}
	_, _, err := b.run("ledger", "verify", "--against", secure.URL+"/key")
	require.EqualError(t, err, "--against: status 401: "+secure.URL+"/key needs an API key. Save it, and name the file instead of the URL: "+
		`curl -fsS -H "Authorization: Bearer $VQA_API_KEY" -o charge.tlog-proof '`+secure.URL+"/key'")
}
