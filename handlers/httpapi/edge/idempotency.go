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

// idempotencyHeader identifies a request that may be sent again (docs/contract.md#idempotency).
const idempotencyHeader = "Idempotency-Key"

// keepTimeout is the time limit for storing a response after the operation is done. The
// client may have disconnected by then.
const keepTimeout = 5 * time.Second

// readIdempotencyKey reads the Idempotency-Key of a request and hashes its body. Bodies are
// compared as JSON values: the order of members, white space and the notation of numbers
// make no difference. A null field equals an absent one.
func (e *Edge) readIdempotencyKey(x *Exchange, r *http.Request, body any) error {
	key := r.Header.Get(idempotencyHeader)
	if key == "" {
		return nil
	}
	if members, ok := body.(map[string]any); ok && len(members) == 0 {
		body = nil // an empty object equals an absent body
	}
	canonical, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a body for its hash: %w", err)
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%s\n", r.Method, r.URL.Path)
	h.Write(canonical)
	x.idempotencyKey = key
	x.Caller.Idempotency = &command.Idempotency{Key: key, Hash: [32]byte(h.Sum(nil))}
	switch {
	case x.Caller.AccountID == "":
		// Without a credential, the key alone decrypts the stored response, so only its hash
		// is stored.
		x.Caller.Idempotency.Owner = "address " + e.Address(r)
		x.Caller.Idempotency.Key = "sha256 " + account.HashSecret(key)
	case !x.Caller.Livemode:
		// A valid key has no space, so this cannot be the key of a live request.
		x.Caller.Idempotency.Key = "test " + key
	}
	return nil
}

// replay sends the response of an earlier equal request, if there is one, and reports
// whether it did. Otherwise the request keeps its Idempotency-Key locked until
// finishReplay. Errors: idempotency_key_reused for a different request with the key,
// idempotency_unavailable while an equal request runs.
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
		e.sendReplay(x, r, receipt.Status, body)
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
	e.sendReplay(x, r, status, body)
	return true, nil
}

// sendReplay sends the response of an earlier request.
func (e *Edge) sendReplay(x *Exchange, r *http.Request, status int, body []byte) {
	h := x.response.Header()
	h.Set("Idempotency-Replayed", "true")
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	x.response.WriteHeader(status)
	if _, err := x.response.Write(body); err != nil {
		e.Log.DebugContext(r.Context(), "cannot send the replay", "request_id", x.RequestID, "error", err.Error())
	}
}

// finishReplay stores a successful response for later requests with the same key, and
// otherwise unlocks the key. The request is done and answered, so a failure is only logged:
// a later replay then renders the resource again, and the lock expires by itself.
func (e *Edge) finishReplay(x *Exchange, r *http.Request) {
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
		e.Log.WarnContext(ctx, "cannot store the response for replays", "request_id", x.RequestID, "error", err.Error())
	}
	if err := e.Locks.Release(ctx, *x.claim); err != nil {
		e.Log.WarnContext(ctx, "cannot unlock the idempotency key", "request_id", x.RequestID, "error", err.Error())
	}
}
