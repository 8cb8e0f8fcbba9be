package edge

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"vqa/domain/fault"
	"vqa/handlers/command"
)

// ToolsPath is the path of the agent tool endpoint (docs/contract.md#agent-tools).
const ToolsPath = "/mcp"

// slashed is ToolsPath as some people type it. A client compares the address that it was given with that in the metadata
// (RFC 9728, section 3.3), so each form has metadata of its own.
const slashed = ToolsPath + "/"

// RPCRefused is the JSON-RPC error code of a message that was refused with a code of the registry. It is
// in the range that JSON-RPC leaves to servers, and the Model Context Protocol does not use it.
const RPCRefused = -32010

// toolsOperation stands for the endpoint in the log, in metrics and in authenticate. A message may wait
// for an analysis, so its duration says nothing about the service.
var toolsOperation = &operation{id: "mcp", path: ToolsPath, rate: exempt, streams: true}

// pass is a credential that passed SignIn. Requests that a tool makes for it are not authenticated again.
type pass struct {
	credential string
	caller     command.Caller
}

type passKey struct{}

// serveTools passes a request to the agent tool endpoint. The endpoint calls SignIn, and then this edge
// for each operation that a tool carries out.
func (e *Edge) serveTools(x *Exchange, r *http.Request) {
	x.operation, x.Request = toolsOperation, r
	// The messages of the body are counted, not the request: one body may have many messages.
	_ = e.admit(x, r, exempt, nil)
	e.tools.ServeHTTP(x.response, r)
}

// SignIn authenticates a request to the agent tool endpoint. The context of the returned request carries
// the caller. A refused request counts as a read of its address, because it may be guessing keys. Errors:
// those of authenticate, rate_limit_exceeded.
func (e *Edge) SignIn(r *http.Request) (*http.Request, error) {
	x := ExchangeOf(r.Context())
	if err := e.authenticate(x, r); err != nil {
		if limited := e.admit(x, r, reads, nil); limited != nil {
			return nil, limited
		}
		return nil, err
	}
	p := &pass{credential: x.credential, caller: x.Caller}
	return r.WithContext(context.WithValue(r.Context(), passKey{}, p)), nil
}

// CountMessage counts a message that is not a call of an operation, as a read of the caller. Error:
// rate_limit_exceeded.
func (e *Edge) CountMessage(ctx context.Context) error {
	p, ok := ctx.Value(passKey{}).(*pass)
	if !ok {
		return fault.New(fault.InvalidAPIKey, "")
	}
	subject, now := spender(p.caller), e.Service.Now()
	limit := e.limiter.limits[reads]
	count, granted := e.limiter.take(ctx, reads, subject, now)
	if granted {
		return nil
	}
	return tooMany(limit, count, now)
}

// granted returns the caller of a request that a tool makes, if it has the credential that passed SignIn.
func (x *Exchange) granted(ctx context.Context, credential string) (command.Caller, bool) {
	p, ok := ctx.Value(passKey{}).(*pass)
	if !ok || p.credential != credential {
		return command.Caller{}, false
	}
	caller := p.caller
	caller.RequestID = x.RequestID
	return caller, true
}

// rpcError is the body of an error of the agent tool endpoint.
type rpcError struct {
	Version string  `json:"jsonrpc"`
	ID      *string `json:"id"`
	Error   struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

// writeRPCError writes a fault as a JSON-RPC error. Its id is null, because no message was read.
func writeRPCError(w http.ResponseWriter, status int, f *fault.Fault, requestID string) {
	body := rpcError{Version: "2.0"}
	body.Error.Code, body.Error.Message = RPCRefused, f.Message
	body.Error.Data = map[string]any{"code": f.Code, "status": status, "request_id": requestID}
	h := w.Header()
	if f.RetryAfterS > 0 || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(max(f.RetryAfterS, 1)))
		body.Error.Data["retry_after_s"] = max(f.RetryAfterS, 1)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A failed write cannot be reported: the status is sent already.
	_ = json.NewEncoder(w).Encode(body)
}
