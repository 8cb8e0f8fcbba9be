package query

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (2020-12) of the compiled query, as served at
// /v1/schemas/compiled-query.json. The caller owns the returned bytes.
func Schema() []byte { return slices.Clone(schema) }
