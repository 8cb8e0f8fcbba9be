package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
)

// Decode reads a compiled query that a client wrote and validates it. It is strict: unknown
// fields, wrong types and trailing data are errors. Fields that the schema does not require get
// its defaults. The error is an *[InvalidError].
func Decode(raw []byte) (Query, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return Query{}, invalid("", "must be valid JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Query{}, invalid("", "must not have data after the JSON value")
	}
	r := &reader{}
	q := r.query(tree)
	if r.err != nil {
		return Query{}, r.err
	}
	return q, Validate(q)
}

// reader walks a JSON tree by hand, because encoding/json does not say which item of a list is
// wrong. It keeps the first error; later reads return zero values.
type reader struct{ err error }

func (r *reader) fail(param, message string) {
	if r.err == nil {
		r.err = invalid(param, "%s", message)
	}
}

func (r *reader) query(tree any) Query {
	o := r.object("", tree, []string{"schema_version", "prompt_intent", "query_type", "subjects", "search_terms"},
		[]string{"original_prompt", "ask", "conditions", "operator", "negated", "groups", "unassessable_components"})
	q := Query{
		SchemaVersion: r.integer("schema_version", o["schema_version"]),
		PromptIntent:  Intent(r.str("prompt_intent", o["prompt_intent"])),
		QueryType:     Type(r.str("query_type", o["query_type"])),
		Operator:      All,
		Negated:       r.boolean("negated", o["negated"], has(o, "negated")),
		Subjects:      list(r, "subjects", o["subjects"], true, r.subject),
		Conditions:    list(r, "conditions", o["conditions"], has(o, "conditions"), r.condition),
		SearchTerms:   list(r, "search_terms", o["search_terms"], true, r.str),
		UnassessableComponents: list(r, "unassessable_components", o["unassessable_components"],
			has(o, "unassessable_components"), r.unassessable),
	}
	if o["original_prompt"] != nil {
		prompt := r.str("original_prompt", o["original_prompt"])
		q.OriginalPrompt = &prompt
	}
	if has(o, "ask") {
		q.Ask = Ask(r.str("ask", o["ask"]))
	}
	if has(o, "groups") {
		q.Groups = list(r, "groups", o["groups"], true, r.group)
	}
	if has(o, "operator") {
		q.Operator = Operator(r.str("operator", o["operator"]))
	}
	return q
}

func (r *reader) subject(param string, tree any) Subject {
	o := r.object(param, tree, []string{"id", "term"}, []string{"quantity", "presupposed", "universal"})
	s := Subject{
		ID: r.str(param+".id", o["id"]), Term: r.str(param+".term", o["term"]),
		Presupposed: r.boolean(param+".presupposed", o["presupposed"], has(o, "presupposed")),
	}
	if has(o, "universal") {
		s.Universal = Universal(r.str(param+".universal", o["universal"]))
	}
	if o["quantity"] != nil {
		at := param + ".quantity"
		n := r.object(at, o["quantity"], []string{"op", "value"}, nil)
		s.Quantity = &Quantity{Op: Comparison(r.str(at+".op", n["op"])), Value: r.integer(at+".value", n["value"])}
	}
	return s
}

func (r *reader) condition(param string, tree any) Condition {
	o := r.object(param, tree, []string{"subject", "kind", "value"}, []string{"negated", "presupposed"})
	return Condition{
		Subject: r.str(param+".subject", o["subject"]),
		Kind:    Kind(r.str(param+".kind", o["kind"])),
		Value:   r.str(param+".value", o["value"]),
		Negated: r.boolean(param+".negated", o["negated"], has(o, "negated")),

		Presupposed: r.boolean(param+".presupposed", o["presupposed"], has(o, "presupposed")),
	}
}

func (r *reader) group(param string, tree any) Group {
	o := r.object(param, tree, []string{"id", "op", "of"}, nil)
	return Group{
		ID: r.str(param+".id", o["id"]), Op: GroupOp(r.str(param+".op", o["op"])), Of: list(r, param+".of", o["of"], true, r.str),
	}
}

func (r *reader) unassessable(param string, tree any) Unassessable {
	o := r.object(param, tree, []string{"kind", "text"}, nil)
	return Unassessable{Kind: Obstacle(r.str(param+".kind", o["kind"])), Text: r.str(param+".text", o["text"])}
}

func (r *reader) object(param string, tree any, required, optional []string) map[string]any {
	o, ok := tree.(map[string]any)
	if !ok {
		r.fail(param, "must be an object")
		return nil
	}
	prefix := param
	if prefix != "" {
		prefix += "."
	}
	for _, name := range required {
		if !has(o, name) {
			r.fail(prefix+name, "is required")
		}
	}
	unknown := []string{}
	for name := range o {
		if !slices.Contains(required, name) && !slices.Contains(optional, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		// Sorting makes sure that the same document always names the same field.
		slices.Sort(unknown)
		r.fail(prefix+unknown[0], "is not a field of this object")
	}
	return o
}

func (r *reader) str(param string, tree any) string {
	s, ok := tree.(string)
	if !ok {
		r.fail(param, "must be a string")
	}
	return s
}

func (r *reader) boolean(param string, tree any, present bool) bool {
	b, ok := tree.(bool)
	if !ok && present {
		r.fail(param, "must be a boolean")
	}
	return b
}

func (r *reader) integer(param string, tree any) int {
	n, ok := tree.(json.Number)
	if !ok {
		r.fail(param, "must be an integer")
		return 0
	}
	i, err := strconv.Atoi(n.String())
	if err != nil {
		r.fail(param, "must be an integer")
	}
	return i
}

func list[T any](r *reader, param string, tree any, present bool, item func(string, any) T) []T {
	out := []T{}
	if !present {
		return out
	}
	items, ok := tree.([]any)
	if !ok {
		r.fail(param, "must be a list")
		return out
	}
	for i, t := range items {
		out = append(out, item(param+"."+strconv.Itoa(i), t))
	}
	return out
}

func has(o map[string]any, name string) bool {
	_, ok := o[name]
	return ok
}
