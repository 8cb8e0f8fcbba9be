package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Store is the log. It is safe for concurrent use.
type Store struct {
	codec *codec.Codec
	now   func() time.Time

	mu       sync.RWMutex
	log      []entry // log[i] has position i+1
	streams  map[eventstore.StreamID]*stream
	receipts map[receiptID]eventstore.Receipt
}

type entry struct {
	codec.Encoded
	recordedAt time.Time
}

type stream struct {
	positions       []int64 // positions[i] is the position of version i+1
	snapshot        []byte
	snapshotVersion int64
}

type receiptID struct{ accountID, key string }

var _ eventstore.Store = (*Store)(nil)

// New returns an empty log with the clock now.
func New(codec *codec.Codec, now func() time.Time) *Store {
	return &Store{
		codec: codec, now: now,
		streams:  map[eventstore.StreamID]*stream{},
		receipts: map[receiptID]eventstore.Receipt{},
	}
}

// precision is the precision of timestamps in Postgres.
const precision = time.Microsecond

// Append implements eventstore.Store.
func (s *Store) Append(ctx context.Context, batch eventstore.Batch) ([]eventstore.Recorded, error) {
	encoded, err := s.codec.Encode(batch)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	if err := s.check(batch); err != nil {
		return nil, err
	}

	at := s.now().UTC().Truncate(precision)
	entries := make([]entry, len(encoded))
	var recorded []eventstore.Recorded
	for i, e := range encoded {
		entries[i] = entry{Encoded: e, recordedAt: at}
		r, err := s.decode(entries[i], int64(len(s.log)+i+1))
		if err != nil {
			return nil, err
		}
		recorded = append(recorded, r)
	}
	for _, e := range entries {
		s.log = append(s.log, e)
		head := s.head(e.Stream)
		head.positions = append(head.positions, int64(len(s.log)))
	}
	for _, w := range batch.Writes {
		if w.Snapshot != nil {
			head := s.head(w.Stream)
			head.snapshot, head.snapshotVersion = slices.Clone(w.Snapshot), w.Expected+int64(len(w.Events))
		}
	}
	for _, r := range batch.Receipts {
		r.Body = cloneBody(r.Body)
		r.CreatedAt = r.CreatedAt.UTC().Truncate(precision)
		s.receipts[receiptID{r.AccountID, r.Key}] = r
	}
	return recorded, nil
}

// check returns the conflict of a batch, if any. Receipts are checked first, as in postgres.
func (s *Store) check(batch eventstore.Batch) error {
	for _, r := range batch.Receipts {
		if _, taken := s.receipt(r.AccountID, r.Key, r.CreatedAt); taken {
			return &eventstore.ReceiptError{AccountID: r.AccountID, Key: r.Key}
		}
	}
	for _, w := range batch.Writes {
		if actual := s.version(w.Stream); actual != w.Expected {
			return &eventstore.ConflictError{Stream: w.Stream, Expected: w.Expected, Actual: actual}
		}
	}
	return nil
}

func (s *Store) head(id eventstore.StreamID) *stream {
	head, ok := s.streams[id]
	if !ok {
		head = &stream{}
		s.streams[id] = head
	}
	return head
}

func (s *Store) version(id eventstore.StreamID) int64 {
	if head, ok := s.streams[id]; ok {
		return int64(len(head.positions))
	}
	return 0
}

func (s *Store) at(position int64) (eventstore.Recorded, error) {
	return s.decode(s.log[position-1], position)
}

func (s *Store) decode(e entry, position int64) (eventstore.Recorded, error) {
	event, err := s.codec.Unmarshal(e.Type, e.Data)
	if err != nil {
		return eventstore.Recorded{}, fmt.Errorf("event at position %d: %w", position, err)
	}
	meta, err := codec.UnmarshalMeta(e.AccountID, e.Meta)
	if err != nil {
		return eventstore.Recorded{}, fmt.Errorf("event at position %d: %w", position, err)
	}
	return eventstore.Recorded{
		Position: position, Stream: e.Stream, Version: e.Version,
		Event: event, Meta: meta, RecordedAt: e.recordedAt, Chain: e.Chain,
	}, nil
}

// Load implements eventstore.Store.
func (s *Store) Load(ctx context.Context, streams ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	histories := make(map[eventstore.StreamID]eventstore.History, len(streams))
	for _, id := range streams {
		h := eventstore.History{Version: s.version(id)}
		if h.Version > 0 {
			head := s.streams[id]
			h.Chain = s.log[head.positions[h.Version-1]-1].Chain
			h.Snapshot, h.SnapshotVersion = slices.Clone(head.snapshot), head.snapshotVersion
			for _, position := range head.positions[head.snapshotVersion:] {
				e, err := s.at(position)
				if err != nil {
					return nil, err
				}
				h.Events = append(h.Events, e)
			}
		}
		histories[id] = h
	}
	return histories, nil
}

// LoadAll implements eventstore.Store.
func (s *Store) LoadAll(ctx context.Context, id eventstore.StreamID) ([]eventstore.Recorded, error) {
	return s.ReadStream(ctx, id, 0, math.MaxInt)
}

// ReadStream implements eventstore.Store.
func (s *Store) ReadStream(ctx context.Context, id eventstore.StreamID, after int64, limit int) ([]eventstore.Recorded, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("read stream %s: limit %d", id, limit)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	var recorded []eventstore.Recorded
	for version := max(after, 0); version < s.version(id) && len(recorded) < limit; version++ {
		e, err := s.at(s.streams[id].positions[version])
		if err != nil {
			return nil, err
		}
		recorded = append(recorded, e)
	}
	return recorded, nil
}

// Read implements eventstore.Store.
func (s *Store) Read(ctx context.Context, after int64, limit int) ([]eventstore.Recorded, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("read the log: limit %d", limit)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	var recorded []eventstore.Recorded
	for position := max(after, 0) + 1; position <= int64(len(s.log)) && len(recorded) < limit; position++ {
		e, err := s.at(position)
		if err != nil {
			return nil, err
		}
		recorded = append(recorded, e)
	}
	return recorded, nil
}

// Receipt implements eventstore.Store.
func (s *Store) Receipt(ctx context.Context, accountID, key string, now time.Time) (eventstore.Receipt, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return eventstore.Receipt{}, false, fmt.Errorf("receipt: %w", err)
	}
	r, found := s.receipt(accountID, key, now)
	r.Body = slices.Clone(r.Body)
	return r, found, nil
}

func (s *Store) receipt(accountID, key string, now time.Time) (eventstore.Receipt, bool) {
	r, ok := s.receipts[receiptID{accountID, key}]
	if !ok || !r.CreatedAt.After(now.Add(-eventstore.ReceiptWindow)) {
		return eventstore.Receipt{}, false
	}
	return r, true
}

// SaveResponse implements eventstore.Store. It returns an error when the receipt does not exist.
func (s *Store) SaveResponse(ctx context.Context, accountID, key string, status int, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("save response: %w", err)
	}
	r, ok := s.receipts[receiptID{accountID, key}]
	if !ok {
		return fmt.Errorf("save response: %s has no such receipt", accountID)
	}
	r.Status, r.Body = status, cloneBody(body)
	s.receipts[receiptID{accountID, key}] = r
	return nil
}

// cloneBody returns a copy that is not nil, as postgres does.
func cloneBody(body []byte) []byte { return append([]byte{}, body...) }
