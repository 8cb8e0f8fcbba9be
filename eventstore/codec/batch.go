package codec

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"vqa/eventstore"
)

// Encoded is an event in its stored form.
type Encoded struct {
	// Stream and Version are the place of the event. Encode counts Version from the write's
	// expected version.
	Stream  eventstore.StreamID
	Version int64
	Type    string
	Data    []byte
	// AccountID is stored in a column of its own. Meta holds the rest of the metadata.
	AccountID string
	Meta      []byte
	// Chain is the chain of the stream up to this event.
	Chain eventstore.Chain
}

// linkVersion is the first part of the canonical bytes. It names their format.
const linkVersion = "vqa-event-1"

// Link returns the chain of a stream after one more event: the SHA-256 of the previous chain and
// the event's canonical bytes. The canonical bytes are netstrings (the length in bytes, a colon,
// the bytes). Their contents are the format's version, the stream, the event's version, its stored
// type, its account, its data and its meta, each exactly as stored. Link ignores e.Chain.
func Link(before eventstore.Chain, e Encoded) eventstore.Chain {
	var space [1024]byte // on the stack; a longer event moves to the heap
	return sha256.Sum256(AppendContent(append(space[:0], before[:]...), e))
}

// AppendContent appends the canonical bytes of an event, see Link. They do not contain e.Chain.
func AppendContent(b []byte, e Encoded) []byte {
	b = netstring(b, linkVersion)
	b = netstring(b, e.Stream.Category, "/", e.Stream.ID)
	b = netstring(b, strconv.FormatInt(e.Version, 10))
	b = netstring(b, e.Type)
	b = netstring(b, e.AccountID)
	b = netstring(b, e.Data)
	return netstring(b, e.Meta)
}

// netstring appends the netstring of the concatenated parts.
func netstring[T string | []byte](to []byte, parts ...T) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	to = append(strconv.AppendInt(to, int64(n), 10), ':')
	for _, p := range parts {
		to = append(to, p...)
	}
	return to
}

// Encode checks a batch and returns its events in the order in which to record them. A batch is
// well-formed when
//
//   - it has at least one write;
//   - each stream has a category and an id and occurs at most once;
//   - no expected version is below 0;
//   - a write with events has a chain exactly when its stream exists;
//   - a write with a snapshot has events;
//   - each receipt has an account and a key and occurs at most once.
func (c *Codec) Encode(batch eventstore.Batch) ([]Encoded, error) {
	if err := check(batch); err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	var encoded []Encoded
	for _, w := range batch.Writes {
		chain := w.Chain
		for i, e := range w.Events {
			name, data, err := c.Marshal(e.Event)
			if err != nil {
				return nil, err
			}
			meta, err := MarshalMeta(e.Meta)
			if err != nil {
				return nil, err
			}
			next := Encoded{
				Stream: w.Stream, Version: w.Expected + int64(i) + 1,
				Type: name, Data: data, AccountID: e.Meta.AccountID, Meta: meta,
			}
			chain = Link(chain, next)
			next.Chain = chain
			encoded = append(encoded, next)
		}
	}
	return encoded, nil
}

func check(batch eventstore.Batch) error {
	if len(batch.Writes) == 0 {
		return fmt.Errorf("it has no write")
	}
	streams := map[eventstore.StreamID]bool{}
	for _, w := range batch.Writes {
		switch {
		case w.Stream.Category == "" || w.Stream.ID == "" || strings.Contains(w.Stream.Category, "/"):
			return fmt.Errorf("%q is not the name of a stream", w.Stream)
		case streams[w.Stream]:
			return fmt.Errorf("stream %s occurs twice", w.Stream)
		case w.Expected < 0:
			return fmt.Errorf("stream %s: the expected version %d is negative", w.Stream, w.Expected)
		case len(w.Events) > 0 && (w.Expected == 0) != (w.Chain == eventstore.Chain{}):
			return fmt.Errorf("stream %s: the chain %s does not match version %d; only a stream that exists has one", w.Stream, w.Chain, w.Expected)
		case len(w.Events) == 0 && w.Snapshot != nil:
			return fmt.Errorf("stream %s: it has a snapshot but no events", w.Stream)
		case w.Snapshot != nil && !json.Valid(w.Snapshot):
			return fmt.Errorf("stream %s: the snapshot is not JSON", w.Stream)
		}
		streams[w.Stream] = true
	}
	receipts := map[eventstore.ReceiptError]bool{}
	for _, r := range batch.Receipts {
		id := eventstore.ReceiptError{AccountID: r.AccountID, Key: r.Key}
		if r.AccountID == "" || r.Key == "" || receipts[id] {
			return fmt.Errorf("a receipt of account %q has no account, no key, or a duplicate key", r.AccountID)
		}
		receipts[id] = true
	}
	return nil
}

// MarshalMeta returns the stored form of meta without its account, which has its own column.
func MarshalMeta(meta eventstore.Meta) ([]byte, error) {
	meta.AccountID = ""
	data, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("encode meta: %w", err)
	}
	return data, nil
}

// UnmarshalMeta is the inverse of MarshalMeta. It ignores unknown fields, because meta may gain
// fields.
func UnmarshalMeta(accountID string, data []byte) (eventstore.Meta, error) {
	var meta eventstore.Meta
	if err := json.Unmarshal(data, &meta); err != nil {
		return meta, fmt.Errorf("decode meta: %w", err)
	}
	meta.AccountID = accountID
	return meta, nil
}

// ParseStreamID is the inverse of StreamID.String.
func ParseStreamID(s string) (eventstore.StreamID, error) {
	category, id, ok := strings.Cut(s, "/")
	if !ok || category == "" || id == "" {
		return eventstore.StreamID{}, fmt.Errorf("%q is not the name of a stream", s)
	}
	return eventstore.StreamID{Category: category, ID: id}, nil
}
