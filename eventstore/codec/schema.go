package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// object is a JSON object: a schema or a part of one.
type object = map[string]any

// Schema returns the JSON Schema (2020-12) of the newest version of a registered event: its fields,
// their JSON types, and which of them may be absent or null. It contains nothing else, so that it
// changes only with the stored shape. A comment, a Go name, the order of fields or a new value of
// an enumeration does not change it. Errors: *UnknownTypeError, also for an older version, whose
// type no longer exists; or the type has a field that an event must not have.
func (c *Codec) Schema(stored string) ([]byte, error) {
	name, _, _ := strings.Cut(stored, "@")
	r, ok := c.byName[name]
	if !ok || r.storedName(r.newest()) != stored {
		return nil, &UnknownTypeError{Type: stored}
	}
	shape, err := shapeOf(r.goType, nil)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %s%w", stored, r.goType.Name(), err)
	}
	shape["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	shape["$id"] = "urn:vqa:event:" + stored
	shape["title"] = stored
	data, err := json.MarshalIndent(shape, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", stored, err)
	}
	return append(data, '\n'), nil
}

// shapeOf returns the schema of a type. within lists the structs around it. An error begins with
// the path from the type to the wrong field.
func shapeOf(t reflect.Type, within []reflect.Type) (object, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}, nil
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}, nil
	case t.Kind() != reflect.Struct && t.Implements(reflect.TypeFor[json.Marshaler]()):
		return nil, fmt.Errorf(": an event cannot have a %s, because it has its own MarshalJSON", t)
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}, nil
	case reflect.Bool:
		return object{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}, nil
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}, nil
	case reflect.Slice, reflect.Array:
		return listShape(t, within)
	case reflect.Map:
		values, err := memberShape(t.Elem(), within)
		if err != nil {
			return nil, fmt.Errorf("{}%w", err)
		}
		return object{"type": "object", "additionalProperties": values}, nil
	case reflect.Struct:
		return structShape(t, within)
	default:
		return nil, fmt.Errorf(": an event cannot have a %s", t)
	}
}

func listShape(t reflect.Type, within []reflect.Type) (object, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return object{"type": "string", "contentEncoding": "base64"}, nil
	}
	items, err := memberShape(t.Elem(), within)
	if err != nil {
		return nil, fmt.Errorf("[]%w", err)
	}
	list := object{"type": "array", "items": items}
	if t.Kind() == reflect.Array {
		list["minItems"], list["maxItems"] = t.Len(), t.Len()
	}
	return list, nil
}

// memberShape is shapeOf for the members of a list or a map, which cannot be null.
func memberShape(t reflect.Type, within []reflect.Type) (object, error) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return nil, fmt.Errorf(": a member cannot be a %s, because it may be null", t)
	default:
		return shapeOf(t, within)
	}
}

// structShape finds the optional fields by encoding the zero value. A field that is missing there
// may be absent. A field that is null there may be null.
func structShape(t reflect.Type, within []reflect.Type) (object, error) {
	if slices.Contains(within, t) {
		return nil, fmt.Errorf(": %s contains itself", t)
	}
	within = append(slices.Clone(within), t)
	zero := map[string]json.RawMessage{}
	data, err := json.Marshal(reflect.Zero(t).Interface())
	if err == nil {
		err = json.Unmarshal(data, &zero)
	}
	if err != nil {
		return nil, fmt.Errorf(": %s is not encoded as an object: %w", t, err)
	}
	properties, required := object{}, []string{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" || !field.IsExported() {
			return nil, fmt.Errorf(".%s needs a json tag with a name", field.Name)
		}
		shape, err := shapeOf(field.Type, within)
		if err != nil {
			return nil, fmt.Errorf(".%s%w", field.Name, err)
		}
		if empty, always := zero[name]; always {
			required = append(required, name)
			if string(empty) == "null" {
				shape["type"] = []any{shape["type"], "null"}
			}
		}
		properties[name] = shape
		delete(zero, name)
	}
	for name := range zero {
		return nil, fmt.Errorf(": %s writes %q, which is not one of its fields", t, name)
	}
	slices.Sort(required)
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}, nil
}
