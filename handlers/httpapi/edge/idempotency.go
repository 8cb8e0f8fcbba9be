package edge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
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
func (e *Edge) identify(x *Exchange, r *http.Request, body any) error {
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
	x.Caller.Idempotency = &command.Idempotency{Key: key, Hash: [32]byte(h.Sum(nil))}
	switch {
	case x.Caller.AccountID == "":
		// The key opens the response of a caller who shows nothing else, so only its hash is kept.
		x.Caller.Idempotency.Owner = "address " + e.Address(r)
		x.Caller.Idempotency.Key = "sha256 " + account.HashSecret(key)
	case !x.Caller.Livemode:
		// A key that a caller sends has no space, so this is nobody's key of the live mode.
		x.Caller.Idempotency.Key = "test " + key
	}
	return nil
}

// replay answers a request that was carried out before, and reports whether it did. When
// it did not, the request holds its key until settle. Errors: idempotency_key_reused for
// another request with the key, idempotency_unavailable while the same one runs.
func (e *Edge) replay(x *Exchange, r *http.Request) (bool, error) {
	idempotency := x.Caller.Idempotency
	if idempotency == nil {
		return false, nil
	}
	now := e.Service.Now()
	claim := eventstore.Claim{
		AccountID: x.Caller.IdempotencyOwner(), Key: idempotency.Key, RequestHash: idempotency.Hash, RequestID: x.RequestID,
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
	status, body, err := e.Operations.Recreate(r.Context(), x, *receipt)
	if err != nil {
		return false, err
	}
	e.answerAgain(x, r, status, body)
	return true, nil
}

// answerAgain sends the response of an earlier request.
func (e *Edge) answerAgain(x *Exchange, r *http.Request, status int, body []byte) {
	h := x.response.Header()
	h.Set("Idempotency-Replayed", "true")
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	x.response.WriteHeader(status)
	if _, err := x.response.Write(body); err != nil {
		e.Log.DebugContext(r.Context(), "replay not delivered", "request_id", x.RequestID, "error", err.Error())
	}
}

// settle ends what replay began: a response that stands is kept for later requests with
// the same key, and the key is given back. The work is done and answered, so a failure
// here is logged only: the replay then renders the resource anew, and the claim ends by
// itself.
func (e *Edge) settle(x *Exchange, r *http.Request) {
	if x.claim == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), keepTimeout)
	defer cancel()
	first := x.response.Header().Get("Idempotency-Replayed") == ""
	if succeeded := x.response.status >= 200 && x.response.status < 300; succeeded && first && !x.NothingStored {
		body, err := x.seal(x.response.body)
		if err == nil {
			err = e.Service.SaveResponse(ctx, x.Caller, x.response.status, body)
		}
		if err == nil {
			return
		}
		e.Log.WarnContext(ctx, "response not kept for replays", "request_id", x.RequestID, "error", err.Error())
	}
	if err := e.Locks.Release(ctx, *x.claim); err != nil {
		e.Log.WarnContext(ctx, "idempotency key not given back", "request_id", x.RequestID, "error", err.Error())
	}
}
