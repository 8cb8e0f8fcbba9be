package eventstore

import (
	"context"
	"encoding/hex"
	"errors"
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

// Event is a fact of the domain. EventType returns its stored name, which is written by hand and
// never changes.
type Event interface{ EventType() string }

// Meta says who caused an event, and how.
type Meta struct {
	// AccountID is the account that the event belongs to.
	AccountID string `json:"account_id,omitempty"`
	// RequestID is the req_ id of the request at the start of the chain.
	RequestID string `json:"request_id,omitempty"`
	// CorrelationID is the same for all events that one cause led to.
	CorrelationID string `json:"correlation_id,omitempty"`
	// CausationID is the direct cause of the event: a request id, a job, or the position of an
	// earlier event.
	CausationID string `json:"causation_id,omitempty"`
	// Actor is the originator: the id of an API key, a client token or a session, "operator:NAME" or "system:NAME".
	Actor string `json:"actor,omitempty"`
	// Nonce is random: 16 bytes in hexadecimal. The chain covers it, so that nobody can guess an event
	// from its chain, which the transparency log shows. The store adds it. Older events have none.
	Nonce string `json:"nonce,omitempty"`
}

// NewEvent is an event about to be recorded.
type NewEvent struct {
	Event Event
	Meta  Meta
}

// Chain is the hash of a stream up to one of its events: the SHA-256 of the previous chain and of
// the stored event (codec.Link). A stream without events has the zero Chain.
type Chain [32]byte

// String is the hexadecimal form.
func (c Chain) String() string { return hex.EncodeToString(c[:]) }

// Write appends events to one stream.
type Write struct {
	Stream StreamID
	// Expected is the version that the events were decided on. 0 means that the stream must
	// not exist yet.
	Expected int64
	// Chain is the chain of the stream at Expected.
	Chain Chain
	// Events may be empty. Then the write asserts that the stream is still at Expected when
	// the batch commits.
	Events []NewEvent
	// Snapshot is the folded state after the last event, as JSON. It is nil when no snapshot
	// is due.
	Snapshot []byte
	// State is the folded state after the last event, for the inline read models. It may be
	// nil when the store has none.
	State any
}

// Batch is the input of one Append, recorded whole or not at all. It has at most one write for
// each stream.
type Batch struct {
	Writes []Write
	// Receipts make requests idempotent. They are recorded with the writes.
	Receipts []Receipt
}

// Receipt records that a request with an Idempotency-Key was carried out
// (docs/contract.md#idempotency).
type Receipt struct {
	// AccountID and Key identify the request.
	AccountID, Key string
	// RequestHash is the SHA-256 of method, path and body.
	RequestHash [32]byte
	// ResourceID is the resource that the request created.
	ResourceID string
	// Status and Body are the response that was sent. Status is 0 until the response is saved.
	// It stays 0 when the process ends between commit and response.
	Status int
	Body   []byte
	// CreatedAt starts the replay window.
	CreatedAt time.Time
}

// ReceiptWindow is how long a receipt is valid.
const ReceiptWindow = 24 * time.Hour

// Recorded is an event of the log.
type Recorded struct {
	// Position is the place in the whole log, > 0.
	Position int64
	Stream   StreamID
	// Version is the place in the stream, from 1.
	Version int64
	Event   Event
	Meta    Meta
	// RecordedAt is the store's clock at the append.
	RecordedAt time.Time
	// Chain is the chain of the stream up to this event.
	Chain Chain
}

// History is a loaded stream.
type History struct {
	// Version is the stream's current version. It is 0 when the stream does not exist.
	Version int64
	// Chain is the chain of the stream at Version.
	Chain Chain
	// Snapshot is the folded state at SnapshotVersion, or nil.
	Snapshot        []byte
	SnapshotVersion int64
	// Events are those after SnapshotVersion, in order.
	Events []Recorded
}

// ErrUnknownEvent says that the log has an event whose type or version this program does not know. In
// most cases a newer release of the program wrote it. Nothing may be decided on a stream with such an
// event, because its state is not known.
var ErrUnknownEvent = errors.New("unknown event")

// ForgedError says that the service did not write a row of the log as it is stored: somebody who
// controls the database has added, changed or removed it. Nothing may be decided on its stream.
type ForgedError struct {
	Stream StreamID
	// Version is the version of the event or the snapshot. It is 0 for the head of the stream.
	Version int64
	// Position is the position of the event, or 0 when it is another row.
	Position int64
	// Row names a row of a read model that differs from the events of the stream. It is empty for a row of the log.
	Row string
	// Problem says what is wrong with the row, for an operator.
	Problem string
}

func (e *ForgedError) Error() string {
	switch {
	case e.Row != "":
		return fmt.Sprintf("stream %s: the %s was not written by the service: %s", e.Stream, e.Row, e.Problem)
	case e.Position > 0:
		return fmt.Sprintf("stream %s: the event of version %d at position %d was not written by the service: %s", e.Stream, e.Version, e.Position, e.Problem)
	case e.Version > 0:
		return fmt.Sprintf("stream %s: the row of version %d was not written by the service: %s", e.Stream, e.Version, e.Problem)
	default:
		return fmt.Sprintf("stream %s: its head was not written by the service: %s", e.Stream, e.Problem)
	}
}

// Store is the log. Reading a stream with an unknown event fails with ErrUnknownEvent. Reading a row
// that the service did not write fails with a *ForgedError, if the store checks that.
type Store interface {
	// Load returns the history of each named stream. A stream that does not exist has Version
	// 0. All histories are read from one snapshot of the log.
	Load(ctx context.Context, streams ...StreamID) (map[StreamID]History, error)

	// LoadAll returns every event of one stream from version 1. It ignores snapshots.
	LoadAll(ctx context.Context, stream StreamID) ([]Recorded, error)

	// ReadStream returns up to limit events of one stream with a version greater than after, in
	// order. It pages through histories that are too long for memory.
	ReadStream(ctx context.Context, stream StreamID, after int64, limit int) ([]Recorded, error)

	// Append records the batch atomically and returns its events in the order of positions.
	// It returns a *ConflictError when a stream is not at its expected version, and after a
	// deadlock or a serialization failure. It returns a *ReceiptError when a receipt's key is
	// already taken within its window. It returns an *UncertainError when the connection was
	// lost before the store responded. After any other error nothing is recorded.
	Append(ctx context.Context, batch Batch) ([]Recorded, error)

	// Read returns up to limit events with a position greater than after, in order and
	// without skipping any. It may return fewer while the writer of an earlier position has
	// not committed.
	Read(ctx context.Context, after int64, limit int) ([]Recorded, error)

	// Receipt returns the receipt of a key if it is still within its window at now.
	Receipt(ctx context.Context, accountID, key string, now time.Time) (Receipt, bool, error)

	// SaveResponse adds the response to a receipt that Append has recorded.
	SaveResponse(ctx context.Context, accountID, key string, status int, body []byte) error
}

// ConflictError says that a stream did not have the version that a write expected. The caller
// loads the stream again and repeats the decision.
type ConflictError struct {
	Stream   StreamID
	Expected int64
	// Actual is the version found, or -1 when it is not known.
	Actual int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("stream %s: expected version %d, found %d", e.Stream, e.Expected, e.Actual)
}

// ReceiptError says that an earlier request has used the idempotency key.
type ReceiptError struct{ AccountID, Key string }

func (e *ReceiptError) Error() string {
	return fmt.Sprintf("an earlier request of %s used the idempotency key", e.AccountID)
}

// UncertainError says that the connection was lost during an append. The batch is recorded whole
// or not at all, and the caller cannot know which.
type UncertainError struct{ Cause error }

func (e *UncertainError) Error() string {
	return "the connection was lost during an append, so its events may or may not be recorded: " + e.Cause.Error()
}

// Unwrap returns the cause of the lost connection.
func (e *UncertainError) Unwrap() error { return e.Cause }
