package edge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// room is how much of a JSON value a schema can accept. The parser skips the rest, which
// the schema would refuse in any case. nil is room for everything.
type room struct {
	// object is whether the schema takes an object. members are those that it names. others
	// is the room of every other member where it takes any name, else nil.
	object  bool
	members map[string]*room
	others  *room
	// items is the room of each item, and most the number of items that are accepted.
	items *room
	most  int
}

// noRoom is the room of a number, a text or an unknown member: an object or a list in its
// place is read as an empty one.
var noRoom = &room{}

// member returns the room of a member, and whether the schema takes its name.
func (r *room) member(name string) (*room, bool) {
	if r == nil {
		return nil, true
	}
	if m, named := r.members[name]; named {
		return m, true
	}
	if r.others != nil {
		return r.others, true
	}
	return noRoom, false
}

// names reports whether the schema names a member.
func (r *room) names(name string) bool { return r == nil || r.members[name] != nil }

func (r *room) maxItems() int {
	if r == nil {
		return math.MaxInt
	}
	return r.most
}

func (r *room) item() *room {
	switch {
	case r == nil:
		return nil
	case r.items == nil:
		return noRoom
	default:
		return r.items
	}
}

// roomOf computes the room of a schema. It fails on one that takes a list of any length
// or an object with members that it does not describe, because the size of such a body
// would be bounded by nothing but its bytes.
func roomOf(s *jsonschema.Schema) (*room, error) {
	r := &room{members: map[string]*room{}}
	if err := r.add(s, 0); err != nil {
		return nil, err
	}
	return r, nil
}

// add makes room for what one more schema accepts.
func (r *room) add(s *jsonschema.Schema, depth int) error {
	if s == nil {
		return nil
	}
	if depth > maxDepth {
		return errors.New(s.Location + " nests without end")
	}
	for _, part := range slices.Concat([]*jsonschema.Schema{s.Ref}, s.AllOf, s.AnyOf, s.OneOf) {
		if err := r.add(part, depth+1); err != nil {
			return err
		}
	}
	if accepts(s, "array") {
		if err := r.addList(s, depth); err != nil {
			return err
		}
	}
	if accepts(s, "object") {
		return r.addObject(s, depth)
	}
	return nil
}

// accepts reports whether a schema names a type.
func accepts(s *jsonschema.Schema, typeName string) bool {
	return s.Types != nil && slices.Contains(s.Types.ToStrings(), typeName)
}

func (r *room) addList(s *jsonschema.Schema, depth int) error {
	most := 0
	switch {
	case s.MaxItems != nil:
		most = *s.MaxItems
	case s.UniqueItems && values(s.Items2020) > 0:
		most = values(s.Items2020)
	default:
		return fmt.Errorf("%s takes a list of any length", s.Location)
	}
	r.most = max(r.most, most)
	if r.items == nil {
		r.items = &room{members: map[string]*room{}}
	}
	return r.items.add(s.Items2020, depth+1)
}

// values is how many different values a schema accepts, 0 when it does not list them.
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

func (r *room) addObject(s *jsonschema.Schema, depth int) error {
	r.object = true
	for name, member := range s.Properties {
		if r.members[name] == nil {
			r.members[name] = &room{members: map[string]*room{}}
		}
		if err := r.members[name].add(member, depth+1); err != nil {
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
			return fmt.Errorf("%s takes any number of members", s.Location)
		}
		if r.others == nil {
			r.others = &room{members: map[string]*room{}}
		}
		return r.others.add(others, depth+1)
	}
	return fmt.Errorf("%s takes members that it does not describe", s.Location)
}
