package query_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"vqa/domain/query"
)

// document is a valid query as a client would write it, with changes.
func document(t testing.TB, change func(doc map[string]any)) []byte {
	t.Helper()
	doc := map[string]any{
		"schema_version": 1, "prompt_intent": "count_threshold", "query_type": "object",
		"subjects": []any{map[string]any{
			"id": "s1", "term": "dog", "quantity": map[string]any{"op": "gte", "value": 2},
		}},
		"search_terms": []any{"dog"},
	}
	if change != nil {
		change(doc)
	}
	raw, err := json.Marshal(doc)
	require.NoError(t, err)
	return raw
}

func subject(doc map[string]any) map[string]any { return doc["subjects"].([]any)[0].(map[string]any) }

func TestDecodeFillsDefaults(t *testing.T) {
	t.Parallel()
	q, err := query.Decode(document(t, nil))
	require.NoError(t, err)
	want := query.Query{
		SchemaVersion: 1, PromptIntent: query.CountThreshold, QueryType: query.TypeObject, Operator: query.All,
		Subjects:   []query.Subject{{ID: "s1", Term: "dog", Quantity: &query.Quantity{Op: query.AtLeast, Value: 2}}},
		Conditions: []query.Condition{}, SearchTerms: []string{"dog"}, UnassessableComponents: []query.Unassessable{},
	}
	require.Empty(t, cmp.Diff(want, q))
}

func TestDecodeNamesTheField(t *testing.T) {
	t.Parallel()
	condition := func(c map[string]any) func(map[string]any) {
		return func(doc map[string]any) {
			full := map[string]any{"subject": "s1", "kind": "attribute", "value": "red"}
			for k, v := range c {
				full[k] = v
			}
			doc["conditions"] = []any{full}
		}
	}
	set := func(name string, value any) func(map[string]any) {
		return func(doc map[string]any) { doc[name] = value }
	}
	cases := []struct {
		name   string
		change func(map[string]any)
		param  string
		// related is true for rules between fields, which a JSON Schema cannot express.
		related bool
	}{
		{"missing intent", func(d map[string]any) { delete(d, "prompt_intent") }, "prompt_intent", false},
		{"missing version", func(d map[string]any) { delete(d, "schema_version") }, "schema_version", false},
		{"missing terms", func(d map[string]any) { delete(d, "search_terms") }, "search_terms", false},
		{"unknown field", set("colour", "red"), "colour", false},
		{"other version", set("schema_version", 2), "schema_version", false},
		{"version as text", set("schema_version", "1"), "schema_version", false},
		{"unknown intent", set("prompt_intent", "guess"), "prompt_intent", false},
		{"unknown type", set("query_type", "guess"), "query_type", false},
		{"unknown operator", set("operator", "xor"), "operator", false},
		{"null operator", set("operator", nil), "operator", false},
		{"negated as text", set("negated", "no"), "negated", false},
		{"empty prompt", set("original_prompt", ""), "original_prompt", false},
		{"prompt as number", set("original_prompt", 7), "original_prompt", false},
		{"subjects as object", set("subjects", map[string]any{}), "subjects", false},
		{"subject as text", set("subjects", []any{"dog"}), "subjects.0", false},
		{"bad id", func(d map[string]any) { subject(d)["id"] = "x" }, "subjects.0.id", false},
		{"no term", func(d map[string]any) { delete(subject(d), "term") }, "subjects.0.term", false},
		{"empty term", func(d map[string]any) { subject(d)["term"] = "" }, "subjects.0.term", false},
		{"extra in subject", func(d map[string]any) { subject(d)["zeta"] = 1 }, "subjects.0.zeta", false},
		{"bad op", func(d map[string]any) { subject(d)["quantity"] = map[string]any{"op": "ne", "value": 1} }, "subjects.0.quantity.op", false},
		{"negative value", func(d map[string]any) { subject(d)["quantity"] = map[string]any{"op": "eq", "value": -1} }, "subjects.0.quantity.value", false},
		{"fractional value", func(d map[string]any) { subject(d)["quantity"] = map[string]any{"op": "eq", "value": 1.5} }, "subjects.0.quantity.value", false},
		{"term twice", set("search_terms", []any{"dog", "dog"}), "search_terms.1", false},
		{"term as number", set("search_terms", []any{"dog", 1}), "search_terms.1", false},
		{"bad kind", condition(map[string]any{"kind": "smell"}), "conditions.0.kind", false},
		{"empty value", condition(map[string]any{"value": ""}), "conditions.0.value", false},
		{"bad obstacle", set("unassessable_components", []any{map[string]any{"kind": "smell", "text": "x"}}), "unassessable_components.0.kind", false},
		{"unknown subject", condition(map[string]any{"subject": "s2"}), "conditions.0.subject", true},
		{"subject not searched", set("search_terms", []any{"cat"}), "search_terms", true},
		{"no subject", set("subjects", []any{}), "subjects", true},
		{"no quantity", func(d map[string]any) { delete(subject(d), "quantity") }, "subjects.0.quantity", true},
		{"quantity on presence", set("prompt_intent", "presence"), "subjects.0.quantity", true},
		{"absence not negated", func(d map[string]any) { d["prompt_intent"] = "absence"; delete(subject(d), "quantity") }, "negated", true},
		{"threshold negated", set("negated", true), "negated", true},
		{"compound of one", func(d map[string]any) { d["prompt_intent"], d["query_type"] = "compound", "compound" }, "subjects", true},
		{"action without one", set("prompt_intent", "action"), "conditions", true},
		{"type contradicts", set("query_type", "open_ended"), "query_type", true},
	}
	schema := compiledSchema(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw := document(t, c.change)
			_, err := query.Decode(raw)
			var invalid *query.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, c.param, invalid.Param, invalid.Message)
			require.NotEmpty(t, invalid.Message)
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			require.NoError(t, err)
			if err := schema.Validate(doc); c.related {
				require.NoError(t, err, "Validate checks this rule, the schema must accept it")
			} else {
				require.Error(t, err, "the published schema must refuse what the service refuses")
			}
		})
	}
}

func TestDecodeRefusesOtherJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "nul", "null", "[]", `"dog"`, "{}{}", string(document(t, nil)) + "x"} {
		_, err := query.Decode([]byte(raw))
		var invalid *query.InvalidError
		require.True(t, errors.As(err, &invalid), "%q gives %v", raw, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(document(f, nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		q, err := query.Decode(raw)
		if err != nil {
			var invalid *query.InvalidError
			require.ErrorAs(t, err, &invalid)
			return
		}
		require.NoError(t, query.Validate(q))
		again, err := json.Marshal(q)
		require.NoError(t, err)
		back, err := query.Decode(again)
		require.NoError(t, err)
		require.Equal(t, query.Digest(q), query.Digest(back))
	})
}

func TestDigest(t *testing.T) {
	t.Parallel()
	a, err := query.Encode(query.Question{Ask: query.AskWhether, Body: query.Is{Thing: query.Thing{Term: "dog"}}})
	require.NoError(t, err)
	b, err := query.Encode(query.Question{Ask: query.AskWhether, Body: query.Is{Thing: query.Thing{Term: "cat"}}})
	require.NoError(t, err)
	require.Len(t, query.Digest(a), 64)
	require.NotEqual(t, query.Digest(a), query.Digest(b))
	bare := a
	bare.Conditions, bare.UnassessableComponents = nil, nil
	require.Equal(t, query.Digest(a), query.Digest(bare), "nil and empty lists must give the same digest")
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
