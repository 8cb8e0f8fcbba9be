package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/handlers/command"
)

// idempotencyHeader names a request that may be sent twice (api-v1.md, "Endpoints").
const idempotencyHeader = "Idempotency-Key"

// maxIdempotencyKey is the longest key, in characters.
const maxIdempotencyKey = 255

// keepTimeout bounds the keeping of a response after the work was done, for which the
// client may no longer be waiting.
const keepTimeout = 5 * time.Second

// identify reads the Idempotency-Key of a request. Errors: validation_failed.
func identify(x *exchange, r *http.Request, body []byte) error {
	values, given := r.Header[http.CanonicalHeaderKey(idempotencyHeader)]
	if !given {
		return nil
	}
	invalid := func(code fault.ViolationCode, message string) error {
		return fault.Invalid(fault.Violation{Param: idempotencyHeader, Code: code, Message: message})
	}
	if len(values) != 1 {
		return invalid(fault.Exclusive, "must be given once")
	}
	key := values[0]
	if len(key) < 1 || len(key) > maxIdempotencyKey {
		return invalid(fault.Length, fmt.Sprintf("must have 1 to %d characters", maxIdempotencyKey))
	}
	if strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
		return invalid(fault.Format, "must be visible ASCII characters")
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%s\n", r.Method, r.URL.Path)
	h.Write(body)
	x.caller.Idempotency = &command.Idempotency{Key: key, Hash: [32]byte(h.Sum(nil))}
	return nil
}

// replay answers a request that was carried out before, and reports whether it did.
// Errors: idempotency_key_reused.
func (e *edge) replay(x *exchange, r *http.Request) (bool, error) {
	receipt, err := e.Service.Replay(r.Context(), x.caller)
	if err != nil || receipt == nil {
		return false, err
	}
	status, body := receipt.Status, receipt.Body
	if status == 0 {
		if status, body, err = e.server.recreate(r.Context(), x, *receipt); err != nil {
			return false, err
		}
	}
	h := x.response.Header()
	h.Set("Idempotency-Replayed", "true")
	h.Set("Content-Type", "application/json")
	x.response.WriteHeader(status)
	_, err = x.response.Write(body)
	if err != nil {
		e.Log.DebugContext(r.Context(), "replay not delivered", "request_id", x.requestID, "error", err.Error())
	}
	return true, nil
}

// recreate renders the response of a request whose program ended, or has not yet come,
// between its commit and its response.
func (s *server) recreate(ctx context.Context, x *exchange, receipt eventstore.Receipt) (int, []byte, error) {
	var status int
	var resource any
	switch x.operation.id {
	case "createVideo":
		v, err := s.Resources.Video(ctx, x.tenant(), receipt.ResourceID)
		if err != nil {
			return 0, nil, err
		}
		status = http.StatusCreated
		if resource, err = s.renderVideo(ctx, v); err != nil {
			return 0, nil, err
		}
	case "createAnalysis":
		a, err := s.Resources.Analysis(ctx, x.tenant(), receipt.ResourceID)
		if err != nil {
			return 0, nil, err
		}
		status, resource = http.StatusAccepted, s.renderAnalysis(a)
		if !a.Livemode {
			status = http.StatusOK
		}
	default:
		return 0, nil, fmt.Errorf("operation %s has a receipt and no way to render it again", x.operation.id)
	}
	body, err := json.Marshal(resource)
	return status, body, err
}

// keepResponse keeps what was sent for later requests with the same key. The work is
// done and answered, so a failure here is logged only: the replay then renders the
// resource anew.
func (e *edge) keepResponse(x *exchange, r *http.Request) {
	succeeded := x.response.status >= 200 && x.response.status < 300
	if x.caller.Idempotency == nil || x.nothingStored || !succeeded {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), keepTimeout)
	defer cancel()
	if err := e.Service.SaveResponse(ctx, x.caller, x.response.status, x.response.body); err != nil {
		e.Log.WarnContext(ctx, "response not kept for replays", "request_id", x.requestID, "error", err.Error())
	}
}
