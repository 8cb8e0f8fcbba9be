package main

import (
	"bytes"
	"cmp"
	_ "embed" // the text of the page
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

//go:embed events.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New(pagePath).Funcs(template.FuncMap{"anchor": anchor}).Parse(pageText))

// maxValues is the longest enumeration whose values are listed. For a longer one the page names
// only the type.
const maxValues = 12

type category struct {
	Name   string
	Events []event
}

type event struct {
	codec.Entry
	// Meaning is the comment of the type without "NAME says that".
	Meaning  string
	Versions []version
	order    int
}

type version struct {
	Number int
	Newest bool
	Stored string
	Fields []row
}

// row is a line of a table.
type row struct{ Name, Path, Type, Text string }

// page returns docs/events.md. Errors: a type without a comment or a category, an unreadable
// source file, or a missing schema.
func page(c *codec.Codec, root string) ([]byte, error) {
	src := &source{root: root}
	categories, err := categoriesOf(c, src)
	if err != nil {
		return nil, err
	}
	meta, err := metaRows(src)
	if err != nil {
		return nil, err
	}
	example, err := chainExample(c)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = pageTemplate.Execute(&text, map[string]any{
		"Categories": categories, "Columns": columns, "Meta": meta, "Example": example,
	})
	return text.Bytes(), err
}

// categoriesOf returns the events of each category of streams, in the order of their declarations.
func categoriesOf(c *codec.Codec, src *source) ([]category, error) {
	byName := map[string][]event{}
	for _, entry := range c.Registry() {
		in, err := categoryOf(entry.Type)
		if err != nil {
			return nil, err
		}
		e, err := describe(entry, src)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", entry.Name, err)
		}
		byName[in] = append(byName[in], e)
	}
	var categories []category
	for _, name := range fold.Names() {
		events := byName[name]
		slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.order, b.order) })
		categories = append(categories, category{Name: name, Events: events})
	}
	return categories, nil
}

// categoryOf returns the category of streams whose fold accepts a type.
func categoryOf(t reflect.Type) (string, error) {
	var in []string
	for _, name := range fold.Names() {
		aggregate, _ := fold.Named(name)
		// Evolve(state S, event E) S
		evolve, ok := reflect.TypeOf(aggregate).MethodByName("Evolve")
		if ok && t.AssignableTo(evolve.Type.In(2)) {
			in = append(in, name)
		}
	}
	if len(in) != 1 {
		return "", fmt.Errorf("%s must be folded by exactly one category of streams; these fold it: %q", t, in)
	}
	return in[0], nil
}

func describe(entry codec.Entry, src *source) (event, error) {
	d, err := src.of(entry.Type)
	if err != nil {
		return event{}, err
	}
	prefix := entry.Type.Name() + " says that "
	says, ok := strings.CutPrefix(d.comment, prefix)
	if !ok {
		return event{}, fmt.Errorf("the comment of %s does not begin with %q", entry.Type, prefix)
	}
	e := event{Entry: entry, Meaning: meant(capital(says), entry.Type.Name(), storedNames(entry.Type)), order: d.order}
	for i, stored := range entry.Stored {
		v := version{Number: i + 1, Stored: stored, Newest: i > 0 && i == len(entry.Stored)-1}
		// Older versions take the comments of the fields that the newest version still has.
		if v.Fields, err = fieldRows(stored, entry.Type, src); err != nil {
			return event{}, err
		}
		e.Versions = append(e.Versions, v)
	}
	slices.Reverse(e.Versions)
	return e, nil
}

// fieldRows returns the table rows of a stored version.
func fieldRows(stored string, t reflect.Type, src *source) ([]row, error) {
	schema, err := os.ReadFile(filepath.Join(src.root, schemaDir, stored+".json"))
	if err != nil {
		return nil, err
	}
	fields, err := codec.Fields(schema)
	if err != nil {
		return nil, err
	}
	return rows(fields, t, src)
}

// rows returns a row for each field, in the order of the source. Fields that the newest version
// lacks come first.
func rows(fields []codec.Field, t reflect.Type, src *source) ([]row, error) {
	meanings, err := src.meanings(t)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(fields, func(a, b codec.Field) int {
		return cmp.Compare(meanings[a.Path].order, meanings[b.Path].order)
	})
	var out []row
	for _, f := range fields {
		m := meanings[f.Path]
		text := m.comment
		if len(m.values) > maxValues {
			text = strings.TrimSpace(text + " One of the values of `" + m.goType + "`.")
		} else if len(m.values) > 0 {
			text = strings.TrimSpace(text + " One of `" + strings.Join(m.values, "`, `") + "`.")
		}
		out = append(out, row{Path: f.Path, Type: f.String(), Text: strings.ReplaceAll(text, "|", `\|`)})
	}
	return out, nil
}

func metaRows(src *source) ([]row, error) {
	meta := reflect.TypeFor[eventstore.Meta]()
	var fields []codec.Field
	for i := range meta.NumField() {
		name, _, _ := strings.Cut(meta.Field(i).Tag.Get("json"), ",")
		// The account has its own column (codec.MarshalMeta).
		if name != "account_id" {
			fields = append(fields, codec.Field{Path: name, Type: meta.Field(i).Type.String()})
		}
	}
	return rows(fields, meta, src)
}

// anchor returns the id of a heading on the page.
func anchor(heading string) string { return strings.ReplaceAll(heading, ".", "") }
