package edge

import (
	"bytes"
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

// methods are those that the contract uses.
var methods = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// anyScope is what the contract says of an operation that needs a credential and no
// particular scope.
const anyScope = "any"

// operation is what the edge needs to know of one operation of the contract.
type operation struct {
	id string
	// path is the pattern of its path.
	path string
	// public is true when no credential is looked at.
	public bool
	// optional is true when the operation works with and without a credential.
	optional bool
	// product is true on the product plane, where client tokens are accepted.
	product bool
	// scope that the credential must have, or empty for any.
	scope string
	// rate is the window that a request counts in.
	rate class
	// secretPath is true when the path holds a secret, which no log may see.
	secretPath bool
	// secretResponse is true when the response shows a secret, once: it is kept sealed.
	secretResponse bool
	// idempotent is true when the operation takes an Idempotency-Key.
	idempotent bool
	// waits is true when the caller may choose to wait.
	waits bool
	// streams is true when the response has no end in time.
	streams bool
	// conditional is true when the response has an ETag and may be 304.
	conditional bool
	// parameters are those of the query and of the headers.
	parameters []parameter
	// body is the schema of the body, or nil when there is none.
	body *jsonschema.Schema
	// bodyRoom is how much of a body the schema can accept.
	bodyRoom *room
	// bodyOptional is true when a body may be left out.
	bodyOptional bool
	// form is true when the body is the form of a page, whose fields are texts.
	form bool
}

// Contract is the contract file as the edge uses it.
type Contract struct {
	document   map[string]any
	operations map[string]*operation
	// secretPaths are the patterns of paths that hold a secret, which no log may see.
	secretPaths []string
	// routes knows only the patterns; it serves nothing.
	routes *chi.Mux
}

// LoadContract reads an OpenAPI file in YAML. It fails on a file that the edge could not
// enforce, so that no operation is ever served unguarded.
func LoadContract(file []byte) (*Contract, error) {
	document, err := contractDocument(file)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("contract.json", document); err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	c := &Contract{document: document, operations: map[string]*operation{}, routes: chi.NewMux()}
	paths, _ := document["paths"].(map[string]any)
	for path, item := range paths {
		for _, method := range methods {
			described, ok := item.(map[string]any)[strings.ToLower(method)].(map[string]any)
			if !ok {
				continue
			}
			op, err := readOperation(compiler, document, path, method, described)
			if err != nil {
				return nil, err
			}
			c.operations[method+" "+path] = op
			if op.secretPath {
				c.secretPaths = append(c.secretPaths, path)
			}
			c.routes.Method(method, path, http.NotFoundHandler())
		}
	}
	return c, nil
}

// contractDocument is the file as a JSON document.
func contractDocument(file []byte) (map[string]any, error) {
	var tree any
	if err := yaml.Unmarshal(file, &tree); err != nil {
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

func readOperation(compiler *jsonschema.Compiler, document map[string]any, path, method string, described map[string]any) (*operation, error) {
	op := &operation{path: path}
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
	if op.id == "" || (!op.public && !op.optional && op.scope == "") {
		return nil, fmt.Errorf("httpapi: contract: %s %s lacks an operationId or a scope", method, path)
	}
	if op.scope == anyScope {
		op.scope = ""
	}
	op.secretPath, _ = described["x-secret-path"].(bool)
	op.secretResponse, _ = described["x-secret-response"].(bool)
	named, _ := described["x-rate"].(string)
	var err error
	if op.rate, err = classOf(method, named); err != nil {
		return nil, fmt.Errorf("httpapi: contract: %s: %w", op.id, err)
	}
	responses, _ := described["responses"].(map[string]any)
	_, op.conditional = responses["304"]
	at := "contract.json#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + strings.ToLower(method)
	if err := op.readParameters(compiler, document, at, described); err != nil {
		return nil, fmt.Errorf("httpapi: contract: parameters of %s: %w", op.id, err)
	}
	if err := op.readBody(compiler, at, described); err != nil {
		return nil, fmt.Errorf("httpapi: contract: body of %s: %w", op.id, err)
	}
	return op, nil
}

// readBody reads what the contract says of the request body.
func (op *operation) readBody(compiler *jsonschema.Compiler, at string, described map[string]any) (err error) {
	body, given := described["requestBody"].(map[string]any)
	if !given {
		return nil
	}
	required, _ := body["required"].(bool)
	op.bodyOptional = !required
	content, _ := body["content"].(map[string]any)
	media := "application~1json"
	if _, isJSON := content["application/json"]; !isJSON {
		op.form, media = true, "application~1x-www-form-urlencoded"
	}
	if op.body, err = compiler.Compile(at + "/requestBody/content/" + media + "/schema"); err != nil {
		return err
	}
	op.bodyRoom, err = roomOf(op.body)
	return err
}

// find returns the operation of a request, or the methods that its path allows: none
// for an unknown path.
func (c *Contract) find(method, path string) (*operation, []string) {
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

// match returns the operation of a request. A path that the contract spells out, such as
// /v1/analyses/batch, is nobody's id: its other methods are not those of /v1/analyses/{id}.
func (c *Contract) match(method, path string) *operation {
	op := c.operations[method+" "+c.routes.Find(chi.NewRouteContext(), method, path)]
	if spelled := c.operations[method+" "+path]; spelled == nil && op != nil && c.spelledOut(path) {
		return nil
	}
	return op
}

func (c *Contract) spelledOut(path string) bool {
	paths, _ := c.document["paths"].(map[string]any)
	_, ok := paths[path]
	return ok
}

// Version is that of the contract.
func (c *Contract) Version() string {
	info, _ := c.document["info"].(map[string]any)
	version, _ := info["version"].(string)
	return version
}

// Published is the contract as this service serves it: with its own address.
func (c *Contract) Published(publicURL string) ([]byte, error) {
	document := maps.Clone(c.document)
	document["servers"] = []any{map[string]any{"url": publicURL, "description": "This service."}}
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	return raw, nil
}

// loggedPath is a path without the secret that it may hold, whether or not an
// operation took the request.
func (c *Contract) loggedPath(path string) string {
	for _, pattern := range c.secretPaths {
		prefix, _, _ := strings.Cut(pattern, "{")
		if before, secret, found := strings.Cut(path, prefix); found && secret != "" {
			return before + pattern
		}
	}
	return path
}
