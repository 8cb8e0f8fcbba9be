package codec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"vqa/eventstore"
)

// Upcaster converts a stored payload to the next version.
type Upcaster func(old json.RawMessage) (json.RawMessage, error)

// Registration maps a stored name to a type. Register makes one.
type Registration struct {
	name      string
	goType    reflect.Type
	upcasters []Upcaster
	// readFirst is true when this release reads the newest version and does not write it.
	readFirst bool
	decode    func([]byte) (eventstore.Event, error)
}

// Register stores events of type T, a struct, under name. The upcasters convert version 1 to 2, 2
// to 3, and so on. With n upcasters, new events are stored as version n+1.
func Register[T eventstore.Event](name string, upcasters ...Upcaster) Registration {
	return Registration{
		name:      name,
		goType:    reflect.TypeFor[T](),
		upcasters: upcasters,
		decode: func(data []byte) (eventstore.Event, error) {
			var event T
			if err := decodeStrictly(data, &event); err != nil {
				return nil, err
			}
			return event, nil
		},
	}
}

// ReadFirst makes the newest version readable in this release. The next release writes it: then the nodes
// that it meets in a rolling upgrade can read it. Until then events are stored in the version before, so
// the new fields must be unset. A new type is not stored at all.
func (r Registration) ReadFirst() Registration {
	r.readFirst = true
	return r
}

// Codec encodes and decodes every event that the program can store. It is safe for concurrent use.
type Codec struct {
	byName map[string]Registration
	byType map[reflect.Type]Registration
}

// New returns a codec. It panics on a wrong registration: a duplicate name or type, a type that is
// not a struct, or a name that differs from EventType. Registrations are constants of the program.
func New(registrations ...Registration) *Codec {
	c := &Codec{byName: map[string]Registration{}, byType: map[reflect.Type]Registration{}}
	for _, r := range registrations {
		if r.goType.Kind() != reflect.Struct {
			panic(fmt.Sprintf("codec: %s is registered as %s, which is not a struct", r.name, r.goType))
		}
		if own := reflect.Zero(r.goType).Interface().(eventstore.Event).EventType(); own != r.name {
			panic(fmt.Sprintf("codec: EventType of %s returns %q, but it is registered as %q", r.goType, own, r.name))
		}
		if r.name == "" || strings.Contains(r.name, "@") {
			panic(fmt.Sprintf("codec: %q cannot be a stored name", r.name))
		}
		if _, taken := c.byName[r.name]; taken {
			panic(fmt.Sprintf("codec: %q is registered twice", r.name))
		}
		if _, taken := c.byType[r.goType]; taken {
			panic(fmt.Sprintf("codec: %s is registered twice", r.goType))
		}
		c.byName[r.name], c.byType[r.goType] = r, r
	}
	return c
}

// UnknownTypeError says that a stored name or a type is not registered, or that a newer program
// wrote the payload. It is an eventstore.ErrUnknownEvent.
type UnknownTypeError struct{ Type string }

// Unwrap returns eventstore.ErrUnknownEvent.
func (e *UnknownTypeError) Unwrap() error { return eventstore.ErrUnknownEvent }

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("this program does not know the event type %q; a newer version may have written it", e.Type)
}

// Names returns the stored name of every event that this program writes, sorted.
func (c *Codec) Names() []string {
	names := make([]string, 0, len(c.byName))
	for _, r := range c.byName {
		if written := r.written(); written > 0 {
			names = append(names, r.storedName(written))
		}
	}
	slices.Sort(names)
	return names
}

// Readable returns every stored name that this program can read, in all versions, sorted.
func (c *Codec) Readable() []string {
	var names []string
	for _, entry := range c.Registry() {
		names = append(names, entry.Stored...)
	}
	slices.Sort(names)
	return names
}

// Type returns the type that is registered under a stored name of any version, or nil.
func (c *Codec) Type(stored string) reflect.Type {
	name, _, _ := strings.Cut(stored, "@")
	return c.byName[name].goType
}

// Marshal returns the stored name and payload of an event. Errors:
// *UnknownTypeError, or the event cannot be written as JSON.
func (c *Codec) Marshal(event eventstore.Event) (stored string, data []byte, err error) {
	if event == nil {
		return "", nil, &UnknownTypeError{Type: "nil"}
	}
	r, ok := c.byType[reflect.TypeOf(event)]
	if !ok {
		return "", nil, &UnknownTypeError{Type: fmt.Sprintf("%s (%T)", event.EventType(), event)}
	}
	if r.written() == 0 {
		return "", nil, fmt.Errorf("encode %s: this release reads it and does not write it yet", r.name)
	}
	data, err = json.Marshal(event)
	if err != nil {
		return "", nil, fmt.Errorf("encode %s: %w", r.name, err)
	}
	return r.storedName(r.written()), data, nil
}

// Unmarshal returns the event of a stored name and payload in its newest shape. Errors:
// *UnknownTypeError, or the payload does not match its type.
func (c *Codec) Unmarshal(stored string, data []byte) (eventstore.Event, error) {
	name, version, err := splitStoredName(stored)
	if err != nil {
		return nil, err
	}
	r, ok := c.byName[name]
	if !ok || version > len(r.upcasters)+1 {
		return nil, &UnknownTypeError{Type: stored}
	}
	for v := version; v <= len(r.upcasters); v++ {
		if data, err = r.upcasters[v-1](data); err != nil {
			return nil, fmt.Errorf("convert %s from version %d: %w", name, v, err)
		}
	}
	event, err := r.decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", stored, err)
	}
	return event, nil
}

// newest is the newest version, from 1.
func (r Registration) newest() int { return len(r.upcasters) + 1 }

// written is the version that this program writes, or 0.
func (r Registration) written() int {
	if r.readFirst {
		return r.newest() - 1
	}
	return r.newest()
}

func (r Registration) storedName(version int) string {
	if version == 1 {
		return r.name
	}
	return r.name + "@" + strconv.Itoa(version)
}

func splitStoredName(stored string) (name string, version int, err error) {
	name, suffix, versioned := strings.Cut(stored, "@")
	if !versioned {
		return name, 1, nil
	}
	version, err = strconv.Atoi(suffix)
	if err != nil || version < 2 || suffix[0] == '+' || suffix[0] == '0' {
		return "", 0, &UnknownTypeError{Type: stored}
	}
	return name, version, nil
}

// strictly makes decoding fail where encoding/json does not: on unknown fields, duplicate names,
// names in another case and bytes after the payload. It is also two to three times as fast.
var strictly = jsonv2.RejectUnknownMembers(true)

func decodeStrictly(data []byte, into any) error { return jsonv2.Unmarshal(data, into, strictly) }
