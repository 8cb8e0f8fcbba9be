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

// methods are the HTTP methods that an operation can have.
var methods = []string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// anyScope is the x-scope of an operation that requires a credential but no scope.
const anyScope = "any"

// operation is one operation of the contract as the edge uses it.
type operation struct {
	id string
	// path is the path pattern.
	path string
	// public is true if credentials are ignored.
	public bool
	// optional is true if the operation works with and without a credential.
	optional bool
	// product is true if client tokens are accepted.
	product bool
	// scope is the scope that the credential must have, or empty for any.
	scope string
	// rate is the class of the rate limit.
	rate class
	// secretPath is true if the path contains a secret, which must not be logged.
	secretPath bool
	// secretResponse is true if the response contains a secret. It is stored encrypted.
	secretResponse bool
	// idempotent is true if the operation accepts an Idempotency-Key.
	idempotent bool
	// creates is true if the operation creates a resource.
	creates bool
	// waits is true if the operation accepts Prefer: wait.
	waits bool
	// streams is true if the response is an event stream.
	streams bool
	// socket is true if the response is a WebSocket. Its credential may be in the query.
	socket bool
	// conditional is true if the response has an ETag and can be 304.
	conditional bool
	// parameters are the parameters in the query and the headers.
	parameters []parameter
	// body is the schema of the body, or nil if there is none.
	body *jsonschema.Schema
	// bodyBounds are the bounds of a body that the schema can accept.
	bodyBounds *bounds
	// bodyOptional is true if the body may be absent.
	bodyOptional bool
	// patches is true if a null in the body removes a value instead of being absent.
	patches bool
	// text is the media type of a body that is neither JSON nor a form, or empty.
	text string
	// form is true if the body is the form of a page.
	form bool
}

// Contract is the contract file as the edge uses it.
type Contract struct {
	document   map[string]any
	operations map[string]*operation
	// secretPaths are the patterns of paths that contain a secret, which must not be logged.
	secretPaths []string
	// routes only matches paths. It serves nothing.
	routes *chi.Mux
}

// LoadContract reads an OpenAPI file in YAML. It fails if the edge cannot enforce the file,
// so that no operation is served without its checks.
func LoadContract(file []byte) (*Contract, error) {
	document, err := contractDocument(file)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: validTime})
	compiler.AssertFormat()
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

// contractDocument returns the file as a JSON document.
func contractDocument(file []byte) (map[string]any, error) {
	var tree any
	if err := yaml.Unmarshal(file, &tree); err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	// The schema compiler needs its own representation of numbers.
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	return document.(map[string]any), nil
}

func readOperation(compiler *jsonschema.Compiler, document map[string]any, path, method string, described map[string]any) (*operation, error) {
	op := &operation{path: path, patches: method == http.MethodPatch}
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
		return nil, fmt.Errorf("httpapi: contract: %s %s has no operationId or no x-scope", method, path)
	}
	if op.scope == anyScope {
		op.scope = ""
	}
	op.secretPath, _ = described["x-secret-path"].(bool)
	op.socket, _ = described["x-socket"].(bool)
	op.secretResponse, _ = described["x-secret-response"].(bool)
	named, _ := described["x-rate"].(string)
	var err error
	if op.rate, err = classOf(method, named); err != nil {
		return nil, fmt.Errorf("httpapi: contract: %s: %w", op.id, err)
	}
	responses, _ := described["responses"].(map[string]any)
	_, op.conditional = responses["304"]
	_, created := responses["201"]
	_, accepted := responses["202"]
	op.creates = method == http.MethodPost && (created || accepted)
	at := "contract.json#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + strings.ToLower(method)
	if err := op.readParameters(compiler, document, at, described); err != nil {
		return nil, fmt.Errorf("httpapi: contract: parameters of %s: %w", op.id, err)
	}
	if err := op.readBody(compiler, at, described); err != nil {
		return nil, fmt.Errorf("httpapi: contract: body of %s: %w", op.id, err)
	}
	return op, nil
}

// readBody reads the request body of an operation.
func (op *operation) readBody(compiler *jsonschema.Compiler, at string, described map[string]any) (err error) {
	body, given := described["requestBody"].(map[string]any)
	if !given {
		return nil
	}
	required, _ := body["required"].(bool)
	op.bodyOptional = !required
	content, _ := body["content"].(map[string]any)
	for _, text := range textTypes {
		if content[text] != nil {
			op.text = text
			return nil
		}
	}
	media := "application~1json"
	if _, isJSON := content["application/json"]; !isJSON {
		op.form, media = true, "application~1x-www-form-urlencoded"
	}
	if op.body, err = compiler.Compile(at + "/requestBody/content/" + media + "/schema"); err != nil {
		return err
	}
	op.bodyBounds, err = boundsOf(op.body)
	return err
}

// find returns the operation of a request. Without one, it returns the methods that the
// path allows: none for an unknown path.
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

// match returns the operation of a request. A literal path of the contract, such as
// /v1/analyses/batch, is never an id: a method that it lacks does not fall through to
// /v1/analyses/{id}.
func (c *Contract) match(method, path string) *operation {
	op := c.operations[method+" "+c.routes.Find(chi.NewRouteContext(), method, path)]
	if literal := c.operations[method+" "+path]; literal == nil && op != nil && c.isLiteral(path) {
		return nil
	}
	return op
}

// isLiteral reports whether the contract has a path without parameters.
func (c *Contract) isLiteral(path string) bool {
	paths, _ := c.document["paths"].(map[string]any)
	_, ok := paths[path]
	return ok
}

// Version returns the version of the contract.
func (c *Contract) Version() string {
	info, _ := c.document["info"].(map[string]any)
	version, _ := info["version"].(string)
	return version
}

// Published returns the contract as JSON, with the address of this service as its server.
func (c *Contract) Published(publicURL string) ([]byte, error) {
	document := maps.Clone(c.document)
	document["servers"] = []any{map[string]any{"url": publicURL, "description": "This service."}}
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("httpapi: contract: %w", err)
	}
	return raw, nil
}

// loggedPath replaces the secret in a path by its placeholder, also for a request without
// an operation.
func (c *Contract) loggedPath(path string) string {
	for _, pattern := range c.secretPaths {
		prefix, _, _ := strings.Cut(pattern, "{")
		if before, secret, found := strings.Cut(path, prefix); found && secret != "" {
			return before + pattern
		}
	}
	return path
}
