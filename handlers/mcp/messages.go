package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"vqa/domain/fault"
)

const (
	// maxMessages is the most messages of one body. Revisions before 2025-06-18 allow more than one.
	maxMessages = 20
	// exactInteger is 2^53. The SDK reads ids as float64, which has every integer up to it.
	exactInteger = 1 << 53
	// newestRevision is the first revision in which the SDK answers unknown methods itself.
	newestRevision = "2026-07-28"
)

// methods are the methods of the revisions before newestRevision, which do not change any more, and server/discover,
// by which a client finds the newest revision.
var methods = []string{
	"initialize", "ping", "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list",
	"resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete", "logging/setLevel",
}

// notifications are the notifications of these revisions that a client sends.
var notifications = []string{
	"notifications/cancelled", "notifications/initialized", "notifications/progress", "notifications/roots/list_changed",
}

// received says what the body of a request has.
type received struct {
	// messages and calls count. Calls expect a response. Both are 0 for a body that is too large, which the SDK refuses.
	messages, calls int
	// malformed is true for a body that is not JSON.
	malformed bool
	// ignored is true for a body that has nothing but notifications that nobody knows.
	ignored bool
	// id is the id of the only message. It is empty if there is none, or if there are several messages.
	id json.RawMessage
	// ids are the ids that the SDK cannot hold, by the text that it gets instead.
	ids map[string]json.RawMessage
}

// readMessages reads the body of a request before the SDK does, and counts its messages. It changes messages that the SDK
// refuses together with the whole body, or answers wrongly. Error: validation_failed.
func readMessages(r *http.Request) (received, error) {
	if r.Method != http.MethodPost {
		return received{}, nil // the SDK refuses it with 405, which tells clients that there are no sessions
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return received{}, fault.Invalid(fault.Violation{Code: fault.Format, Message: "The request body could not be read completely."}).WithCause(err)
	}
	if len(raw) > maxBody {
		r.Body = rereading{io.MultiReader(bytes.NewReader(raw), r.Body), r.Body}
		return received{}, nil
	}
	if !json.Valid(raw) {
		return received{malformed: true}, nil
	}
	var all []json.RawMessage
	batch := json.Unmarshal(raw, &all) == nil
	if !batch {
		all = []json.RawMessage{raw}
	}
	got := received{messages: len(all)}
	if got.messages > maxMessages {
		return got, nil
	}
	changed := false
	kept := make([]json.RawMessage, 0, len(all))
	for _, one := range all {
		message, c := got.message(one, r.Header.Get("Mcp-Protocol-Version") >= newestRevision)
		changed = changed || c
		if message != nil {
			kept = append(kept, message)
		}
	}
	switch {
	case len(kept) == 0 && len(all) > 0:
		got.ignored = true
	case !changed:
	case batch:
		if raw, err = json.Marshal(kept); err != nil {
			return received{}, fmt.Errorf("encoding the messages: %w", err)
		}
	default:
		raw = kept[0]
	}
	if batch {
		got.id = nil
	}
	r.Body, r.ContentLength = rereading{bytes.NewReader(raw), r.Body}, int64(len(raw))
	return got, nil
}

// message counts a message. It returns it as the SDK gets it, or nil for a notification that nobody knows.
func (got *received) message(raw json.RawMessage, newest bool) (out json.RawMessage, changed bool) {
	var m map[string]json.RawMessage
	var method string
	if json.Unmarshal(raw, &m) != nil || json.Unmarshal(m["method"], &method) != nil {
		return raw, false // a response, or a message that the SDK refuses
	}
	id := m["id"]
	call := len(id) > 0 && strings.ContainsRune(`"-0123456789`, rune(id[0])) // the SDK refuses an id of another type
	if call {
		got.calls++
		got.id = id
		if held := got.hold(id); held != nil {
			m["id"], changed = held, true
		}
	}
	if params := m["params"]; len(params) == 0 || string(params) == "null" {
		m["params"], changed = json.RawMessage(`{}`), true
	}
	switch {
	case call && !newest && !slices.Contains(methods, method):
		m["method"], m["params"], changed = json.RawMessage(`"`+unknown+`"`), json.RawMessage(`{"name":`+string(m["method"])+`}`), true
	case !call && strings.HasPrefix(method, "notifications/") && !slices.Contains(notifications, method):
		return nil, true
	}
	if !changed {
		return raw, false
	}
	out, err := json.Marshal(m)
	if err != nil { // it was decoded from JSON
		return raw, false
	}
	return out, true
}

