package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema describes the answer to a request. It is safe for concurrent use.
type Schema struct {
	name     string
	text     json.RawMessage
	compiled *jsonschema.Schema
}

// schemaURL is the name of a schema while it is compiled. Nothing is fetched from there.
const schemaURL = "https://schema.invalid/answer.json"

// NewSchema compiles a JSON Schema (2020-12). The name consists of letters, digits and
// underscores.
func NewSchema(name string, text []byte) (*Schema, error) {
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("chat: schema %s: %w", name, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaURL, tree); err != nil {
		return nil, fmt.Errorf("chat: schema %s: %w", name, err)
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("chat: schema %s: %w", name, err)
	}
	return &Schema{name: name, text: json.RawMessage(text), compiled: compiled}, nil
}

// check returns an error unless the answer is one JSON value that matches the schema. The error
// does not quote the answer, because a model may write any text of any length.
func (s *Schema) check(answer json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return errors.New("the answer is not JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the answer has data after the JSON value")
	}
	err := s.compiled.Validate(tree)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		for len(invalid.Causes) > 0 {
			invalid = invalid.Causes[0]
		}
		return fmt.Errorf("the answer does not match the schema %s at /%s", s.name, strings.Join(invalid.InstanceLocation, "/"))
	}
	return err
}
