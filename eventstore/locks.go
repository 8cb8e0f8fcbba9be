package eventstore

import (
	"context"
	"time"
)

// Claim asks for the right to carry out a request with an Idempotency-Key.
type Claim struct {
	AccountID, Key string
	// RequestHash is the SHA-256 of method, path and body.
	RequestHash [32]byte
	// RequestID names the holder.
	RequestID string
	// Until is when the claim is void, whatever became of its holder.
	Until time.Time
}

// Claimed is what became of a claim.
type Claimed struct {
	// Held is true when the claim stands: the holder carries the request out, or makes
	// its response anew, and then gives the claim back. It is false when the request runs
	// elsewhere or was answered.
	Held bool
	// Receipt is that of an earlier request with the key, within its window, or nil.
	Receipt *Receipt
	// RequestHash is that of the request which the key stands for: the earlier one, the
	// one that runs, or the claimant's own.
	RequestHash [32]byte
}

// Locks keep requests with the same key from running at the same time.
type Locks interface {
	// Acquire claims a key at now.
	Acquire(ctx context.Context, c Claim, now time.Time) (Claimed, error)
	// Release gives a claim back whose response was not kept (Store.SaveResponse does so
	// itself). One that is not held is none.
	Release(ctx context.Context, c Claim) error
}
