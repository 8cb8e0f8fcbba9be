package fold

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"vqa/eventstore/codec"
)

// ErrOtherShape says that another release made a snapshot, from a state of another shape. It may lack
// fields that this program needs. The stream must be folded from its first event.
var ErrOtherShape = errors.New("the snapshot has the shape of another release")

// Snapshot implements Aggregate. The first member names the shape. It is not a member of the state, so
// a program that does not know it ignores it.
func (c Of[S, E]) Snapshot(state any) ([]byte, error) {
	encoded, err := codec.MarshalState(state)
	if err != nil {
		return nil, fmt.Errorf("encode the snapshot of a %s: %w", c.name, err)
	}
	if len(encoded) < 2 || encoded[0] != '{' {
		return nil, fmt.Errorf("encode the snapshot of a %s: the state is not an object", c.name)
	}
	out := append(make([]byte, 0, len(c.mark)+len(encoded)), c.mark...)
	if encoded[1] != '}' {
		out = append(out, ',')
	}
	return append(out, encoded[1:]...), nil
}

// SameShape implements Aggregate.
func (c Of[S, E]) SameShape(snapshot []byte) bool { return bytes.HasPrefix(snapshot, []byte(c.mark)) }

// shapeBytes is the length of the hash that identifies a shape.
const shapeBytes = 8

// mark returns the beginning of the snapshots of a type of state.
func mark(state reflect.Type, revision int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d ", revision)
	describe(&text, state, map[reflect.Type]bool{})
	sum := sha256.Sum256([]byte(text.String()))
	return `{"snapshot_of":"` + hex.EncodeToString(sum[:shapeBytes]) + `"`
}

// describe writes the fields that the JSON of a type may have. A type is described once. A type with its
// own encoding has only its name here.
func describe(to *strings.Builder, t reflect.Type, met map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		fmt.Fprintf(to, "%s ", t.Kind())
		describe(to, t.Elem(), met)
	case reflect.Struct:
		fmt.Fprintf(to, "%s{", t)
		if !met[t] {
			met[t] = true
			for i := range t.NumField() {
				if f := t.Field(i); f.IsExported() {
					fmt.Fprintf(to, "%s %s:", f.Name, f.Tag.Get("json"))
					describe(to, f.Type, met)
				}
			}
		}
		to.WriteString("}")
	default:
		fmt.Fprintf(to, "%s;", t)
	}
}
