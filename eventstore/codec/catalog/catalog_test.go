package main

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

const root = "../../.."

// asCommand makes this test binary run main instead of the tests.
const asCommand = "VQA_TEST_AS_CATALOG"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, pagePath))
	require.NoError(t, err)
	return string(text)
}

func TestPageIsOfTheseEvents(t *testing.T) {
	t.Parallel()
	text, err := page(codec.Events(), root)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(readPage(t), string(text)), "run make generate and commit docs/events.md")
}

// TestLinks follows every link of the page to a heading or a file.
func TestLinks(t *testing.T) {
	t.Parallel()
	text := readPage(t)
	headings := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		headings["#"+anchor(h[1])] = true
	}
	links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1)
	require.Greater(t, len(links), 3*len(codec.Events().Names()))
	for _, link := range links {
		if strings.HasPrefix(link[1], "#") {
			require.True(t, headings[link[1]], link[1])
		} else {
			_, err := os.Stat(filepath.Join(root, "docs", link[1]))
			require.NoError(t, err)
		}
	}
}

// TestExample checks the example of the page in two ways: with the service's own hash of the row, and with the
// command line of the page.
func TestExample(t *testing.T) {
	t.Parallel()
	text := readPage(t)
	column := func(name string) string {
		cell := regexp.MustCompile("(?m)^\\| `" + name + "` \\| `(.*)` \\|$").FindStringSubmatch(text)
		require.NotNil(t, cell, name)
		return cell[1]
	}
	stream, err := codec.ParseStreamID(column("stream"))
	require.NoError(t, err)
	version, err := strconv.ParseInt(column("version"), 10, 64)
	require.NoError(t, err)
	require.EqualValues(t, 1, version, "the previous chain is that of an empty stream")
	chain := codec.Link(eventstore.Chain{}, codec.Encoded{
		Stream: stream, Version: version, Type: column("type"), AccountID: column("account_id"),
		Data: []byte(column("data")), Meta: []byte(column("meta")),
	})
	require.Equal(t, column("chain"), chain.String())

	script := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(text)
	require.NotNil(t, script)
	out, err := exec.CommandContext(t.Context(), "sh", "-euc", script[1]).Output()
	require.NoError(t, err)
	require.Equal(t, column("chain"), strings.Fields(string(out))[0])

	_, err = codec.Events().Unmarshal(column("type"), []byte(column("data")))
	require.NoError(t, err)
	_, err = hex.DecodeString(column("chain"))
	require.NoError(t, err)
}

// TestColumns compares the envelope with the table that the migrations make.
func TestColumns(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	db, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer db.Close(t.Context())
	found, err := db.Query(t.Context(), `select attname, format_type(atttypid, null)
		from pg_attribute where attrelid = 'events'::regclass and attnum > 0 and not attisdropped order by attnum`)
	require.NoError(t, err)
	table, err := pgx.CollectRows(found, func(r pgx.CollectableRow) (row, error) {
		var column row
		err := r.Scan(&column.Name, &column.Type)
		column.Type = strings.Replace(column.Type, "timestamp with time zone", "timestamptz", 1)
		return column, err
	})
	require.NoError(t, err)
	said := make([]row, len(columns))
	for i, c := range columns {
		require.NotEmpty(t, c.Text, c.Name)
		said[i] = row{Name: c.Name, Type: c.Type}
	}
	require.Empty(t, cmp.Diff(table, said))
}

// clone returns a root with the source of this repository and a copy of its schemas.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, layer := range []string{"domain", "eventstore"} {
		from, err := filepath.Abs(filepath.Join(root, layer))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(from, filepath.Join(dir, layer)))
	}
	require.NoError(t, os.CopyFS(filepath.Join(dir, schemaDir), os.DirFS(filepath.Join(root, schemaDir))))
	return dir
}

// contents returns the files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(text)
		return err
	}))
	return files
}

func catalog(t *testing.T, dir string) (stderr string, err error) {
	t.Helper()
	var buffer bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stderr = &buffer
	err = cmd.Run()
	return buffer.String(), err
}

func TestCatalogAddsWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := clone(t)
	want := contents(t, filepath.Join(root, schemaDir))
	missing := filepath.Join(dir, schemaDir, "video.deleted.json")
	require.NoError(t, os.Remove(missing))
	kept, err := os.Stat(filepath.Join(dir, schemaDir, "video.failed.json"))
	require.NoError(t, err)

	stderr, err := catalog(t, dir)
	require.NoError(t, err, stderr)
	require.Empty(t, cmp.Diff(want, contents(t, filepath.Join(dir, schemaDir))))
	text, err := os.ReadFile(filepath.Join(dir, pagePath))
	require.NoError(t, err)
	require.Equal(t, readPage(t), string(text))
	now, err := os.Stat(filepath.Join(dir, schemaDir, "video.failed.json"))
	require.NoError(t, err)
	require.Equal(t, kept.ModTime(), now.ModTime(), "an existing schema is not written again")
}

// TestCatalogRefusesAnotherShape: when events have another shape than their schemas, catalog fails and writes
// nothing.
func TestCatalogRefusesAnotherShape(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, old, new string
		want           []string
	}{
		"a field": {
			"credit.granted.json", `"seconds"`, `"minutes"`,
			[]string{"the shape of credit.granted differs from its schema", "field minutes (integer) is gone", "field seconds (integer) is new", "credit.granted@2"},
		},
		"a second version": {
			"credit.held.json", `"integer"`, `"string"`,
			[]string{"the shape of credit.held differs", "field seconds was string and is integer", "credit.held@2"},
		},
		"deep within": {
			"analysis.completed.json", `"start_s": {
                "type": "number"`, `"start_s": {
                "type": "integer"`,
			[]string{"field result.clips[].start_s was integer and is number"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := clone(t)
			path := filepath.Join(dir, schemaDir, tt.file)
			schema, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(schema), tt.old)
			require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(schema, []byte(tt.old), []byte(tt.new)), 0o600))
			require.NoError(t, os.Remove(filepath.Join(dir, schemaDir, "video.deleted.json")))
			before := contents(t, filepath.Join(dir, "docs"))

			stderr, err := catalog(t, dir)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 1, exit.ExitCode())
			for _, part := range tt.want {
				require.Contains(t, stderr, part)
			}
			require.Empty(t, cmp.Diff(before, contents(t, filepath.Join(dir, "docs"))))
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "one", "two")
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.Equal(t, 2, exit.ExitCode())
}

func TestCategoryOf(t *testing.T) {
	t.Parallel()
	in, err := categoryOf(reflect.TypeFor[credit.Settled]())
	require.NoError(t, err)
	require.Equal(t, "credit", in)
	_, err = categoryOf(reflect.TypeFor[row]())
	require.ErrorContains(t, err, "must be folded by exactly one category of streams")
}

func TestMeant(t *testing.T) {
	t.Parallel()
	stored := map[string]string{"BalanceAfter": "balance_after", "Seconds": "seconds", "Held": "held"}
	for comment, want := range map[string]string{
		"":                                    "",
		"BalanceAfter is the balance.":        "The balance.",
		"BalanceAfter are é":                  "É",
		"BalanceAfter was more than Seconds.": "`balance_after` was more than `seconds`.",
		"BalanceAfter is less than Held, not HeldSeconds.": "Less than `held`, not HeldSeconds.",
	} {
		require.Equal(t, want, meant(comment, "BalanceAfter", stored))
	}
	require.Equal(t, "A or B.", meant("T is a or B.", "T", nil))
}
