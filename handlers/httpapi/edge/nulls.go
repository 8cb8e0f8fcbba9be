package edge

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// dropNulls removes the members of a body that are null where the contract lets a caller leave the
// field out: both mean the same. A null in the place of a required field stays, and is refused.
func dropNulls(s *jsonschema.Schema, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	s = describing(s)
	for name, member := range object {
		described := s.Properties[name]
		switch {
		case described == nil:
		case member != nil:
			dropNulls(described, member)
		case !slices.Contains(s.Required, name) && acceptsNull(described):
			delete(object, name)
		}
	}
}

// describing is the schema that names the members of an object: a reference, or one of several
// alternatives, may stand before it.
func describing(s *jsonschema.Schema) *jsonschema.Schema {
	for s.Ref != nil {
		s = s.Ref
	}
	if len(s.Properties) > 0 {
		return s
	}
	for _, part := range s.AnyOf {
		if d := describing(part); len(d.Properties) > 0 {
			return d
		}
	}
	return s
}

func acceptsNull(s *jsonschema.Schema) bool {
	return s != nil && (accepts(s, "null") || acceptsNull(s.Ref) || slices.ContainsFunc(s.AnyOf, acceptsNull))
}
