package edge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/httpapi/api"
)

// maxWait is the longest that a caller may wait (api-v1.md, "Limits").
const maxWait = 120 * time.Second

// parameter is one of the query or of the headers, as the contract describes it.
type parameter struct {
	name     string
	inHeader bool
	required bool
	// kind is the JSON type, format the format of a string.
	kind, format string
	// cursor is the kind of id that a cursor must be; empty for other parameters.
	cursor id.Prefix
	schema *jsonschema.Schema
}

// readParameters reads the parameters of an operation, and what the edge takes from their
// being there. Those of the path are ids, which read as unknown when they are malformed.
func (op *operation) readParameters(compiler *jsonschema.Compiler, document map[string]any, at string, described map[string]any) error {
	list, _ := described["parameters"].([]any)
	cursor, _ := described["x-cursor"].(string)
	for i, node := range list {
		place := at + "/parameters/" + strconv.Itoa(i)
		tree, _ := node.(map[string]any)
		if ref, isRef := tree["$ref"].(string); isRef {
			place, tree = "contract.json"+ref, resolve(document, tree)
		}
		p := parameter{inHeader: tree["in"] == "header"}
		if !p.inHeader && tree["in"] != "query" {
			continue
		}
		p.name, _ = tree["name"].(string)
		p.required, _ = tree["required"].(bool)
		described, _ := tree["schema"].(map[string]any)
		described = resolve(document, described)
		p.kind, _ = described["type"].(string)
		p.format, _ = described["format"].(string)
		if p.name == "starting_after" || p.name == "ending_before" {
			if p.cursor = id.Prefix(cursor); cursor == "" {
				return errors.New("a list lacks x-cursor")
			}
		}
		var err error
		if p.schema, err = compiler.Compile(place + "/schema"); err != nil {
			return err
		}
		op.idempotent = op.idempotent || p.name == idempotencyHeader
		op.waits = op.waits || p.name == "Prefer"
		op.streams = op.streams || p.name == "Last-Event-ID"
		op.parameters = append(op.parameters, p)
	}
	return nil
}

// resolve follows the reference of a node, if it is one.
func resolve(document, node map[string]any) map[string]any {
	ref, isRef := node["$ref"].(string)
	if !isRef {
		return node
	}
	target := document
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		target, _ = target[name].(map[string]any)
	}
	return target
}

// checkParameters adds to v everything that is wrong with the parameters of a request.
// Parameters that the contract does not know are ignored.
func (op *operation) checkParameters(r *http.Request, v *verdict) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	for _, p := range op.parameters {
		values := query[p.name]
		if p.inHeader {
			values = r.Header.Values(p.name)
		} else if err != nil && !v.has("") {
			v.add("", fault.Format, "The query string is malformed.")
		}
		switch {
		case len(values) == 1:
			p.check(values[0], v)
		case len(values) > 1:
			v.add(p.name, fault.Exclusive, "must be given once")
		case p.required:
			v.add(p.name, fault.Required, "is required")
		}
	}
	if query.Has("starting_after") && query.Has("ending_before") && op.has("starting_after") && !v.has("ending_before") {
		v.add("ending_before", fault.Exclusive, "cannot be given together with starting_after")
	}
}

// has reports whether the operation takes a parameter.
func (op *operation) has(name string) bool {
	return slices.ContainsFunc(op.parameters, func(p parameter) bool { return p.name == name })
}

// check adds what is wrong with one value.
func (p parameter) check(text string, v *verdict) {
	if p.name == "Prefer" {
		_, err := PreferredWait(&text)
		if f := fault.Of(err); f != nil {
			v.violations = append(v.violations, f.Violations...)
		}
		return
	}
	value, ok := p.parse(text, v)
	if !ok {
		return
	}
	if p.cursor != "" {
		// The contract has a pattern for it; this says the same to a person.
		if !id.Valid(p.cursor, text) {
			v.add(p.name, fault.Format, fmt.Sprintf("must be an id that begins with %s_", p.cursor))
		}
		return
	}
	var invalid *jsonschema.ValidationError
	if errors.As(p.schema.Validate(value), &invalid) {
		schema := &verdict{}
		schema.addAll(invalid)
		reasons := schema.violations
		// One is enough, and a length is the plainest.
		plain := max(0, slices.IndexFunc(reasons, func(o fault.Violation) bool { return o.Code == fault.Length }))
		v.add(p.name, reasons[plain].Code, reasons[plain].Message)
	}
}

// parse reads a value as the contract's type, and reports whether it could.
func (p parameter) parse(text string, v *verdict) (any, bool) {
	switch {
	case p.kind == "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			v.add(p.name, fault.Type, "must be an integer")
		}
		return n, err == nil
	case p.kind == "boolean":
		if text != "true" && text != "false" {
			v.add(p.name, fault.Type, "must be true or false")
			return nil, false
		}
		return text == "true", true
	case p.format == "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			v.add(p.name, fault.Format, "must be an RFC 3339 time")
			return nil, false
		}
	case p.name == "video_id":
		// A malformed id reads as unknown, as it does in a path.
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		v.add(p.name, fault.Format, "must be printable text")
		return nil, false
	}
	return text, true
}

// parameterFault answers a parameter that passed checkParameters and that the generated
// server cannot bind: one of the path, where a malformed id reads as unknown.
func parameterFault(err error) error {
	var malformed *api.InvalidParamFormatError
	if errors.As(err, &malformed) {
		return fault.NotFound(malformed.ParamName, "")
	}
	return fault.Invalid(fault.Violation{Code: fault.Format, Message: "A parameter is malformed."}).WithCause(err)
}

// joinPreferences makes one header of several Prefer headers, which mean the same
// (RFC 7240, section 2).
func joinPreferences(h http.Header) {
	if values := h.Values("Prefer"); len(values) > 1 {
		h.Set("Prefer", strings.Join(values, ", "))
	}
}

// PreferredWait reads how long a caller wants to wait: `wait=<seconds>`, 1 to 120.
// Other preferences are ignored, as RFC 7240 wants; 0 is no wish to wait.
func PreferredWait(header *string) (time.Duration, error) {
	if header == nil {
		return 0, nil
	}
	for preference := range strings.SplitSeq(*header, ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		seconds, err := strconv.Atoi(strings.Trim(strings.TrimSpace(value), `"`))
		if err != nil {
			return 0, fault.Invalid(fault.Violation{Param: "Prefer", Code: fault.Format, Message: "must be wait=<seconds>"})
		}
		wait := time.Duration(seconds) * time.Second
		if seconds < 1 || seconds > int(maxWait/time.Second) {
			message := fmt.Sprintf("wait must be 1 to %d seconds", int(maxWait/time.Second))
			return 0, fault.Invalid(fault.Violation{Param: "Prefer", Code: fault.Range, Message: message})
		}
		return wait, nil
	}
	return 0, nil
}
