package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore"
	"vqa/handlers/command"
)

// idempotencyHeader names a request that may be sent twice (api-v1.md, "Endpoints").
const idempotencyHeader = "Idempotency-Key"

// keepTimeout bounds the keeping of a response after the work was done, for which the
// client may no longer be waiting.
const keepTimeout = 5 * time.Second

// identify reads the Idempotency-Key of a request whose headers were checked, and whose body was
// read. Bodies are compared as JSON values: the order of members, white space, the spelling of
// numbers, and null in the place of a field that is left out make no difference.
func (e *edge) identify(x *exchange, r *http.Request, body any) error {
	key := r.Header.Get(idempotencyHeader)
	if key == "" {
		return nil
	}
	if members, ok := body.(map[string]any); ok && len(members) == 0 {
		body = nil // where a body may be left out, an empty one says the same
	}
	canonical, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("a body in its canonical form: %w", err)
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%s\n", r.Method, r.URL.Path)
	h.Write(canonical)
	x.idempotencyKey = key
	x.caller.Idempotency = &command.Idempotency{Key: key, Hash: [32]byte(h.Sum(nil))}
	switch {
	case x.caller.AccountID == "":
		// The key opens the response of a caller who shows nothing else, so only its hash is kept.
		x.caller.Idempotency.Owner = "address " + e.SandboxAddress(r)
		x.caller.Idempotency.Key = "sha256 " + account.HashSecret(key)
	case !x.caller.Livemode:
		// A key that a caller sends has no space, so this is nobody's key of the live mode.
		x.caller.Idempotency.Key = "test " + key
	}
	return nil
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
		AccountID: x.caller.IdempotencyOwner(), Key: idempotency.Key, RequestHash: idempotency.Hash, RequestID: x.requestID,
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
		body, err := x.unseal(receipt.Body)
		if err != nil {
			return false, err
		}
		e.answerAgain(x, r, receipt.Status, body)
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
	h.Set("Cache-Control", "no-store")
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
	"createSandbox":       (*server).secretIsLost,
	"upgradeKey":          (*server).secretIsLost,
	"requestDeviceCode":   (*server).secretIsLost,
	"createApiKey":        (*server).secretIsLost,
	"rotateApiKey":        (*server).secretIsLost,
	"createClientToken":   (*server).secretIsLost,
}

// secretIsLost refuses to answer again with a secret that nobody kept: the program ended between
// the commit and the response. Error: resource_conflict.
func (*server) secretIsLost(_ context.Context, _ *exchange, resourceID string) (int, any, error) {
	made := "It"
	if id.Valid(id.Key, resourceID) {
		made = "It made " + resourceID + ", which you may revoke, but it"
	}
	return 0, nil, fault.New(fault.ResourceConflict, "The request was carried out. "+made+
		" was interrupted before its secret was shown. Send the request again with another Idempotency-Key.")
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
		body, err := x.seal(x.response.body)
		if err == nil {
			err = e.Service.SaveResponse(ctx, x.caller, x.response.status, body)
		}
		if err == nil {
			return
		}
		e.Log.WarnContext(ctx, "response not kept for replays", "request_id", x.requestID, "error", err.Error())
	}
	if err := e.Locks.Release(ctx, *x.claim); err != nil {
		e.Log.WarnContext(ctx, "idempotency key not given back", "request_id", x.requestID, "error", err.Error())
	}
}
