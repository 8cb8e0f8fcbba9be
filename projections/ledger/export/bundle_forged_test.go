package export_test

import (
	"crypto/ed25519"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/translog"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

// testForged changes the contents of a bundle and updates the manifest.
func testForged(t *testing.T, p *platform, id, other string, genuine, older memory) {
	t.Parallel()
	text := func(name string) string { return genuine[name].String() }
	foreign, _ := p.bundle(t, other, nil)
	for _, tt := range []struct {
		name string
		file string
		// forge returns the new content of the file.
		forge func(t *testing.T) string
		want  []string
	}{
		{
			"an amount", "entries.jsonl",
			func(*testing.T) string {
				return strings.Replace(text("entries.jsonl"), `\"seconds\":6000`, `\"seconds\":7000`, 1)
			},
			[]string{"entries.jsonl line 1: version 1 was altered", "the postings do not follow"},
		},
		{
			"an amount, with a new chain", "entries.jsonl",
			func(t *testing.T) string {
				return chainedAnew(t, strings.ReplaceAll(strings.Replace(text("entries.jsonl"), `\"seconds\":6000`, `\"seconds\":7000`, 1),
					`"seconds":6000`, `"seconds":7000`))
			},
			[]string{"entries.jsonl line 1: version 1 of credit/", "entries.jsonl line 2: version 2 of credit/", "the sealed ledger of", "posted seconds"},
		},
		{
			"an entry left out", "entries.jsonl",
			func(*testing.T) string { return without(text("entries.jsonl"), 2) },
			[]string{"entries.jsonl line 2: is credit/"},
		},
		{
			"the last entry left out", "entries.jsonl",
			func(*testing.T) string {
				return without(text("entries.jsonl"), strings.Count(text("entries.jsonl"), "\n"))
			},
			[]string{"entries.jsonl: the sealed ledger of", "manifest.json: the number of entries", "statement.json", "nodes.txt: has the leaves"},
		},
		{
			"two entries swapped", "entries.jsonl",
			func(*testing.T) string {
				lines := strings.SplitAfter(text("entries.jsonl"), "\n")
				lines[3], lines[4] = lines[4], lines[3]
				return strings.Join(lines, "")
			},
			[]string{"entries.jsonl line 4: is credit/", "entries.jsonl line 5: is credit/"},
		},
		{
			"a posting", "entries.jsonl",
			func(*testing.T) string {
				return strings.Replace(text("entries.jsonl"), `"seconds":-6000`, `"seconds":-6001`, 1)
			},
			[]string{"entries.jsonl line 1: the postings do not sum to zero"},
		},
		{
			"an index", "entries.jsonl",
			func(*testing.T) string { return strings.Replace(text("entries.jsonl"), `"index":`, `"index":1`, 1) },
			[]string{"entries.jsonl line 1: version 1 of credit/"},
		},
		{
			"the time of an entry", "entries.jsonl",
			func(*testing.T) string {
				return strings.Replace(text("entries.jsonl"), `"recorded_at":"2`, `"recorded_at":"3`, 1)
			},
			[]string{"entries.jsonl line 1: version 1 of credit/"},
		},
		{
			"a hash of a path", "nodes.txt",
			func(*testing.T) string { return swapped(text("nodes.txt")) },
			[]string{"entries.jsonl line", "is not leaf"},
		},
		{
			"a hash that no path needs", "nodes.txt",
			func(*testing.T) string { return text("nodes.txt") + "900 901 " + strings.Repeat("A", 43) + "=\n" },
			[]string{"nodes.txt: has the leaves 900 to 900, which no path needs"},
		},
		{
			"the sealed balance", "proof.json",
			func(*testing.T) string {
				return regexp.MustCompile(`(vqa-account-1.*64:[0-9a-f]{64}\d+:)(\d)`).ReplaceAllString(text("proof.json"), "${1}9")
			},
			[]string{"proof.json: the account tree of the seal does not have the leaf of", "posted seconds 9"},
		},
		{
			"the sealed balance of another account", "proof.json",
			func(*testing.T) string { return strings.Replace(text("proof.json"), id, other, 1) },
			[]string{"proof.json: the account tree of the seal does not have the leaf of"},
		},
		{
			"the content of the seal", "proof.json",
			func(*testing.T) string {
				return strings.Replace(text("proof.json"), `\"accounts\":2`, `\"accounts\":1`, 1)
			},
			[]string{"proof.json: the seal was altered"},
		},
		{
			"a proof of consistency", "proof.json",
			func(*testing.T) string {
				return regexp.MustCompile(`(?s)"consistency": \[.*?\]`).ReplaceAllString(text("proof.json"), `"consistency": []`)
			},
			[]string{"older.txt: the log of checkpoint.txt does not contain"},
		},
		{
			"the older proof of the balance", "proof.json",
			func(*testing.T) string { return older["proof.json"].String() },
			[]string{"proof.json: the seal is not the last leaf of the log", "proof.json: version "},
		},
		{
			"an entry of another account", "entries.jsonl",
			func(*testing.T) string {
				line, _, _ := strings.Cut(foreign["entries.jsonl"].String(), "\n")
				return line + "\n" + without(text("entries.jsonl"), 1)
			},
			[]string{"entries.jsonl line 1: is credit/" + other, "belongs to " + other},
		},
		{
			"an entry of another account, renamed and with a new chain", "entries.jsonl",
			func(t *testing.T) string {
				line, _, _ := strings.Cut(foreign["entries.jsonl"].String(), "\n")
				return chainedAnew(t, text("entries.jsonl")+strings.ReplaceAll(line, other, id)+"\n")
			},
			[]string{"is not leaf", "the sealed ledger of"},
		},
		{
			"a checkpoint of another key", "checkpoint.txt",
			func(t *testing.T) string {
				signed, err := p.newest.Checkpoint.Sign(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
				require.NoError(t, err)
				return string(signed)
			},
			[]string{"the note is not signed by a known key"},
		},
		{
			"another root in the checkpoint", "checkpoint.txt",
			func(*testing.T) string {
				return strings.Replace(text("checkpoint.txt"), p.newest.Checkpoint.Root.String(), strings.Repeat("A", 43)+"=", 1)
			},
			[]string{"the signature of the key lk_", "is wrong"},
		},
		{
			"a checkpoint of another log", "checkpoint.txt",
			func(t *testing.T) string {
				c := p.newest.Checkpoint
				c.Origin += "/2"
				signed, err := c.Sign(p.sealer.Key)
				require.NoError(t, err)
				return string(signed)
			},
			[]string{"checkpoint.txt: is a checkpoint of the log vqa.example/ledger/2"},
		},
		{
			"a fork before the older checkpoint", "older.txt",
			func(t *testing.T) string {
				signed, err := translog.Checkpoint{Origin: p.newest.Checkpoint.Origin, Tree: translog.Tree{Size: 3, Root: translog.Hash{1}}}.Sign(p.sealer.Key)
				require.NoError(t, err)
				return string(signed)
			},
			[]string{"older.txt: the log of checkpoint.txt does not contain the 3 leaves"},
		},
		{
			"the statement about the key", "log.json",
			func(*testing.T) string {
				return strings.Replace(text("log.json"), "the first start", "another start", 1)
			},
			[]string{"the signature of the key lk_", "is wrong"},
		},
		{
			"a statement", "statement.json",
			func(*testing.T) string {
				return strings.Replace(text("statement.json"), `"seconds_delta": 6000`, `"seconds_delta": 6001`, 1)
			},
			[]string{"statement.json: the transactions are not what the entries give"},
		},
		{
			"a kind in the statement", "statement.json",
			func(*testing.T) string {
				return strings.Replace(text("statement.json"), `"kind": "purchase"`, `"kind": "card_grant"`, 1)
			},
			[]string{"statement.json: the transactions are not what the entries give"},
		},
		{
			"two amounts in the statement that cancel out", "statement.json",
			func(t *testing.T) string {
				var s book.Statement
				require.NoError(t, json.Unmarshal(genuine["statement.json"].Bytes(), &s))
				s.Transactions[0].SecondsDelta++
				s.Transactions[1].SecondsDelta--
				return indented(t, s)
			},
			[]string{"statement.json: the transactions are not what the entries give"},
		},
		{
			"a total in the statement", "statement.json",
			func(t *testing.T) string {
				var s book.Statement
				require.NoError(t, json.Unmarshal(genuine["statement.json"].Bytes(), &s))
				s.Totals[0].Seconds++
				return indented(t, s)
			},
			[]string{"statement.json: the totals are not what the entries give"},
		},
		{
			"a hold in the statement", "statement.json",
			func(t *testing.T) string {
				var s book.Statement
				require.NoError(t, json.Unmarshal(genuine["statement.json"].Bytes(), &s))
				s.Holds = append(s.Holds, credit.OpenHold{ID: "hold_1", SourceID: "an_1"})
				return indented(t, s)
			},
			[]string{"statement.json: the holds are not what the entries give"},
		},
		{
			"a second value of a field in the statement", "statement.json",
			func(*testing.T) string {
				return strings.Replace(text("statement.json"), "{", `{"account_id": "acct_2",`, 1)
			},
			[]string{"statement.json: a JSON object has a member twice"},
		},
		{
			"an amount in the page", "statement.html",
			func(*testing.T) string { return strings.Replace(text("statement.html"), "&#43;6,000", "&#43;7,000", 1) },
			[]string{"statement.html: is not the page that the entries give"},
		},
		{
			"a style that hides rows of the page", "statement.html",
			func(*testing.T) string {
				return strings.Replace(text("statement.html"), "</style>", "tr { display: none }</style>", 1)
			},
			[]string{"statement.html: is not the page that the entries give"},
		},
		{
			"an account in the page's title", "statement.html",
			func(*testing.T) string {
				return strings.Replace(text("statement.html"), "<title>", "<title>Another ", 1)
			},
			[]string{"statement.html: is not the page that the entries give"},
		},
		{
			"a sentence in the readme", "README.txt",
			func(*testing.T) string { return strings.Replace(text("README.txt"), "each mismatch", "no mismatch", 1) },
			[]string{"README.txt: is not the text of this format"},
		},
		{
			"a second value of a field in an entry", "entries.jsonl",
			func(*testing.T) string {
				return strings.Replace(text("entries.jsonl"), "{", `{"postings":[{"account":"acct_2","seconds":0}],`, 1)
			},
			[]string{"entries.jsonl line 1: cannot be read: ValueError: a JSON object has a member twice"},
		},
		{
			"a field in an entry", "entries.jsonl",
			func(*testing.T) string {
				return strings.Replace(text("entries.jsonl"), "{", `{"note":"paid twice",`, 1)
			},
			[]string{"entries.jsonl line 1: has other fields"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content := tt.forge(t)
			require.NotEqual(t, text(tt.file), content)
			forged := genuine.with(tt.file, []byte(content)).listed(t)
			out, code := forged.verdict(t)
			require.Equal(t, 1, code, out)
			_, err := export.CheckBundle(os.DirFS(forged.folder(t)), p.Codec)
			var found *export.Contradiction
			if tt.file != "README.txt" { // its text is that of a release
				require.ErrorAs(t, err, &found)
			}
			for _, want := range tt.want {
				require.Contains(t, out, want)
			}
			require.NotContains(t, out, "is not the file that manifest.json lists")
			require.NotContains(t, out, "cannot be read: Attr", "the program has no bug")
		})
	}
}

func indented(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	return string(text) + "\n"
}

// TestForgedManifest checks the fields of the table of contents, and files that it does not list.
func TestForgedManifest(t *testing.T) {
	t.Parallel()
	p := newPlatform(t, "a")
	id := p.Live(t, 3, 1, 20)[0]
	p.pass(t)
	genuine, _ := p.bundle(t, id, nil)
	for want, change := range map[string]func(m *export.Manifest){
		"has the format": func(m *export.Manifest) { m.Format = "vqa-ledger-bundle-1" },
		"the number of entries or the checkpoints":    func(m *export.Manifest) { m.Entries++ },
		"entries or the checkpoints differ from":      func(m *export.Manifest) { m.Size++ },
		"does not list statement.html":                func(m *export.Manifest) { delete(m.Files, "statement.html") },
		"does not have the sealed balance of acct_ot": func(m *export.Manifest) { m.AccountID = "acct_other" },
	} {
		var m export.Manifest
		require.NoError(t, json.Unmarshal(genuine["manifest.json"].Bytes(), &m))
		change(&m)
		forged := genuine.with("manifest.json", []byte(indented(t, m)))
		out, code := forged.verdict(t)
		require.Equal(t, 1, code, out)
		require.Contains(t, out, want)
		_, err := export.CheckBundle(os.DirFS(forged.folder(t)), p.Codec)
		var found *export.Contradiction
		require.ErrorAs(t, err, &found, want)
	}
	out, code := genuine.with("invoice.html", []byte("Pay twice.")).verdict(t)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "invoice.html: a bundle has no such file")
}

// without removes a line. Lines are counted from 1.
func without(text string, line int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(slices.Delete(lines, line-1, line), "")
}

// chainedAnew gives each line the version and the hash of its place.
func chainedAnew(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	var chain eventstore.Chain
	var version int64
	for line := range strings.Lines(text) {
		var row struct {
			Index      int64            `json:"index"`
			Position   int64            `json:"position"`
			RecordedAt string           `json:"recorded_at"`
			Stream     string           `json:"stream"`
			Version    int64            `json:"version"`
			Type       string           `json:"type"`
			AccountID  string           `json:"account_id"`
			Data       string           `json:"data"`
			Meta       string           `json:"meta"`
			Chain      string           `json:"chain"`
			Postings   []credit.Posting `json:"postings,omitzero"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		version++
		row.Version = version
		stream, err := codec.ParseStreamID(row.Stream)
		require.NoError(t, err)
		chain = codec.Link(chain, codec.Encoded{
			Stream: stream, Version: row.Version, Type: row.Type, Data: []byte(row.Data), AccountID: row.AccountID, Meta: []byte(row.Meta),
		})
		row.Chain = chain.String()
		require.NoError(t, json.NewEncoder(&out).Encode(row))
	}
	return out.String()
}

// swapped exchanges the hashes of the first two nodes.
func swapped(nodes string) string {
	lines := strings.SplitAfterN(nodes, "\n", 3)
	a, b := strings.LastIndex(lines[0], " "), strings.LastIndex(lines[1], " ")
	return lines[0][:a] + lines[1][b:] + lines[1][:b] + lines[0][a:] + lines[2]
}
