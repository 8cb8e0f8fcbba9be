package edge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// bounds limit the part of a JSON value that a schema can accept. The parser skips the
// rest, because the schema refuses it anyway. nil has no limits.
type bounds struct {
	// object is true if the schema accepts an object. members are the members that it names.
	// others are the bounds of all other members, or nil if the schema accepts no others.
	object  bool
	members map[string]*bounds
	others  *bounds
	// items are the bounds of each item, and most is the largest number of items.
	items *bounds
	most  int
}

// scalarBounds are the bounds of a number, a text or an unknown member. An object or a list
// in its place is read as an empty one.
var scalarBounds = &bounds{}

// member returns the bounds of a member, and whether the schema accepts its name.
func (b *bounds) member(name string) (*bounds, bool) {
	if b == nil {
		return nil, true
	}
	if m, named := b.members[name]; named {
		return m, true
	}
	if b.others != nil {
		return b.others, true
	}
	return scalarBounds, false
}

// names reports whether the schema names a member.
func (b *bounds) names(name string) bool { return b == nil || b.members[name] != nil }

func (b *bounds) maxItems() int {
	if b == nil {
		return math.MaxInt
	}
	return b.most
}

func (b *bounds) item() *bounds {
	switch {
	case b == nil:
		return nil
	case b.items == nil:
		return scalarBounds
	default:
		return b.items
	}
}

// boundsOf computes the bounds of a schema. It fails for a schema that accepts a list of
// any length, or an object with members that it does not describe: nothing but the number
// of bytes would limit such a body.
func boundsOf(s *jsonschema.Schema) (*bounds, error) {
	b := &bounds{members: map[string]*bounds{}}
	if err := b.add(s, 0); err != nil {
		return nil, err
	}
	return b, nil
}

// add extends the bounds by everything that another schema accepts.
func (b *bounds) add(s *jsonschema.Schema, depth int) error {
	if s == nil {
		return nil
	}
	if depth > maxDepth {
		return errors.New(s.Location + " nests without end")
	}
	for _, part := range slices.Concat([]*jsonschema.Schema{s.Ref}, s.AllOf, s.AnyOf, s.OneOf) {
		if err := b.add(part, depth+1); err != nil {
			return err
		}
	}
	if accepts(s, "array") {
		if err := b.addList(s, depth); err != nil {
			return err
		}
	}
	if accepts(s, "object") {
		return b.addObject(s, depth)
	}
	return nil
}

// accepts reports whether a schema names a type.
func accepts(s *jsonschema.Schema, typeName string) bool {
	return s.Types != nil && slices.Contains(s.Types.ToStrings(), typeName)
}

func (b *bounds) addList(s *jsonschema.Schema, depth int) error {
	most := 0
	switch {
	case s.MaxItems != nil:
		most = *s.MaxItems
	case s.UniqueItems && values(s.Items2020) > 0:
		most = values(s.Items2020)
	default:
		return fmt.Errorf("%s accepts a list of any length", s.Location)
	}
	b.most = max(b.most, most)
	if b.items == nil {
		b.items = &bounds{members: map[string]*bounds{}}
	}
	return b.items.add(s.Items2020, depth+1)
}

// values returns the number of different values that a schema accepts, or 0 if the schema
// does not list them.
func values(s *jsonschema.Schema) int {
	switch {
	case s == nil:
		return 0
	case s.Enum != nil:
		return len(s.Enum.Values)
	default:
		return values(s.Ref)
	}
}

func (b *bounds) addObject(s *jsonschema.Schema, depth int) error {
	b.object = true
	for name, member := range s.Properties {
		if b.members[name] == nil {
			b.members[name] = &bounds{members: map[string]*bounds{}}
		}
		if err := b.members[name].add(member, depth+1); err != nil {
			return err
		}
	}
	switch others := s.AdditionalProperties.(type) {
	case bool:
		if !others {
			return nil
		}
	case *jsonschema.Schema:
		if s.MaxProperties == nil || *s.MaxProperties >= maxViolations {
			return fmt.Errorf("%s accepts any number of members", s.Location)
		}
		if b.others == nil {
			b.others = &bounds{members: map[string]*bounds{}}
		}
		return b.others.add(others, depth+1)
	}
	return fmt.Errorf("%s accepts members that it does not describe", s.Location)
}
