package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/api"
)

// place says where an operation expects the value of an argument.
type place int

const (
	inPath place = iota + 1
	inQuery
	inBody
	inHeader
	// own arguments are used by the tool itself.
	own
)

// argument is an argument of a tool.
type argument struct {
	name  string
	place place
	// field is the name of the value in the operation.
	field    string
	required bool
	schema   schema
	// value is used if the argument is absent, or empty.
	value string
}

// call is one call of a tool.
type call struct {
	*endpoint
	tool    *tool
	args    map[string]json.RawMessage
	message *sdk.CallToolRequest
	in      *incoming
	// pictures are sent after the result.
	pictures []sdk.Content
}

// handler returns the function that the SDK calls for a tool.
func (s *endpoint) handler(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, message *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		in, _ := ctx.Value(incomingKey{}).(*incoming) // receive has checked it
		c := &call{endpoint: s, tool: t, message: message, in: in}
		if err := c.read(message.Params.Arguments); err != nil {
			// No request to the edge counts this call.
			if limited := s.Edge.CountMessage(ctx); limited != nil {
				err = limited
			}
			return c.failed(err), nil
		}
		result, err := t.run(ctx, c)
		if err != nil {
			return c.failed(err), nil
		}
		out, two := result.(forms)
		if !two {
			out = forms{result, result}
		}
		text, err := json.Marshal(out.short)
		if err != nil {
			return nil, fmt.Errorf("encoding the result of %s: %w", t.name, err)
		}
		structured, err := json.Marshal(out.full)
		if err != nil {
			return nil, fmt.Errorf("encoding the result of %s: %w", t.name, err)
		}
		content := append([]sdk.Content{&sdk.TextContent{Text: string(text)}}, c.pictures...)
		return &sdk.CallToolResult{Content: content, StructuredContent: json.RawMessage(structured)}, nil
	}
}

// forms are a result with resources of the contract, for programs, and with the short form that a model reads.
type forms struct{ full, short any }

// failed returns the result of a failed call. An error without a response of an operation has the request id of
// the message.
func (c *call) failed(err error) *sdk.CallToolResult {
	p := problemOf(err)
	if p.RequestID == "" {
		p.RequestID = c.in.requestID
	}
	return failed(p)
}

// read decodes the arguments. The edge checks their values. Error: validation_failed.
func (c *call) read(raw json.RawMessage) error {
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c.args); err != nil {
			return fault.Invalid(fault.Violation{Param: "arguments", Code: fault.Type, Message: "The arguments must be a JSON object."})
		}
	}
	var violations []fault.Violation
	known := make([]string, 0, len(c.tool.arguments))
	for _, a := range c.tool.arguments {
		known = append(known, a.name)
		value, given := c.args[a.name]
		if given && string(value) == "null" {
			delete(c.args, a.name)
			given = false
		}
		switch {
		case !given && a.required:
			violations = append(violations, fault.Violation{Param: a.name, Code: fault.Required, Message: "This argument is required."})
		case given && a.place != inBody:
			if err := a.check(value); err != nil {
				violations = append(violations, *err)
			}
		}
	}
	for name := range c.args {
		if c.tool.argument(name) == nil {
			violations = append(violations, fault.Violation{
				Param: name, Code: fault.UnknownField, Message: fmt.Sprintf("%s has no such argument. It has: %s.", c.tool.name, strings.Join(known, ", ")),
			})
		}
	}
	if len(violations) > 0 {
		return fault.Invalid(violations...)
	}
	return nil
}

// check checks the type of a value that becomes a part of an address or a header.
func (a argument) check(value json.RawMessage) *fault.Violation {
	bad := func(code fault.ViolationCode, message string) *fault.Violation {
		return &fault.Violation{Param: a.name, Code: code, Message: message}
	}
	switch a.schema["type"] {
	case "integer":
		var n json.Number
		if json.Unmarshal(value, &n) != nil || value[0] == '"' {
			return bad(fault.Type, "This must be an integer.")
		}
	case "boolean":
		var b bool
		if json.Unmarshal(value, &b) != nil {
			return bad(fault.Type, "This must be true or false.")
		}
	default:
		var s string
		if json.Unmarshal(value, &s) != nil {
			return bad(fault.Type, "This must be a string.")
		}
		if a.place == inPath && s == "" {
			return bad(fault.Length, "This must not be empty.")
		}
	}
	return nil
}

