package export_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/handlers/prove"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
	"vqa/projections/ledger/internal/history"
)

// memory is a bundle in memory, by file name.
type memory map[string]*bytes.Buffer

func (m memory) Create(name string) (io.Writer, error) {
	m[name] = &bytes.Buffer{}
	return m[name], nil
}

// bundle returns the bundle of an account at the newest checkpoint, since an older one or the oldest.
func (p *platform) bundle(t testing.TB, accountID string, older []byte) (memory, export.Manifest) {
	t.Helper()
	evidence, err := p.prover.Ledger(t.Context(), accountID, older)
	require.NoError(t, err)
	m := memory{}
	manifest, err := export.WriteBundle(t.Context(), m, open(t, p.World), p.Codec, accountID, evidence, func() {})
	require.NoError(t, err)
	return m, manifest
}

// folder writes the bundle to a folder.
func (m memory) folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range m {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content.Bytes(), 0o600))
	}
	return dir
}

// verdict runs the bundle's own program and returns its output.
func (m memory) verdict(t testing.TB, args ...string) (string, int) {
	t.Helper()
	dir := m.folder(t)
	cmd := exec.CommandContext(t.Context(), find(t, "python3", "python3"), append([]string{"-B", filepath.Join(dir, "verify.py")}, args...)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// with returns the bundle with another content of one file.
func (m memory) with(name string, content []byte) memory {
	out := maps.Clone(m)
	out[name] = bytes.NewBuffer(content)
	return out
}

// listed returns the bundle with a manifest that matches its files, as a careful forger
// makes it.
func (m memory) listed(t *testing.T) memory {
	t.Helper()
	var manifest export.Manifest
	require.NoError(t, json.Unmarshal(m["manifest.json"].Bytes(), &manifest))
	for name := range manifest.Files {
		sum := sha256.Sum256(m[name].Bytes())
		manifest.Files[name] = hex.EncodeToString(sum[:])
	}
	text, err := json.Marshal(manifest)
	require.NoError(t, err)
	return m.with("manifest.json", text)
}

func TestBundle(t *testing.T) {
	t.Parallel()
	p := newPlatform(t, "a")
	ids := p.Live(t, 3, 2, 80)
	id := ids[0]
	first := p.pass(t)
	older, _ := p.bundle(t, id, nil)
	p.Must(t, id, history.Start.AddDate(0, 2, 0), credit.Grant{AccountID: id, TransactionID: p.ID("txn"), Kind: credit.Purchase, Seconds: 40})
	p.pass(t)
	genuine, manifest := p.bundle(t, id, nil)
	require.Greater(t, manifest.Entries, int64(20))
	require.Equal(t, first.Checkpoint.Size, manifest.OlderSize, "the oldest checkpoint")
	require.Greater(t, manifest.Size, manifest.OlderSize)

	for name := range genuine {
		require.Contains(t, genuine["README.txt"].String()+"README.txt", name)
	}
	t.Run("genuine", func(t *testing.T) {
		t.Parallel()
		out, code := genuine.verdict(t, "--key", p.pin())
		require.Zero(t, code, out)
		require.Contains(t, out, "VERDICT   VALID: every entry, balance and signature holds\n")
		require.Contains(t, out, "given by you")
		b, err := open(t, p.World).Balances(t.Context(), id)
		require.NoError(t, err)
		require.Contains(t, out, fmt.Sprintf("%s: %d seconds posted, %d held", id, b.Accounts[0].PostedSeconds, b.Accounts[0].HeldSeconds))
		checked, err := export.CheckBundle(os.DirFS(genuine.folder(t)), p.Codec, p.key())
		require.NoError(t, err)
		require.Equal(t, manifest, checked.Manifest)
		require.Equal(t, p.newest.Checkpoint, checked.Checkpoint)
	})
	t.Run("the same log gives the same bytes", func(t *testing.T) {
		t.Parallel()
		again, _ := p.bundle(t, id, nil)
		for name := range genuine {
			require.Equal(t, genuine[name].String(), again[name].String(), name)
		}
	})
	t.Run("the key of the bundle", func(t *testing.T) {
		t.Parallel()
		out, code := genuine.verdict(t)
		require.Zero(t, code, out)
		require.Contains(t, out, "named by this bundle")
		require.Contains(t, out, "VALID: every entry, balance and signature holds, if the key is that of the platform\n")
		out, code = genuine.verdict(t, "--keys", file(t, "keys.json", `{"keys": [{"public_key": "`+p.pin()+`"}]}`))
		require.Zero(t, code, out)
		require.Contains(t, out, "given by you")
		out, code = genuine.verdict(t, "--keys", file(t, "keys.json", `{"keys": []}`))
		require.Equal(t, 2, code, out)
		require.Contains(t, out, "keys.json is not a list of keys, so nothing was checked.")
		out, code = genuine.verdict(t, "--keys", "nosuch.json")
		require.Equal(t, 2, code, out)
		require.Contains(t, out, "Cannot read nosuch.json, the list of keys: no such file.")
		other := base64.StdEncoding.EncodeToString(make([]byte, ed25519.PublicKeySize))
		out, code = genuine.verdict(t, "--key", other)
		require.Equal(t, 1, code)
		require.Contains(t, out, "is not the given one")
		_, err := export.CheckBundle(os.DirFS(genuine.folder(t)), p.Codec, make(ed25519.PublicKey, ed25519.PublicKeySize))
		require.ErrorContains(t, err, "is not pinned")
	})
	t.Run("one byte", func(t *testing.T) { testOneByte(t, genuine) })
	t.Run("careful forgeries", func(t *testing.T) { testForged(t, p, id, ids[1], genuine, older) })
}

// testOneByte changes one byte in each file. The program must name that file.
func testOneByte(t *testing.T, genuine memory) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(genuine)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := bytes.Clone(genuine[name].Bytes())
			at := len(content) / 2
			if name == "verify.py" {
				at = bytes.Index(content, []byte("Checks a ledger bundle."))
			}
			if name == "statement.py" {
				at = bytes.Index(content, []byte("Makes the statement"))
			}
			if name == "transparency.py" {
				at = bytes.Index(content, []byte("Signatures, notes"))
			}
			content[at] ^= 1
			out, code := genuine.with(name, content).verdict(t)
			require.NotZero(t, code, out)
			named := name
			if name == "manifest.json" {
				named = "manifest.json " // it no longer matches the files
			}
			require.Contains(t, out, named)
			require.Contains(t, out, "NOT VALID")
		})
	}
}

