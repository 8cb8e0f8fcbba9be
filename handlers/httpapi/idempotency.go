package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/handlers/command"
)

// idempotencyHeader names a request that may be sent twice (api-v1.md, "Endpoints").
const idempotencyHeader = "Idempotency-Key"

// keepTimeout bounds the keeping of a response after the work was done, for which the
// client may no longer be waiting.
const keepTimeout = 5 * time.Second

// identify reads the Idempotency-Key of a request whose headers were checked.
func identify(x *exchange, r *http.Request, body []byte) {
	key := r.Header.Get(idempotencyHeader)
	if key == "" {
		return
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%s\n", r.Method, r.URL.Path)
	h.Write(body)
	x.caller.Idempotency = &command.Idempotency{Key: key, Hash: [32]byte(h.Sum(nil))}
}

// replay answers a request that was carried out before, and reports whether it did. When
// it did not, the request holds its key until settle. Errors: idempotency_key_reused for
// another request with the key, idempotency_unavailable while the same one runs.
func (e *edge) replay(x *exchange, r *http.Request) (bool, error) {
	idempotency := x.caller.Idempotency
	if idempotency == nil {
		return false, nil
	}
	now := e.Service.Now()
	claim := eventstore.Claim{
		AccountID: x.caller.AccountID, Key: idempotency.Key, RequestHash: idempotency.Hash, RequestID: x.requestID,
		Until: now.Add(e.longest(x.operation) + keepTimeout),
	}
	claimed, err := e.Locks.Acquire(r.Context(), claim, now)
	if err != nil {
		return false, err
	}
	if claimed.Held {
		x.claim = &claim
	}
	receipt := claimed.Receipt
	switch {
	case claimed.RequestHash != idempotency.Hash:
		return false, fault.New(fault.IdempotencyKeyReused, "")
	case receipt != nil && receipt.Status != 0:
		e.answerAgain(x, r, receipt.Status, receipt.Body)
		return true, nil
	case !claimed.Held:
		return false, fault.New(fault.IdempotencyUnavailable, "").WithRetryAfter(1)
	case receipt == nil:
		return false, nil
	}
	status, body, err := e.server.recreate(r.Context(), x, *receipt)
	if err != nil {
		return false, err
	}
	e.answerAgain(x, r, status, body)
	return true, nil
}

// answerAgain sends the response of an earlier request.
func (e *edge) answerAgain(x *exchange, r *http.Request, status int, body []byte) {
	h := x.response.Header()
	h.Set("Idempotency-Replayed", "true")
	h.Set("Content-Type", "application/json")
	x.response.WriteHeader(status)
	if _, err := x.response.Write(body); err != nil {
		e.Log.DebugContext(r.Context(), "replay not delivered", "request_id", x.requestID, "error", err.Error())
	}
}

// recreators render the response of each idempotent operation anew, with its status, from
// the resource that the receipt names.
var recreators = map[string]func(s *server, ctx context.Context, x *exchange, resourceID string) (int, any, error){
	"createVideo":         (*server).recreateVideo,
	"createAnalysis":      (*server).recreateAnalysis,
	"createAnalysisBatch": (*server).recreateBatch,
	"rerunAnalysis":       (*server).recreateAnalysis,
}

func (s *server) recreateVideo(ctx context.Context, x *exchange, videoID string) (int, any, error) {
	v, err := s.Resources.Video(ctx, x.tenant(), videoID)
	if err != nil {
		return 0, nil, err
	}
	resource, err := s.renderVideo(ctx, v)
	return http.StatusCreated, resource, err
}

func (s *server) recreateAnalysis(ctx context.Context, x *exchange, analysisID string) (int, any, error) {
	a, err := s.Resources.Analysis(ctx, x.tenant(), analysisID)
	if err != nil {
		return 0, nil, err
	}
	status := http.StatusAccepted
	if !a.Livemode && x.operation.id == "createAnalysis" {
		status = http.StatusOK
	}
	return status, s.renderAnalysis(ctx, a), nil
}

// recreate renders the response of a request whose program ended, or has not yet come,
// between its commit and its response.
func (s *server) recreate(ctx context.Context, x *exchange, receipt eventstore.Receipt) (int, []byte, error) {
	again, known := recreators[x.operation.id]
	if !known {
		return 0, nil, fmt.Errorf("operation %s has a receipt and no way to render it again", x.operation.id)
	}
	status, resource, err := again(s, ctx, x, receipt.ResourceID)
	if err != nil {
		return 0, nil, err
	}
	body, err := json.Marshal(resource)
	return status, body, err
}

// settle ends what replay began: a response that stands is kept for later requests with
// the same key, and the key is given back. The work is done and answered, so a failure
// here is logged only: the replay then renders the resource anew, and the claim ends by
// itself.
func (e *edge) settle(x *exchange, r *http.Request) {
	if x.claim == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), keepTimeout)
	defer cancel()
	first := x.response.Header().Get("Idempotency-Replayed") == ""
	if succeeded := x.response.status >= 200 && x.response.status < 300; succeeded && first && !x.nothingStored {
		err := e.Service.SaveResponse(ctx, x.caller, x.response.status, x.response.body)
		if err == nil {
			return
		}
		e.Log.WarnContext(ctx, "response not kept for replays", "request_id", x.requestID, "error", err.Error())
	}
	if err := e.Locks.Release(ctx, *x.claim); err != nil {
		e.Log.WarnContext(ctx, "idempotency key not given back", "request_id", x.requestID, "error", err.Error())
	}
}
