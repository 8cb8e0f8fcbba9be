package mcp

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// plainErrors replaces the plain text errors that the SDK writes by JSON-RPC errors.
type plainErrors struct {
	http.ResponseWriter
	// status is that of a plain error, or 0.
	status int
	text   strings.Builder
}

// WriteHeader implements http.ResponseWriter.
func (p *plainErrors) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(p.Header().Get("Content-Type"), "text/plain") {
		p.status = status
		return
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (p *plainErrors) Write(b []byte) (int, error) {
	if p.status != 0 {
		return p.text.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (p *plainErrors) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// finish writes the JSON-RPC error of a plain one. Its id is null, because no message was read.
func (p *plainErrors) finish() {
	if p.status == 0 {
		return
	}
	h := p.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	p.ResponseWriter.WriteHeader(p.status)
	// A failed write cannot be reported: the status is sent already.
	_ = json.NewEncoder(p.ResponseWriter).Encode(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": jsonrpc.CodeInvalidRequest, "message": strings.TrimSpace(p.text.String())},
	})
}
