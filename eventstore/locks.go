package eventstore

import (
	"context"
	"time"
)

// Claim asks for the lock of an Idempotency-Key, which permits carrying out its request.
type Claim struct {
	AccountID, Key string
	// RequestHash is the SHA-256 of method, path and body.
	RequestHash [32]byte
	// RequestID names the holder.
	RequestID string
	// Until is when the claim expires unless it is renewed.
	Until time.Time
}

// Claimed is the result of a claim.
type Claimed struct {
	// Held is true when the claim succeeded. The holder then carries out the request, or
	// renders the response of a receipt without one, and releases the claim. Held is false
	// when the request runs elsewhere or has been answered.
	Held bool
	// Receipt is the receipt of an earlier request with the key, within its window, or nil.
	Receipt *Receipt
	// RequestHash is the hash of the request that owns the key: the earlier one, the running
	// one, or the claimant's own.
	RequestHash [32]byte
}

// Locks prevents that requests with the same key run at the same time.
type Locks interface {
	// Acquire claims a key at now.
	Acquire(ctx context.Context, c Claim, now time.Time) (Claimed, error)
	// Renew extends a claim to its Until. It returns false when the claim is not held any more.
	Renew(ctx context.Context, c Claim) (bool, error)
	// Release releases a claim. It is needed only without a saved response, because
	// Store.SaveResponse releases the claim too. It does nothing when the claim is not held.
	Release(ctx context.Context, c Claim) error
}
