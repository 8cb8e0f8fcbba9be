package export_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
	"vqa/projections/ledger/internal/history"
)

// testForged changes the contents of a bundle and updates the manifest.
func testForged(t *testing.T, genuine memory) {
	t.Parallel()
	text := func(name string) string { return genuine[name].String() }
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
			[]string{"checkpoints.jsonl line 1: checkpoint 1 has another chain", "has other posted seconds"},
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
			[]string{"which is not among the entries", "manifest.json: the numbers of entries", "statement.json"},
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
			"a checkpoint, with a new chain", "checkpoints.jsonl",
			func(t *testing.T) string {
				return chainedAnew(t, strings.Replace(text("checkpoints.jsonl"), `\"posted_seconds\":`, `\"posted_seconds\":1`, 1))
			},
			[]string{"checkpoint 1 has a wrong signature", "checkpoint 2 of", "does not follow the previous one"},
		},
		{
			"a checkpoint left out", "checkpoints.jsonl",
			func(t *testing.T) string { return chainedAnew(t, without(text("checkpoints.jsonl"), 1)) },
			[]string{"does not follow the previous one"},
		},
		{
			"another key", "keys.json",
			func(*testing.T) string {
				return strings.Replace(text("keys.json"), `"public_key": "`, `"public_key": "AAAA`, 1)
			},
			[]string{"keys.json: ", "is signed with the unknown key"},
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
			[]string{"statement.json: is not the statement that the entries give"},
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
			"a field in an entry", "entries.jsonl",
			func(*testing.T) string {
				return strings.Replace(text("entries.jsonl"), "{", `{"note":"paid twice",`, 1)
			},
			[]string{"entries.jsonl: line 1 has other fields"},
		},
		{
			"the time of a key", "keys.json",
			func(*testing.T) string {
				return strings.Replace(text("keys.json"), `"key_id"`, `"added_at": "2020-01-01T00:00:00Z", "key_id"`, 1)
			},
			[]string{"keys.json: ", "has other fields"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content := tt.forge(t)
			require.NotEqual(t, text(tt.file), content)
			out, code := genuine.with(tt.file, []byte(content)).listed(t).verdict(t)
			require.Equal(t, 1, code, out)
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
	w := history.New(t)
	id := w.Live(t, 3, 1, 20)[0]
	w.Seal(t, id, history.Start.AddDate(0, 2, 0))
	genuine, _ := bundleOf(t, w, id)
	for want, change := range map[string]func(m *export.Manifest){
		"has the format": func(m *export.Manifest) { m.Format = "vqa-ledger-bundle-1" },
		"the numbers of entries or checkpoints, or the sealed version": func(m *export.Manifest) { m.Sealed++ },
		"does not list statement.html":                                 func(m *export.Manifest) { delete(m.Files, "statement.html") },
		"belongs to acct_":                                             func(m *export.Manifest) { m.AccountID = "acct_other" },
	} {
		var m export.Manifest
		require.NoError(t, json.Unmarshal(genuine["manifest.json"].Bytes(), &m))
		change(&m)
		out, code := genuine.with("manifest.json", []byte(indented(t, m))).verdict(t)
		require.Equal(t, 1, code, out)
		require.Contains(t, out, want)
	}
	out, code := genuine.with("invoice.html", []byte("Pay twice.")).verdict(t)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "invoice.html: manifest.json does not list this file")
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
			Position  int64            `json:"position"`
			Stream    string           `json:"stream"`
			Version   int64            `json:"version"`
			Type      string           `json:"type"`
			AccountID string           `json:"account_id"`
			Data      string           `json:"data"`
			Meta      string           `json:"meta"`
			Chain     string           `json:"chain"`
			Postings  []credit.Posting `json:"postings,omitzero"`
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
