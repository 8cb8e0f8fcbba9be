package edge

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// normalize removes the null members of a body whose fields are optional in the contract: a
// null equals an absent field. A null in a required field stays, and validation refuses it. It also
// writes times in upper case.
func normalize(s *jsonschema.Schema, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	s = objectSchema(s)
	for name, member := range object {
		described := s.Properties[name]
		switch {
		case described == nil:
		case member != nil:
			normalize(described, member)
			if text, isText := member.(string); isText && described.Format != nil && described.Format.Name == "date-time" {
				object[name] = upperTime(text)
			}
		case !slices.Contains(s.Required, name) && acceptsNull(described):
			delete(object, name)
		}
	}
}

// objectSchema returns the schema that names the members of an object. It follows
// references and alternatives.
func objectSchema(s *jsonschema.Schema) *jsonschema.Schema {
	for s.Ref != nil {
		s = s.Ref
	}
	if len(s.Properties) > 0 {
		return s
	}
	for _, part := range s.AnyOf {
		if d := objectSchema(part); len(d.Properties) > 0 {
			return d
		}
	}
	return s
}

func acceptsNull(s *jsonschema.Schema) bool {
	return s != nil && (accepts(s, "null") || acceptsNull(s.Ref) || slices.ContainsFunc(s.AnyOf, acceptsNull))
}