// TestOldShapes checks that a bundle contains the stored bytes, even those of an older
// program, with the same spaces.
func TestOldShapes(t *testing.T) {
	t.Parallel()
	p := newPlatform(t, "a")
	conn, err := pgx.Connect(t.Context(), p.URL)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	stream := eventstore.StreamID{Category: "credit", ID: "acct_1"}
	var chain eventstore.Chain
	for i, e := range [][2]string{
		{"credit.granted", `{"account_id": "acct_1", "transaction_id":"txn_1","kind":"purchase","seconds":90,"balance_after":90,"reason":"<b>1 + 1</b> & \"zwei\" 'é\u2028","at":"2026-02-03T04:05:06.120Z"}`},
		{"credit.held", `{"account_id":"acct_1","hold_id":"hold_1","seconds":30,"source_type":"analysis","source_id":"an_1",  "at":"2026-02-03T04:05:07Z"}`},
		{"credit.released", `{"account_id":"acct_1","hold_id":"hold_1","source_type":"analysis","source_id":"an_1","seconds":30,"at":"2026-02-03T04:05:08Z"}`},
	} {
		version := int64(i + 1)
		chain = codec.Link(chain, codec.Encoded{Stream: stream, Version: version, Type: e[0], Data: []byte(e[1]), AccountID: "acct_1", Meta: []byte("{ }")})
		_, err := conn.Exec(t.Context(), "insert into events (stream, version, type, account_id, data, meta, chain) values ($1, $2, $3, 'acct_1', $4::text::json, '{ }', $5)",
			stream.String(), version, e[0], e[1], chain[:])
		require.NoError(t, err)
	}
	p.pass(t)
	m, manifest := p.bundle(t, "acct_1", nil)
	require.EqualValues(t, 3, manifest.Entries)
	out, code := m.verdict(t)
	require.Zero(t, code, out)
	require.Contains(t, out, "acct_1: 90 seconds posted, 0 held, 90 available")
	require.Contains(t, m["statement.html"].String(), "&lt;b&gt;1 &#43; 1&lt;/b&gt;")
}

