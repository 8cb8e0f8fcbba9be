package eventstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

// StreamID names the history of one aggregate.
type StreamID struct {
	// Category is the kind of aggregate: "account", "credit", "video", …
	Category string
	// ID is the aggregate's own id.
	ID string
}

// String is the stored form, "category/id".
func (s StreamID) String() string { return s.Category + "/" + s.ID }

// Event is a fact of the domain. Its type is the name under which it is stored,
// written by hand and never changed.
type Event interface{ EventType() string }

// Meta is what every event carries about how it came to be.
type Meta struct {
	// AccountID is the tenant that the event belongs to.
	AccountID string `json:"account_id,omitempty"`
	// RequestID is the req_ id of the request at the start of the chain.
	RequestID string `json:"request_id,omitempty"`
	// CorrelationID joins all events that one cause led to.
	CorrelationID string `json:"correlation_id,omitempty"`
	// CausationID is what directly led to this event: a request id, a job, or the
	// position of an earlier event.
	CausationID string `json:"causation_id,omitempty"`
	// Actor is who did it: an API key id, "operator:NAME" or "system:NAME".
	Actor string `json:"actor,omitempty"`
}

// NewEvent is an event about to be recorded.
type NewEvent struct {
	Event Event
	Meta  Meta
}

// Chain is the hash of a stream up to one of its events: SHA-256 of the chain before
// it and of the event as it is stored (codec.Link). The zero Chain is that of a stream
// without events.
type Chain [32]byte

// String is the hexadecimal form.
func (c Chain) String() string { return hex.EncodeToString(c[:]) }

// Write appends events to one stream.
type Write struct {
	Stream StreamID
	// Expected is the version the events were decided on; 0 means that the stream
	// must not exist yet.
	Expected int64
	// Chain is that of the stream at Expected.
	Chain Chain
	// Events may be empty: then the write only asserts that the stream is still at
	// Expected when the batch commits.
	Events []NewEvent
	// Snapshot is the folded state after the last of Events, in the aggregate's own
	// JSON form, or nil for streams that are short enough to be folded whole.
	Snapshot []byte
	// State is the folded state after the last of Events, for the inline read models; nil
	// when the store has none.
	State any
}

// Batch is what one Append records, all or nothing. A stream stands in it at most
// once.
type Batch struct {
	Writes []Write
	// Receipts make requests idempotent; they are recorded with the writes.
	Receipts []Receipt
}

// Receipt remembers that a request with an Idempotency-Key was carried out
// (api-v1.md, "Endpoints": the first request wins, replay window 24 hours).
type Receipt struct {
	// AccountID and Key identify the request.
	AccountID, Key string
	// RequestHash is the SHA-256 of method, path and body.
	RequestHash [32]byte
	// ResourceID is what the request created.
	ResourceID string
	// Status and Body are the response as it was sent; Status is 0 when the program
	// stopped between commit and response.
	Status int
	Body   []byte
	// CreatedAt starts the replay window.
	CreatedAt time.Time
}

// ReceiptWindow is how long a receipt is kept and honoured.
const ReceiptWindow = 24 * time.Hour

// Recorded is an event of the log.
type Recorded struct {
	// Position is its place in the whole log, > 0.
	Position int64
	Stream   StreamID
	// Version is its place in the stream, from 1.
	Version int64
	Event   Event
	Meta    Meta
	// RecordedAt is the store's clock at the append.
	RecordedAt time.Time
	// Chain is that of the stream up to this event.
	Chain Chain
}

// History is what Load knows of a stream.
type History struct {
	// Version is the stream's current version; 0 when it does not exist.
	Version int64
	// Chain is that of the stream at Version.
	Chain Chain
	// Snapshot is the folded state at SnapshotVersion, or nil.
	Snapshot        []byte
	SnapshotVersion int64
	// Events are those after SnapshotVersion, in order.
	Events []Recorded
}

// Store is the log.
type Store interface {
	// Load returns the history of each named stream; one that does not exist has
	// Version 0. All histories are of one snapshot of the log.
	Load(ctx context.Context, streams ...StreamID) (map[StreamID]History, error)

	// LoadAll is Load for one stream with every event from version 1, whatever
	// snapshot there is.
	LoadAll(ctx context.Context, stream StreamID) ([]Recorded, error)

	// ReadStream returns up to limit events of one stream with a version greater than
	// after, in order, for histories too long to be held whole.
	ReadStream(ctx context.Context, stream StreamID, after int64, limit int) ([]Recorded, error)

	// Append records the batch atomically and returns its events in order of
	// position. Errors: *ConflictError when a stream is not at its expected version
	// (also after a deadlock or a serialization failure), *ReceiptError when a
	// receipt's key is already taken within its window, *UncertainError when the store
	// was lost before it answered. After any other error nothing is recorded.
	Append(ctx context.Context, batch Batch) ([]Recorded, error)

	// Read returns up to limit events with a position greater than after, in order,
	// none skipped. It may return fewer although more are recorded, when a writer of
	// an earlier position is still open.
	Read(ctx context.Context, after int64, limit int) ([]Recorded, error)

	// Receipt returns the receipt of a key that is still within its window at now.
	Receipt(ctx context.Context, accountID, key string, now time.Time) (Receipt, bool, error)

	// SaveResponse adds the response to a receipt that Append recorded.
	SaveResponse(ctx context.Context, accountID, key string, status int, body []byte) error
}

// ConflictError says that a stream was not at the version a write expected. The
// command is to be decided anew.
type ConflictError struct {
	Stream   StreamID
	Expected int64
	// Actual is the version found, or -1 when the store cannot tell.
	Actual int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("stream %s: expected version %d, found %d", e.Stream, e.Expected, e.Actual)
}

// ReceiptError says that an idempotency key was taken by an earlier request.
type ReceiptError struct{ AccountID, Key string }

func (e *ReceiptError) Error() string {
	return fmt.Sprintf("idempotency key of %s is taken", e.AccountID)
}

// UncertainError says that the connection was lost while a batch was under way: it is
// recorded whole or not at all, and the store cannot tell which.
type UncertainError struct{ Cause error }

func (e *UncertainError) Error() string {
	return "the outcome of an append is unknown: " + e.Cause.Error()
}

// Unwrap returns what the connection was lost to.
func (e *UncertainError) Unwrap() error { return e.Cause }