// hold returns the text that stands for an id that the SDK would change, such as 1.5, or nil for other ids.
func (got *received) hold(id json.RawMessage) json.RawMessage {
	if id[0] == '"' {
		return nil
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err == nil && max(n, -n) <= exactInteger && strconv.FormatInt(n, 10) == string(id) {
		return nil
	}
	text := json.RawMessage(`"` + rand.Text() + `"`) // nobody can guess it, so it is nowhere else in a response
	if got.ids == nil {
		got.ids = map[string]json.RawMessage{}
	}
	got.ids[string(text)] = id
	return text
}

// unknown is a method of the SDK's server that stands for all unknown ones. Without it, the SDK refuses the whole body,
// with no id and another code.
const unknown = "unknown"

// unknownParams name the method that a client called.
type unknownParams struct {
	sdk.ParamsBase
	Name string `json:"name"`
}

// addUnknown adds the unknown method to a server.
func addUnknown(server *sdk.Server) error {
	return sdk.AddReceivingCustomMethod(server, unknown, func(_ context.Context, _ *sdk.ServerSession, p *unknownParams) (*sdk.ResultBase, error) {
		return nil, unknownMethod{p.Name}
	})
}

// unknownMethod is the error of an unknown method. It is not a jsonrpc.Error, because the SDK would replace the message.
type unknownMethod struct{ name string }

// Error implements error.
func (e unknownMethod) Error() string { return fmt.Sprintf("There is no method %.100q.", e.name) }

// As gives the SDK the code.
func (e unknownMethod) As(target any) bool {
	to, ok := target.(**jsonrpc.Error)
	if ok {
		*to = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}
	}
	return ok
}

// rereading is a body that was read before.
type rereading struct {
	io.Reader
	io.Closer
}

// acceptsStreams reports whether a client asks for event streams. Others get JSON, whatever they accept: nothing here
// needs a stream.
func acceptsStreams(h http.Header) bool {
	for kind := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		kind, _, _ = strings.Cut(kind, ";")
		if kind = strings.ToLower(strings.TrimSpace(kind)); kind == "text/event-stream" || kind == "text/*" {
			return true
		}
	}
	return false
}

// responding is a response of the SDK. It replaces plain text errors by JSON-RPC errors, and restores ids.
type responding struct {
	http.ResponseWriter
	received
	// status is that of a plain error, or 0.
	status int
	text   strings.Builder
}

// WriteHeader implements http.ResponseWriter.
func (w *responding) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. The SDK writes each message at once.
func (w *responding) Write(b []byte) (int, error) {
	if w.status != 0 {
		return w.text.Write(b)
	}
	restored := b
	for text, id := range w.ids {
		restored = bytes.ReplaceAll(restored, []byte(text), id)
	}
	if _, err := w.ResponseWriter.Write(restored); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *responding) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// finish writes the JSON-RPC error of a plain one.
func (w *responding) finish() {
	if w.status == 0 {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	w.ResponseWriter.WriteHeader(w.status)
	code := jsonrpc.CodeInvalidRequest
	if w.malformed {
		code = jsonrpc.CodeParseError
	}
	// A failed write cannot be reported: the status is sent already.
	_ = json.NewEncoder(w.ResponseWriter).Encode(map[string]any{
		"jsonrpc": "2.0", "id": w.id, "error": map[string]any{"code": code, "message": strings.TrimSpace(w.text.String())},
	})
}
