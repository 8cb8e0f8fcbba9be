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

const (
	// lockLife is how long an Idempotency-Key stays locked after its last renewal. It bounds the
	// time in which an equal request is refused after the first one lost the database and
	// could not unlock the key.
	lockLife = 10 * time.Second
	// lockRenewal is the pause between renewals while the request runs. Two may fail.
	lockRenewal = 3 * time.Second
)

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
	case x.Caller.TokenID != "":
		// A token must not get the response to a request of its key, or of another token. A valid key has no space.
		x.Caller.Idempotency.Key = x.Caller.TokenID + " " + key
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
		Until: now.Add(lockLife),
	}
	claimed, err := e.Locks.Acquire(r.Context(), claim, now)
	if err != nil {
		return false, err
	}
	if claimed.Held {
		x.claim, x.stopRenewals = &claim, e.renewLock(claim, e.longest(x.operation))
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

// renewLock renews a lock until stop is called, for at most a time. A failed renewal is tried
// again: when the lock expires meanwhile, an equal request may start, and the receipt in the log
// ensures that only one of them takes effect.
func (e *Edge) renewLock(claim eventstore.Claim, longest time.Duration) (stop func()) {
	// The renewals must not use up the patience of the request, and must outlive its client.
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	first := time.AfterFunc(lockRenewal, func() { // most requests end earlier and never start this
		pause := time.NewTicker(lockRenewal)
		defer pause.Stop()
		for e.renewOnce(ctx, claim) {
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
		}
	})
	return func() { cancel(); first.Stop() }
}

// renewOnce renews a lock. It returns false when there is nothing left to renew.
func (e *Edge) renewOnce(ctx context.Context, claim eventstore.Claim) bool {
	trying, cancel := context.WithTimeout(ctx, lockRenewal)
	defer cancel()
	claim.Until = e.Service.Now().Add(lockLife)
	held, err := e.Locks.Renew(trying, claim)
	if err != nil && ctx.Err() == nil {
		e.Log.WarnContext(ctx, "cannot renew the lock of the idempotency key", "request_id", claim.RequestID, "error", err.Error())
	}
	return ctx.Err() == nil && (held || err != nil)
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
	x.stopRenewals()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), keepTimeout)
	defer cancel()
	first := x.response.Header().Get("Idempotency-Replayed") == ""
	if succeeded := x.response.status >= 200 && x.response.status < 300; succeeded && first && !x.NothingStored {
		err := x.keep(ctx, x.response.status, x.response.body)
		if err == nil {
			return
		}
		e.Log.WarnContext(ctx, "cannot store the response for replays", "request_id", x.RequestID, "error", err.Error())
	}
	if err := e.Locks.Release(ctx, *x.claim); err != nil {
		e.Log.WarnContext(ctx, "cannot unlock the idempotency key", "request_id", x.RequestID, "error", err.Error())
	}
}
