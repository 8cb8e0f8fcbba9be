package codec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Entry is one registered event.
type Entry struct {
	// Name is the stored name of the first version.
	Name string
	// Stored has the stored names of all versions, oldest first.
	Stored []string
	// Type is the Go type of the newest version.
	Type reflect.Type
}

// Registry returns every registered event, sorted by name.
func (c *Codec) Registry() []Entry {
	entries := make([]Entry, 0, len(c.byName))
	for _, r := range c.byName {
		e := Entry{Name: r.name, Type: r.goType}
		for v := 1; v <= r.newest(); v++ {
			e.Stored = append(e.Stored, r.storedName(v))
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries
}

// ShapeError says that the shape of an event has changed without a new version.
type ShapeError struct {
	// Stored is the name under which both shapes would be stored.
	Stored string
	// Differences describes the changes, one for each field.
	Differences []string
}

func (e *ShapeError) Error() string {
	name, version, _ := splitStoredName(e.Stored)
	return fmt.Sprintf("the shape of %s differs from its schema:\n\t%s\n"+
		"The log may hold the old shape, so it must stay readable. Undo the change, or give Register of %q in codec.Events "+
		"an upcaster from version %d to %d: the new shape is then stored as %s@%d. After that run make generate "+
		"and go test ./eventstore/codec -update.",
		e.Stored, strings.Join(e.Differences, "\n\t"), name, version, version+1, name, version+1)
}

// CheckSchemas compares the codec with the committed schemas, files named "<stored name>.json". A
// schema is written once and never changes: the codec must still write the newest shape and read
// the older ones. CheckSchemas returns the newest versions that have no schema yet. Errors, joined:
// a *ShapeError for each event that changed, an older version without a schema, and a schema whose
// event or version is not registered.
func (c *Codec) CheckSchemas(committed fs.FS) (missing []string, err error) {
	files, err := fs.Glob(committed, "*.json")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	var faults []error
	for _, entry := range c.Registry() {
		for i, stored := range entry.Stored {
			known[stored+".json"] = true
			newest := i == len(entry.Stored)-1
			reference, err := fs.ReadFile(committed, stored+".json")
			switch {
			case errors.Is(err, fs.ErrNotExist) && newest:
				missing = append(missing, stored)
			case err != nil:
				faults = append(faults, fmt.Errorf("read the schema of %s, which the log may hold: %w", stored, err))
			case newest:
				faults = append(faults, c.checkSchema(stored, reference))
			}
		}
	}
	for _, file := range files {
		if !known[file] {
			faults = append(faults, fmt.Errorf("%s has a schema but is not registered, and the log may hold it: add it to codec.Events again",
				strings.TrimSuffix(file, ".json")))
		}
	}
	return missing, errors.Join(faults...)
}

func (c *Codec) checkSchema(stored string, reference []byte) error {
	current, err := c.Schema(stored)
	if err != nil || bytes.Equal(current, reference) {
		return err
	}
	before, err := Fields(reference)
	if err != nil {
		return fmt.Errorf("read the committed schema of %s: %w", stored, err)
	}
	now, err := Fields(current)
	if err != nil {
		return err
	}
	return &ShapeError{Stored: stored, Differences: differences(before, now)}
}

// Field is one place in the payload of an event.
type Field struct {
	// Path names the place: "a.b" is a field of an object, "a[]" each member of a list, and
	// "a{}" each value of a map.
	Path string
	// Type is the JSON type in words, such as "integer" or "list or null".
	Type string
	// Optional is true when the field may be absent.
	Optional bool
}

func (f Field) String() string {
	if f.Optional {
		return f.Type + ", optional"
	}
	return f.Type
}

// Fields returns the fields of a schema that Schema made, sorted by path.
func Fields(schema []byte) ([]Field, error) {
	var root object
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	var fields []Field
	collect(&fields, "", root)
	slices.SortFunc(fields, func(a, b Field) int { return cmp.Compare(a.Path, b.Path) })
	return fields, nil
}

func collect(to *[]Field, path string, schema object) {
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		place := strings.TrimPrefix(path+"."+name, ".")
		add(to, place, property, !slices.Contains(required, any(name)))
	}
	if items, ok := schema["items"]; ok {
		add(to, path+"[]", items, false)
	}
	if values, ok := schema["additionalProperties"].(object); ok {
		add(to, path+"{}", values, false)
	}
}

func add(to *[]Field, path string, schema any, optional bool) {
	s, _ := schema.(object)
	*to = append(*to, Field{Path: path, Type: typeText(s), Optional: optional})
	collect(to, path, s)
}

// typeText describes the type of a schema with its constraints, such as "integer (minimum 0)".
func typeText(schema object) string {
	var types []string
	switch t := schema["type"].(type) {
	case []any:
		for _, one := range t {
			types = append(types, fmt.Sprint(one))
		}
	default:
		types = []string{fmt.Sprint(t)}
	}
	text := strings.Join(types, " or ")
	text = strings.Replace(text, "array", "list", 1)
	if _, isMap := schema["additionalProperties"].(object); isMap {
		text = strings.Replace(text, "object", "map", 1)
	}
	for _, key := range []string{"format", "contentEncoding"} {
		if value, ok := schema[key]; ok {
			text += fmt.Sprintf(" (%v)", value)
		}
	}
	for _, key := range []string{"minimum", "minItems", "maxItems"} {
		if value, ok := schema[key]; ok {
			text += fmt.Sprintf(" (%s %v)", key, value)
		}
	}
	return text
}

// differences describes how a payload changed, one sentence for each field.
func differences(before, now []Field) []string {
	old, current := byPath(before), byPath(now)
	var found []string
	for _, path := range slices.Sorted(maps.Keys(old)) {
		is, kept := current[path]
		switch was := old[path]; {
		case kept && was != is:
			found = append(found, fmt.Sprintf("field %s was %s and is %s", path, was, is))
		case !kept && !under(path, old, current):
			found = append(found, fmt.Sprintf("field %s (%s) is gone", path, was))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(current)) {
		if _, known := old[path]; !known && !under(path, current, old) {
			found = append(found, fmt.Sprintf("field %s (%s) is new", path, current[path]))
		}
	}
	if len(found) == 0 {
		found = []string{"no field changed, but the schema file differs: restore it"}
	}
	return found
}

// under reports whether path lies within a place that is in one list only. Then reporting that
// place is enough.
func under(path string, in, notIn map[string]Field) bool {
	for i, r := range path {
		if r != '.' && r != '[' && r != '{' {
			continue
		}
		if _, missing := notIn[path[:i]]; !missing {
			if _, there := in[path[:i]]; there {
				return true
			}
		}
	}
	return false
}

func byPath(fields []Field) map[string]Field {
	m := make(map[string]Field, len(fields))
	for _, f := range fields {
		m[f.Path] = f
	}
	return m
}
