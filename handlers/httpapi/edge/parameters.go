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

// maxWait is the longest time that a caller may wait (docs/contract.md#prefer-wait).
const maxWait = 120 * time.Second

// parameter is a query parameter or a header of the contract.
type parameter struct {
	name     string
	inHeader bool
	required bool
	// kind is the JSON type, and format the format of a string.
	kind, format string
	// cursor is the prefix of the ids that a cursor accepts. It is empty for other
	// parameters.
	cursor id.Prefix
	schema *jsonschema.Schema
}

// readParameters reads the query parameters and headers of an operation. The presence of
// some headers also sets properties of the operation. Path parameters are ids: a malformed
// id reads as unknown, so they need no check here.
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
				return errors.New("a list has no x-cursor")
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

// resolve returns the target of a node that is a reference, and other nodes unchanged.
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

// checkParameters adds the violations of the query and the headers to v. It ignores
// parameters that are not in the contract, and writes times in upper case.
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
			if upper := upperTime(values[0]); p.format == "date-time" && upper != values[0] {
				query.Set(p.name, upper)
				r.URL.RawQuery = query.Encode()
			}
		case len(values) > 1:
			v.add(p.name, fault.Exclusive, "must be given only once")
		case p.required:
			v.add(p.name, fault.Required, "is required")
		}
	}
	if query.Has("starting_after") && query.Has("ending_before") && op.has("starting_after") && !v.has("ending_before") {
		v.add("ending_before", fault.Exclusive, "cannot be given together with starting_after")
	}
}

// has reports whether the operation has a parameter.
func (op *operation) has(name string) bool {
	return slices.ContainsFunc(op.parameters, func(p parameter) bool { return p.name == name })
}

// check adds the violations of one value.
func (p parameter) check(text string, v *verdict) {
	if p.name == "Prefer" {
		return // a preference cannot be wrong
	}
	value, ok := p.parse(text, v)
	if !ok {
		return
	}
	if p.cursor != "" {
		// This replaces the pattern of the contract by a readable message.
		if !id.Valid(p.cursor, text) {
			v.add(p.name, fault.Format, fmt.Sprintf("must be an id that starts with %s_", p.cursor))
		}
		return
	}
	var invalid *jsonschema.ValidationError
	if errors.As(p.schema.Validate(value), &invalid) {
		schema := &verdict{}
		schema.addAll(invalid)
		reasons := schema.violations
		for i, r := range reasons { // a value without a name is the body elsewhere
			reasons[i].Message = strings.TrimSuffix(strings.TrimPrefix(r.Message, "The body "), ".")
		}
		// One violation is enough. A wrong length is the easiest to understand.
		best := max(0, slices.IndexFunc(reasons, func(o fault.Violation) bool { return o.Code == fault.Length }))
		v.add(p.name, reasons[best].Code, reasons[best].Message)
	}
}

// parse converts a value to the type of the contract and reports whether it succeeded.
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
		if validTime(text) != nil {
			v.add(p.name, fault.Format, timeForm)
			return nil, false
		}
	case p.name == "video_id":
		// A malformed id reads as unknown, like in a path.
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		v.add(p.name, fault.Format, "must be printable text")
		return nil, false
	}
	return text, true
}

// timeForm describes the form of a time.
const timeForm = "must be an RFC 3339 time, such as 2026-01-02T03:04:05Z"

// validTime returns nil for text that the generated server reads as a time. Other values than text are left to
// the type of their schema.
func validTime(value any) error {
	text, isText := value.(string)
	if !isText {
		return nil
	}
	_, err := time.Parse(time.RFC3339, upperTime(text))
	return err
}

// upperTime returns a time in the form that the generated server reads: RFC 3339 also allows t and z in lower case.
func upperTime(text string) string { return strings.ToUpper(text) }

// parameterFault returns the fault for a parameter that the generated server cannot bind.
// Only path parameters get this far: a malformed id reads as unknown.
func parameterFault(err error) error {
	var malformed *api.InvalidParamFormatError
	if errors.As(err, &malformed) {
		return fault.Newf(fault.ResourceNotFound, "There is no such resource, because %s in the path is malformed. The reference at /docs has its form.", malformed.ParamName).
			WithParam(malformed.ParamName)
	}
	return fault.Invalid(fault.Violation{Code: fault.Format, Message: "A parameter is malformed."}).WithCause(err)
}

// joinPreferHeaders joins several Prefer headers into one, which is equivalent (RFC 7240,
// section 2).
func joinPreferHeaders(h http.Header) {
	if values := h.Values("Prefer"); len(values) > 1 {
		h.Set("Prefer", strings.Join(values, ", "))
	}
}

// PreferredWait reads `wait=<seconds>` from a Prefer header, at most 120. It returns 0 if the header has no
// wait, or one that is malformed or not positive: RFC 7240 lets a server ignore each preference.
func PreferredWait(header *string) time.Duration {
	if header == nil {
		return 0
	}
	for preference := range strings.SplitSeq(*header, ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		seconds := strings.Trim(strings.TrimSpace(value), `"`)
		if seconds == "" || strings.Trim(seconds, "0123456789") != "" {
			return 0
		}
		n, err := strconv.Atoi(seconds)
		if err != nil || n > int(maxWait/time.Second) { // only digits: an error means that it is too large
			return maxWait
		}
		return time.Duration(n) * time.Second
	}
	return 0
}