// TestEmptyBundle checks the bundle of an account without an entry.
func TestEmptyBundle(t *testing.T) {
	t.Parallel()
	p := newPlatform(t, "a")
	_, err := p.prover.Ledger(t.Context(), "acct_1", nil)
	require.ErrorIs(t, err, prove.ErrUnsealed)
	for i, owner := range []string{"acct_2", "acct_0", "acct_3"} { // one neighbor, then two
		p.Must(t, owner, history.Start, credit.Grant{AccountID: owner, TransactionID: p.ID("txn"), Kind: credit.Purchase, Seconds: 7})
		p.pass(t)
		m, manifest := p.bundle(t, "acct_1", nil)
		require.Zero(t, manifest.Entries)
		out, code := m.verdict(t, "--key", p.pin())
		require.Zero(t, code, out)
		checked, err := export.CheckBundle(os.DirFS(m.folder(t)), p.Codec, p.key())
		require.NoError(t, err)
		require.Len(t, checked.Evidence.Accounts, min(i+1, 2))
	}
	m, _ := p.bundle(t, "acct_1", nil)
	forged := m.with("proof.json", regexp.MustCompile(`(?s)"accounts": \[.*?\n  \]`).ReplaceAll(m["proof.json"].Bytes(), []byte(`"accounts": []`)))
	out, code := forged.listed(t).verdict(t)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "does not have the sealed balance of acct_1")
	_, err = export.CheckBundle(os.DirFS(forged.listed(t).folder(t)), p.Codec)
	require.ErrorContains(t, err, "do not show that account acct_1 is absent")
}

// TestStatementPage checks that text from people cannot become markup, and that the page
// loads nothing.
func TestStatementPage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	p, err := book.Month("2026-11")
	require.NoError(t, err)
	s := book.Statement{
		AccountID: "acct_1", From: &p.From, To: &p.To,
		Transactions: []book.Line{{
			At: at, ID: "txn_1", Kind: "purchase", SecondsDelta: 12000, BalanceAfter: 12000, Reason: `<script>alert("x")</script>`,
		}},
		Closing: book.Account{PostedSeconds: 12000, AvailableSeconds: 11940, HeldSeconds: 60},
		Holds:   []credit.OpenHold{{SourceType: credit.SourceAnalysis, SourceID: "an_1", Seconds: 60, CreatedAt: at, ExpiresAt: at.AddDate(0, 0, 1)}},
	}
	var out bytes.Buffer
	require.NoError(t, export.StatementHTML(&out, s, nil))
	for _, want := range []string{"November 2026", "&#43;12,000", "11,940", "&lt;script&gt;", "an_1", "2026-11-02 10:00:00"} {
		require.Contains(t, out.String(), want)
	}
	for _, never := range []string{"<script", "http://", "https://", "@import", "url("} {
		require.NotContains(t, out.String(), never)
	}
	names := map[string]string{}
	for name, s := range map[string]book.Statement{
		"all": {}, "month": s, "open": {From: &p.From}, "until": {To: &p.To}, "odd": {From: &at, To: &p.To},
	} {
		names[name] = export.PeriodName(s)
	}
	require.Empty(t, cmp.Diff(map[string]string{
		"all": "all entries", "month": "November 2026", "open": "from 2026-11-01 00:00:00",
		"until": "until 2026-12-01 00:00:00", "odd": "from 2026-11-02 10:00:00 to 2026-12-01 00:00:00",
	}, names))
}
