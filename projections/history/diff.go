package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Change is a field that differs between two states.
type Change struct {
	// Path is the path of the field in the JSON form: "holds.an_01….seconds".
	Path string `json:"path"`
	// Before and After are omitted where the field is absent.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Diff compares the JSON forms of two states field by field, ordered by path. nil is the
// state before the first event.
func Diff(before, after any) ([]Change, error) {
	a, err := fields(before)
	if err != nil {
		return nil, err
	}
	b, err := fields(after)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	changes := []Change{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(a[path], b[path]) {
			changes = append(changes, Change{path, a[path], b[path]})
		}
	}
	return changes, nil
}

// fields returns the values of a state that contain no other values, by path.
func fields(state any) (map[string]json.RawMessage, error) {
	found := map[string]json.RawMessage{}
	if state == nil {
		return found, nil
	}
	text, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode a state: %w", err)
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("decode a state: %w", err)
	}
	return found, flatten(found, "", value)
}

func flatten(into map[string]json.RawMessage, path string, value any) error {
	below := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	switch v := value.(type) {
	case map[string]any:
		for name, x := range v {
			if err := flatten(into, below(name), x); err != nil {
				return err
			}
		}
		if len(v) > 0 {
			return nil
		}
	case []any:
		for i, x := range v {
			if err := flatten(into, below(strconv.Itoa(i)), x); err != nil {
				return err
			}
		}
		if len(v) > 0 {
			return nil
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	into[path] = text
	return nil
}
