package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var contractFile []byte

// methods are those that the contract uses.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodDelete}

// anyScope is what the contract says of an operation that needs a credential and no
// particular scope.
const anyScope = "any"

// operation is what the edge needs to know of one operation of the contract.
type operation struct {
	id string
	// public is true when no credential is looked at.
	public bool
	// optional is true when the operation works with and without a credential.
	optional bool
	// product is true on the product plane, where client tokens are accepted.
	product bool
	// scope that the credential must have, or empty for any.
	scope string
	// rate is the window that a request counts in, where it is not that of its method.
	rate string
	// secretPath is true when the path holds a secret, which no log may see.
	secretPath bool
	// idempotent is true when the operation takes an Idempotency-Key.
	idempotent bool
	// waits is true when the caller may choose to wait.
	waits bool
	// streams is true when the response has no end in time.
	streams bool
	// body is the schema of the request body, or nil when there is none.
	body *jsonschema.Schema
}

// contract is the contract file as the edge uses it.
type contract struct {
	document   map[string]any
	operations map[string]*operation
	// routes knows only the patterns; it serves nothing.
	routes *chi.Mux
}

// loadContract reads the embedded file. It fails on a file that the edge could not
// enforce, so that no operation is ever served unguarded.
func loadContract() (*contract, error) {
	document, err := contractDocument()
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("contract.json", document); err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	c := &contract{document: document, operations: map[string]*operation{}, routes: chi.NewMux()}
	paths, _ := document["paths"].(map[string]any)
	for path, item := range paths {
		for _, method := range methods {
			described, ok := item.(map[string]any)[strings.ToLower(method)].(map[string]any)
			if !ok {
				continue
			}
			op, err := readOperation(compiler, path, method, described)
			if err != nil {
				return nil, err
			}
			c.operations[method+" "+path] = op
			c.routes.Method(method, path, http.NotFoundHandler())
		}
	}
	return c, nil
}

// contractDocument is the file as a JSON document.
func contractDocument() (map[string]any, error) {
	var tree any
	if err := yaml.Unmarshal(contractFile, &tree); err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	// The schema compiler wants its own reading of numbers.
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	return document.(map[string]any), nil
}

func readOperation(compiler *jsonschema.Compiler, path, method string, described map[string]any) (*operation, error) {
	op := &operation{}
	op.id, _ = described["operationId"].(string)
	op.scope, _ = described["x-scope"].(string)
	security, overridden := described["security"].([]any)
	op.public = overridden && len(security) == 0
	for _, s := range security {
		way, _ := s.(map[string]any)
		_, token := way["clientToken"]
		op.product = op.product || token
		op.optional = op.optional || len(way) == 0
	}
	op.rate, _ = described["x-rate"].(string)
	op.secretPath, _ = described["x-secret-path"].(bool)
	if op.id == "" || (!op.public && !op.optional && op.scope == "") {
		return nil, fmt.Errorf("httpapi: contract: %s %s lacks an operationId or a scope", method, path)
	}
	if op.scope == anyScope {
		op.scope = ""
	}
	parameters, _ := described["parameters"].([]any)
	for _, p := range parameters {
		parameter, _ := p.(map[string]any)
		op.idempotent = op.idempotent || parameter["$ref"] == "#/components/parameters/IdempotencyKey"
		op.waits = op.waits || parameter["name"] == "Prefer"
		op.streams = op.streams || parameter["name"] == "Last-Event-ID"
	}
	if _, ok := described["requestBody"]; ok {
		content, _ := described["requestBody"].(map[string]any)["content"].(map[string]any)
		if _, isJSON := content["application/json"]; !isJSON {
			return op, nil // a form, which its operation reads
		}
		schema, err := compiler.Compile("contract.json#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + strings.ToLower(method) +
			"/requestBody/content/application~1json/schema")
		if err != nil {
			return nil, fmt.Errorf("httpapi: contract: body of %s: %w", op.id, err)
		}
		op.body = schema
	}
	return op, nil
}

// find returns the operation of a request, or the methods that its path allows: none
// for an unknown path.
func (c *contract) find(method, path string) (*operation, []string) {
	if op := c.match(method, path); op != nil {
		return op, nil
	}
	var allowed []string
	for _, m := range methods {
		if c.match(m, path) != nil {
			allowed = append(allowed, m)
		}
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	return nil, allowed
}

func (c *contract) match(method, path string) *operation {
	return c.operations[method+" "+c.routes.Find(chi.NewRouteContext(), method, path)]
}

// published is the contract as this service serves it: with its own address.
func (c *contract) published(publicURL string) ([]byte, error) {
	document := maps.Clone(c.document)
	document["servers"] = []any{map[string]any{"url": publicURL, "description": "This service."}}
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	return raw, nil
}