// text returns an argument as text, or its default.
func (c *call) text(name string) string {
	a := c.tool.argument(name)
	raw, given := c.args[name]
	if !given {
		return a.value
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// yes reports whether a boolean argument is true.
func (c *call) yes(name string) bool { return c.text(name) == "true" }

// operate carries out the operation of the tool and decodes its response into out. fixed are further
// members of the body.
func (c *call) operate(ctx context.Context, out any, fixed map[string]any) error {
	r, err := c.request(ctx, fixed)
	if err != nil {
		return err
	}
	return c.answer(r, out)
}

// get sends a GET request beside the operation of the tool.
func (c *call) get(ctx context.Context, path string, out any) error {
	r, err := c.newRequest(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return err
	}
	return c.answer(r, out)
}

// answer passes a request to the edge and decodes its response. Error: *problem.
func (c *call) answer(r *http.Request, out any) error {
	w := &memory{header: http.Header{}}
	c.Edge.ServeHTTP(w, r)
	if w.status >= http.StatusBadRequest {
		return c.problem(w)
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("decoding the response of %s: %w", c.tool.operation, err)
	}
	return nil
}

// request makes the request of the tool's operation from the arguments.
func (c *call) request(ctx context.Context, fixed map[string]any) (*http.Request, error) {
	path, query, header, body := c.tool.path, url.Values{}, http.Header{}, map[string]any{}
	for name, value := range fixed {
		body[name] = value
	}
	for _, a := range c.tool.arguments {
		raw, given := c.args[a.name]
		if !given && a.value == "" {
			continue
		}
		switch a.place {
		case inPath:
			path = strings.Replace(path, "{"+a.field+"}", url.PathEscape(c.text(a.name)), 1)
		case inQuery:
			query.Set(a.field, c.text(a.name))
		case inHeader:
			header.Set(a.field, c.text(a.name))
		case inBody:
			put(body, a.field, raw)
		case own:
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var content io.Reader = http.NoBody
	if len(body) > 0 {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encoding the body of %s: %w", c.tool.operation, err)
		}
		content = bytes.NewReader(raw)
		header.Set("Content-Type", "application/json")
	}
	r, err := c.newRequest(ctx, c.tool.method, path, content)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	return r, nil
}

// put sets a member of a body. A dot separates the names of nested objects.
func put(body map[string]any, field string, value any) {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		body[field] = value
		return
	}
	object, _ := body[outer].(map[string]any)
	if object == nil {
		object = map[string]any{}
		body[outer] = object
	}
	put(object, inner, value)
}

// forwarded are the headers that say who the client is.
var forwarded = []string{"Authorization", "X-Forwarded-For", "User-Agent"}

// newRequest makes a request of the client that sent the message.
func (c *call) newRequest(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, path, body)
	if err != nil {
		return nil, fmt.Errorf("making the request of %s: %w", c.tool.operation, err)
	}
	for _, name := range forwarded {
		if values := c.in.Header.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	r.Host, r.RemoteAddr, r.RequestURI = c.in.Host, c.in.RemoteAddr, path
	return r, nil
}

// memory is a response that is written to memory.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
	// limit is the most bytes that are kept, or 0 for the responses of operations.
	limit int
}

// errTooLarge ends a response that is larger than its limit.
var errTooLarge = errors.New("the response is too large")

// Header implements http.ResponseWriter.
func (m *memory) Header() http.Header { return m.header }

// WriteHeader implements http.ResponseWriter.
func (m *memory) WriteHeader(status int) {
	if m.status == 0 {
		m.status = status
	}
}

// Write implements http.ResponseWriter.
func (m *memory) Write(p []byte) (int, error) {
	m.WriteHeader(http.StatusOK)
	if m.limit > 0 && m.body.Len()+len(p) > m.limit {
		return 0, errTooLarge
	}
	return m.body.Write(p)
}

// problem reads the error envelope of a response. Fields have the names of the tool's arguments.
func (c *call) problem(w *memory) error {
	var body api.Error
	if err := json.Unmarshal(w.body.Bytes(), &body); err != nil || body.Error.Code == "" {
		return fmt.Errorf("%s returned status %d without an error", c.tool.operation, w.status)
	}
	e := body.Error
	p := newProblem(fault.Code(e.Code), e.Message)
	p.RequestID = e.RequestId
	p.RetryAfterS, _ = strconv.Atoi(w.header.Get("Retry-After"))
	if e.Details != nil {
		p.Details = *e.Details
	}
	if e.Errors != nil {
		for _, v := range *e.Errors {
			p.Errors = append(p.Errors, violation{Argument: c.tool.nameOf(v.Param), Code: string(v.Code), Message: v.Message})
		}
	} else if e.Param != nil {
		p.Errors = []violation{{Argument: c.tool.nameOf(*e.Param), Code: "invalid", Message: e.Message}}
	}
	return p
}
