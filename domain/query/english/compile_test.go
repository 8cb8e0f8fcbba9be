package english_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"vqa/domain/query"
	"vqa/domain/query/english"
)

var update = flag.Bool("update", false, "rewrite testdata/corpus.jsonl with what Compile gives now")

const corpusFile = "testdata/corpus.jsonl"

// corpus reads the golden file: one compiled query a line, its prompt inside.
func corpus(t testing.TB) []query.Query {
	t.Helper()
	raw, err := os.ReadFile(corpusFile)
	require.NoError(t, err)
	var out []query.Query
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		q, err := query.Decode(lines.Bytes())
		require.NoError(t, err, "%s", lines.Text())
		require.NotNil(t, q.OriginalPrompt, "%s", lines.Text())
		out = append(out, q)
	}
	require.NoError(t, lines.Err())
	return out
}

func TestCompileCorpus(t *testing.T) {
	t.Parallel()
	golden := corpus(t)
	require.GreaterOrEqual(t, len(golden), 400)
	forms := map[query.Intent]int{}
	var rewritten bytes.Buffer
	for _, want := range golden {
		got := english.Compile(*want.OriginalPrompt)
		forms[got.PromptIntent]++
		if *update {
			require.NoError(t, json.NewEncoder(&rewritten).Encode(got))
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Compile(%q) (-want +got):\n%s", *want.OriginalPrompt, diff)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(corpusFile, rewritten.Bytes(), 0o644))
	}
	for _, form := range []query.Intent{
		query.Presence, query.Absence, query.Count, query.CountThreshold, query.Action, query.Attribute,
		query.Location, query.State, query.Compound, query.Segment, query.OpenEnded,
	} {
		require.GreaterOrEqual(t, forms[form], 5, "the corpus holds too few prompts of the form %s", form)
	}
}

func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(query.Schema()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("compiled-query.json", doc))
	s, err := c.Compile("compiled-query.json")
	require.NoError(t, err)
	return s
}

// obeys checks the properties that hold for every prompt.
func obeys(t testing.TB, schema *jsonschema.Schema, prompt string) query.Query {
	t.Helper()
	q := english.Compile(prompt)
	require.NoError(t, query.Validate(q), "%q", prompt)
	raw, err := json.Marshal(q)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(doc), "%q gives %s", prompt, raw)
	back, err := query.Decode(raw)
	require.NoError(t, err, "%q gives %s", prompt, raw)
	require.Empty(t, cmp.Diff(q, back), "the query changes when it is encoded and decoded")
	require.Equal(t, query.Digest(q), query.Digest(english.Compile(prompt)), "not deterministic: %q", prompt)
	return q
}

func TestCompiledQueriesMatchTheSchema(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	for _, q := range corpus(t) {
		obeys(t, schema, *q.OriginalPrompt)
	}
}

func TestCompileKeepsItsBounds(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	animals := strings.Repeat("a dog and a cat and ", 12) + "a horse"
	prompts := map[string]query.Intent{
		"":          query.OpenEnded,
		" \t\n":     query.OpenEnded,
		"\xff\xfe":  query.OpenEnded,
		"Is there ": query.OpenEnded,
		"Is there " + strings.Repeat("very ", 900) + "big dog?":         query.OpenEnded,
		"Is there a " + strings.Repeat("x", 5000) + "?":                 query.OpenEnded,
		strings.Repeat("ж", 3000):                                       query.OpenEnded,
		"Is there " + animals + "?":                                     query.OpenEnded,
		"Are there exactly 99999999999999999999 dogs?":                  query.OpenEnded,
		"Is there a dog " + strings.Repeat("on the left and ", 200):     query.OpenEnded,
		strings.Repeat("?", 2000):                                       query.OpenEnded,
		"Is there a dog" + strings.Repeat(" in the video", 12) + "?":    query.OpenEnded,
		"Is there a dog" + strings.Repeat(" in the video", 6) + "?":     query.Presence,
		strings.Repeat("please ", 20) + "tell me if there is a dog":     query.Presence,
		"Are there not exactly 2 dogs?":                                 query.OpenEnded,
		"Are there not at least 3 dogs?":                                query.CountThreshold,
		"Is there a person wearing " + strings.Repeat("red ", 60) + "?": query.OpenEnded,
	}
	for prompt, want := range prompts {
		q := obeys(t, schema, prompt)
		if len(prompt) > 60 {
			prompt = prompt[:60] + "…"
		}
		require.Equal(t, want, q.PromptIntent, "%q", prompt)
	}
}

func FuzzCompile(f *testing.F) {
	for _, q := range corpus(f) {
		f.Add(*q.OriginalPrompt)
	}
	f.Add(strings.Repeat("?a", 1000))
	f.Add("Is there " + strings.Repeat("very dark red and ", 100) + "dog")
	schema := compiledSchema(f)
	f.Fuzz(func(t *testing.T, prompt string) {
		obeys(t, schema, prompt)
	})
}

func BenchmarkCompile(b *testing.B) {
	prompts := map[string]string{
		"short":    "Is there a dog?",
		"long":     "Hi, could you please tell me whether there are at least three people in the first 10 seconds of the video?",
		"30 words": "Is there a man in a red shirt and blue jeans standing next to a white car and a woman with a small dog on the left side of the street?",
		"lists":    "Is there " + strings.Repeat("a dog and ", 8) + "a horse",
		"places":   "Is there a dog " + strings.Repeat("on the ", 10) + "table",
		"and or":   "Is there " + strings.Repeat("red or big and ", 7) + "dog",
		"longest":  strings.Repeat("dog and ", 250),
	}
	for name, prompt := range prompts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				english.Compile(prompt)
			}
		})
	}
	b.Run("corpus", func(b *testing.B) {
		all := corpus(b)
		for b.Loop() {
			for _, q := range all {
				english.Compile(*q.OriginalPrompt)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(all)), "µs/prompt")
	})
}
