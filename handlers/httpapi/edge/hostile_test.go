package edge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi/api"
)

// hostileBody is a body of maxBody bytes that is expensive to check.
type hostileBody struct{ name, text string }

// filled repeats part between head and tail up to maxBody bytes. part gets the number of the
// repetition.
func filled(head, tail string, part func(i int) string) string {
	b := append(make([]byte, 0, maxBody), head...)
	for i := 0; ; i++ {
		p := part(i)
		if len(b)+len(p)+len(",")+len(tail) > maxBody {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	return string(append(b, tail...))
}

func always(text string) func(int) string { return func(int) string { return text } }

// hostileValues returns bodies with a hostile value between head and tail.
func hostileValues(head, tail string) []hostileBody {
	long := strings.Repeat("n", 1000)
	deep := head + strings.Repeat(`{"`+long+`":`, 50) + "{"
	room := maxBody - len(head) - len(tail) - 2
	return []hostileBody{
		{"empty texts", filled(head+"[", "]"+tail, always(`""`))},
		{"blank texts", filled(head+"[", "]"+tail, always(`" "`))},
		{"different texts", filled(head+"[", "]"+tail, func(i int) string { return fmt.Sprintf(`"%x"`, i) })},
		{"numbers", filled(head+"[", "]"+tail, always(`0`))},
		{"empty lists", filled(head+"[", "]"+tail, always(`[]`))},
		{"empty objects", filled(head+"[", "]"+tail, always(`{}`))},
		{"different members", filled(head+"{", "}"+tail, func(i int) string { return fmt.Sprintf(`"%x":0`, i) })},
		{"one member again and again", filled(head+"{", "}"+tail, always(`"a":0`))},
		{"deep repeated members", filled(deep, strings.Repeat("}", 51)+tail, always(`"a":0`))},
		{"a long name", head + `{"` + strings.Repeat("n", room-6) + `":0}` + tail},
		{"names of 9 KB", filled(head+"{", "}"+tail, func(i int) string { return fmt.Sprintf(`"%09000d":0`, i) })},
		{"a long text", head + `"` + strings.Repeat("x", room) + `"` + tail},
		{"a long blank", head + `"` + strings.Repeat(" ", room) + `"` + tail},
		{"U+0000", head + `"` + strings.Repeat(`\u0000`, room/6) + `"` + tail},
		{"a long number", head + strings.Repeat("9", room) + tail},
		{"a long exponent", head + "1e" + strings.Repeat("9", room-2) + tail},
	}
}

// places returns the fields of a body, each as the texts before and after its value.
func places(b *bounds, head, tail string) [][2]string {
	at := [][2]string{{head, tail}}
	if b.items != nil {
		at = append(at, places(b.items, head+"[", "]"+tail)...)
	}
	names := make([]string, 0, len(b.members))
	for name := range b.members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		at = append(at, places(b.members[name], head+`{"`+name+`":`, "}"+tail)...)
	}
	return at
}

// hostileBodies returns all hostile values in all fields of an operation, and bodies that are not
// JSON.
func hostileBodies(op *operation) []hostileBody {
	bodies := []hostileBody{
		{"blank", strings.Repeat(" ", maxBody)},
		{"brackets", strings.Repeat("[", maxBody)},
		{"quotes", strings.Repeat(`"`, maxBody)},
		{"escapes", `"` + strings.Repeat(`\`, maxBody-2) + `"`},
		{"not UTF-8", strings.Repeat("\xff", maxBody)},
	}
	if op.body == nil || op.form {
		return append(bodies, hostileBody{"fields", strings.ReplaceAll(filled("", "", func(i int) string { return fmt.Sprintf("%x=", i) }), ",", "&")})
	}
	for name := range op.bodyBounds.members {
		again := filled("{", "}", always(`"`+name+`":""`))
		bodies = append(bodies, hostileBody{name + " again and again", again})
	}
	for _, place := range places(op.bodyBounds, "", "") {
		for _, h := range hostileValues(place[0], place[1]) {
			bodies = append(bodies, hostileBody{h.name + " in " + place[0] + place[1], h.text})
		}
	}
	return bodies
}

// answered returns the response to a body: 200 if it is valid.
func (e *Edge) answered(op *operation, method, body string) *httptest.ResponseRecorder {
	written := httptest.NewRecorder()
	r := httptest.NewRequest(method, op.path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if op.form {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	x := &Exchange{RequestID: "req_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", operation: op, Request: r, response: newRecorder(written, defaultResponsePace)}
	if _, err := e.check(x, r); err != nil {
		WriteError(x.response, r, err)
	}
	return written
}

// bodied calls visit with each operation that reads a body.
func (e *Edge) bodied(visit func(method string, op *operation)) {
	for at, op := range e.Contract.operations {
		if method, _, _ := strings.Cut(at, " "); method != http.MethodGet && method != http.MethodOptions {
			visit(method, op)
		}
	}
}

// allocated returns how many bytes f allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileBodiesStayCheap is not parallel, because it counts the allocations of the program.
func TestHostileBodiesStayCheap(t *testing.T) {
	const mostMemory, mostAnswer = 32 << 20, 64 << 10
	e := bodyEdge(t)
	e.bodied(func(method string, op *operation) {
		for _, h := range hostileBodies(op) {
			var w *httptest.ResponseRecorder
			memory := allocated(func() { w = e.answered(op, method, h.text) })
			name := op.id + ": " + h.name
			require.LessOrEqual(t, memory, uint64(mostMemory), name)
			require.LessOrEqual(t, w.Body.Len(), mostAnswer, name)
			if w.Code == http.StatusOK {
				continue
			}
			require.Less(t, w.Code, http.StatusInternalServerError, "%s: %s", name, w.Body)
			var answer api.Error
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), name)
			if answer.Error.Errors == nil {
				continue
			}
			require.LessOrEqual(t, len(*answer.Error.Errors), 100, name)
			for _, violation := range *answer.Error.Errors {
				require.LessOrEqual(t, len(violation.Param), 200, name)
			}
		}
	})
}

// errorOf decodes an envelope.
func errorOf(t *testing.T, w *httptest.ResponseRecorder) api.Error {
	t.Helper()
	var answer api.Error
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	return answer
}

// TestRepeatedMembersAreNamedAHundredTimes repeats an attack that was answered with 477 MB:
// 50 nested objects with long names and thousands of repeated members.
func TestRepeatedMembersAreNamedAHundredTimes(t *testing.T) {
	t.Parallel()
	e := bodyEdge(t)
	op := e.Contract.operations["POST /v1/parse"]
	long := strings.Repeat("n", 1000)
	body := strings.Repeat(`{"`+long+`":`, 50) + `{"a":0` + strings.Repeat(`,"a":0`, 12_000) + strings.Repeat("}", 51)
	w := e.answered(op, http.MethodPost, body)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Less(t, w.Body.Len(), 4<<10)
	violations := *errorOf(t, w).Error.Errors
	require.Len(t, violations, 2, "the unknown field and the missing prompt; the content of an unknown field is not read")

	flat := `{"prompt":"x"` + strings.Repeat(`,"prompt":"x"`, 5000) + `}`
	w = e.answered(op, http.MethodPost, flat)
	answer := errorOf(t, w)
	require.Len(t, *answer.Error.Errors, 100)
	require.Equal(t, 4900, *answer.Error.ErrorsOmitted)
	require.Less(t, w.Body.Len(), 16<<10)
}

// TestTooManyPromptsAreNotRead repeats an attack that took 14.6 s: 40,000 empty prompts.
func TestTooManyPromptsAreNotRead(t *testing.T) {
	t.Parallel()
	e := bodyEdge(t)
	op := e.Contract.operations["POST /v1/analyses/batch"]
	prompts := strings.TrimSuffix(strings.Repeat(`"",`, 40_000), ",")
	w := e.answered(op, http.MethodPost, `{"video_id":"video_x","prompts":[`+prompts+`]}`)
	require.Equal(t, http.StatusBadRequest, w.Code)
	violations := *errorOf(t, w).Error.Errors
	require.Equal(t, api.Violation{Param: "prompts", Code: "length", Message: "must have at most 10 items"}, violations[0])
	require.Len(t, violations, 12, "the length, and the eleven prompts that were read")
}

// TestUnknownFieldsAreCounted names a hundred fields and counts the others.
func TestUnknownFieldsAreCounted(t *testing.T) {
	t.Parallel()
	e := bodyEdge(t)
	members := strings.TrimSuffix(many(250), "}")
	w := e.answered(e.Contract.operations["POST /v1/parse"], http.MethodPost, members+`,"prompt":"Is there a dog?"}`)
	answer := errorOf(t, w)
	require.Len(t, *answer.Error.Errors, 100)
	require.Equal(t, 150, *answer.Error.ErrorsOmitted)
}

func TestLongPathsLoseTheirMiddle(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.Repeat("x", 200), shortened(strings.Repeat("x", 200)))
	require.Equal(t, strings.Repeat("x", 98)+"…"+strings.Repeat("y", 98), shortened(strings.Repeat("x", 500)+strings.Repeat("y", 500)))
	for n := range 4 {
		cut := shortened(strings.Repeat("x", n) + strings.Repeat("😀", 100))
		require.LessOrEqual(t, len(cut), 200)
		require.True(t, utf8.ValidString(cut), cut)
	}
}

// TestEveryBodyHasBounds: the edge refuses a schema that accepts any number of values, because its
// memory would be unlimited.
func TestEveryBodyHasBounds(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"a list":           `{"type": "array", "items": {"type": "string"}}`,
		"members":          `{"type": "object", "additionalProperties": {"type": "string"}}`,
		"any members":      `{"type": "object"}`,
		"itself":           `{"type": "object", "additionalProperties": false, "properties": {"a": {"$ref": "#"}}}`,
		"a list in a part": `{"anyOf": [{"type": "null"}, {"type": "array", "uniqueItems": true, "items": {"type": "string"}}]}`,
	} {
		_, err := boundsOf(compiled(t, schema))
		require.Error(t, err, name)
	}
}

// TestBoundsFollowTheSchema reads through references and alternatives.
func TestBoundsFollowTheSchema(t *testing.T) {
	t.Parallel()
	r, err := boundsOf(compiled(t, `{"$defs": {"kind": {"enum": ["a", "b"]}}, "type": "object", "additionalProperties": false,
		"anyOf": [{"required": ["kinds"]}, {"required": ["labels"]}], "properties": {
		"kinds": {"anyOf": [{"type": "null"}, {"type": "array", "uniqueItems": true, "items": {"$ref": "#/$defs/kind"}}]},
		"labels": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "array", "maxItems": 1, "items": {"type": "integer"}}}}}`))
	require.NoError(t, err)
	const text = `{"kinds": ["a", "b"], "labels": {"x": [1], "y": [2, 3, 4]}, "other": {"a": [1]}}`
	got, isJSON := parseJSON([]byte(text), r)
	require.True(t, isJSON)
	require.Equal(t, map[string]any{
		"kinds": []any{"a", "b"}, "labels": map[string]any{"x": []any{int64(1)}, "y": []any{int64(2), int64(3)}}, "other": map[string]any{},
	}, got.value)
}

func compiled(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("schema.json", tree))
	s, err := compiler.Compile("schema.json")
	require.NoError(t, err)
	return s
}

// BenchmarkHostileBodies measures the most expensive bodies of 1 MiB for each operation. The
// limits are 50 ms and 32 MB.
func BenchmarkHostileBodies(b *testing.B) {
	e := bodyEdge(b)
	e.bodied(func(method string, op *operation) {
		for _, h := range hostileBodies(op) {
			b.Run(op.id+"/"+h.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					e.answered(op, method, h.text)
				}
			})
		}
	})
}
