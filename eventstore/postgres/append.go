package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// rollbackTimeout bounds the rollback of an append whose own context has ended.
const rollbackTimeout = 5 * time.Second

// Append implements eventstore.Store. When both a receipt is taken and a stream has
// moved on, the receipt is reported, because deciding anew would not help.
func (s *Store) Append(ctx context.Context, batch eventstore.Batch) ([]eventstore.Recorded, error) {
	encoded, err := s.codec.Encode(batch)
	if err != nil {
		return nil, err
	}
	recorded, err := s.record(ctx, batch, encoded)
	switch {
	case errors.Is(err, errMoved):
		return nil, s.explain(ctx, batch)
	case lostRace(err):
		return nil, &eventstore.ConflictError{
			Stream: batch.Writes[0].Stream, Expected: batch.Writes[0].Expected, Actual: -1,
		}
	case err != nil:
		return nil, err
	}
	if len(recorded) > 0 {
		s.wake()
	}
	return recorded, nil
}

// errMoved says that a head or a receipt was not as the batch expects it.
var errMoved = errors.New("the batch was decided on an older state")

// record runs the transaction. It returns errMoved before any position is taken.
func (s *Store) record(ctx context.Context, batch eventstore.Batch, encoded []codec.Encoded) ([]eventstore.Recorded, error) {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("append: begin: %w", err)
	}
	defer func() {
		// Without effect after a commit.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	if err := takeHeads(ctx, tx, batch); err != nil {
		return nil, err
	}
	recorded, err := insertEvents(ctx, tx, batch, encoded)
	if err != nil {
		return nil, fmt.Errorf("append: events: %w", err)
	}
	if len(recorded) > 0 {
		for _, p := range s.projections {
			if err := p.Apply(ctx, tx, recorded); err != nil {
				return nil, fmt.Errorf("append: read model %T: %w", p, err)
			}
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, fmt.Errorf("append: commit: %w", err)
	}
	return recorded, nil
}

// takeHeadsSQL moves the heads of the streams written ($1-$4), holds those of the
// streams only asserted ($5-$6), and takes the receipts ($7-$13). Each counts what
// it got; anything missing is a conflict. A head is proposed together with the
// version it was decided on, so that the row itself decides, under its lock. A
// stream that should exist but does not is not proposed at all.
//
// Arrays are hidden in subselects so that the planner cannot see how long they are:
// otherwise it finds the generic plan dearer and plans anew each time, which takes
// longer than the statement itself.
const takeHeadsSQL = `
with moved as (
    insert into streams (stream, version, prior_version, snapshot, snapshot_version)
    select w.stream, w.version, w.expected, w.snapshot::json,
           case when w.snapshot is null then 0 else w.version end
      from unnest((select $1::text[]), (select $2::bigint[]), (select $3::bigint[]), (select $4::text[]))
           as w(stream, expected, version, snapshot)
     where w.expected = 0 or exists (select from streams s where s.stream = w.stream)
     order by w.stream
    on conflict (stream) do update
       set version = excluded.version,
           prior_version = excluded.prior_version,
           snapshot = coalesce(excluded.snapshot, streams.snapshot),
           snapshot_version = greatest(excluded.snapshot_version, streams.snapshot_version)
     where streams.version = excluded.prior_version
    returning 1
), held as (
    select 1
      from streams s
      join unnest((select $5::text[]), (select $6::bigint[])) as a(stream, expected) using (stream)
     where s.version = a.expected
     order by s.stream
       for share of s
), taken as (
    insert into receipts (account_id, key, request_hash, resource_id, status, body, created_at)
    select *
      from unnest((select $7::text[]), (select $8::text[]), (select $9::bytea[]), (select $10::text[]),
                  (select $11::integer[]), (select $12::bytea[]), (select $13::timestamptz[]))
        as r(account_id, key, request_hash, resource_id, status, body, created_at)
     order by account_id, key
    on conflict (account_id, key) do update
       set request_hash = excluded.request_hash, resource_id = excluded.resource_id,
           status = excluded.status, body = excluded.body, created_at = excluded.created_at
     where receipts.created_at <= excluded.created_at - $14::interval
    returning 1
)
select (select count(*) from taken) = cardinality($7::text[])
   and (select count(*) from moved) = cardinality($1::text[])
   and (select count(*) from held)  = cardinality($5::text[])`

// heads are the parameters of takeHeadsSQL, a column a slice. None may be nil: that
// would be SQL's null instead of an empty array.
type heads struct {
	moved             []string
	expected, version []int64
	snapshot          []*string
	held              []string
	heldAt            []int64
	accounts, keys    []string
	hashes, bodies    [][]byte
	resources         []string
	statuses          []int32
	createdAt         []time.Time
}

func headsOf(batch eventstore.Batch) heads {
	h := heads{
		moved: []string{}, expected: []int64{}, version: []int64{}, snapshot: []*string{},
		held: []string{}, heldAt: []int64{}, accounts: []string{}, keys: []string{},
		hashes: [][]byte{}, bodies: [][]byte{}, resources: []string{}, statuses: []int32{},
		createdAt: []time.Time{},
	}
	for _, w := range batch.Writes {
		// That a stream does not exist can only be held by a row of its own, at
		// version 0; that it does exist, by a share of its row.
		if len(w.Events) == 0 && w.Expected > 0 {
			h.held = append(h.held, w.Stream.String())
			h.heldAt = append(h.heldAt, w.Expected)
			continue
		}
		h.moved = append(h.moved, w.Stream.String())
		h.expected = append(h.expected, w.Expected)
		h.version = append(h.version, w.Expected+int64(len(w.Events)))
		var snapshot *string
		if w.Snapshot != nil {
			text := string(w.Snapshot)
			snapshot = &text
		}
		h.snapshot = append(h.snapshot, snapshot)
	}
	for _, r := range batch.Receipts {
		h.accounts, h.keys = append(h.accounts, r.AccountID), append(h.keys, r.Key)
		h.hashes, h.resources = append(h.hashes, r.RequestHash[:]), append(h.resources, r.ResourceID)
		h.statuses, h.bodies = append(h.statuses, int32(r.Status)), append(h.bodies, bodyOf(r.Body))
		h.createdAt = append(h.createdAt, r.CreatedAt)
	}
	return h
}

// takeHeads moves and holds the heads and takes the receipts. Error: errMoved.
func takeHeads(ctx context.Context, tx pgx.Tx, batch eventstore.Batch) error {
	h := headsOf(batch)
	var all bool
	err := tx.QueryRow(ctx, takeHeadsSQL, h.moved, h.expected, h.version, h.snapshot, h.held, h.heldAt,
		h.accounts, h.keys, h.hashes, h.resources, h.statuses, h.bodies, h.createdAt,
		eventstore.ReceiptWindow).Scan(&all)
	if err != nil {
		return fmt.Errorf("append: heads: %w", err)
	}
	if !all {
		return errMoved
	}
	return nil
}

const insertEventsSQL = `
insert into events (stream, version, type, account_id, data, meta)
select e.stream, e.version, e.type, e.account_id, e.data::json, e.meta::json
  from unnest((select $1::text[]), (select $2::bigint[]), (select $3::text[]), (select $4::text[]),
              (select $5::text[]), (select $6::text[]))
       with ordinality as e(stream, version, type, account_id, data, meta, n)
 order by e.n
returning position, recorded_at`

// insertEvents records the events; the order of their positions is the order given.
func insertEvents(ctx context.Context, tx pgx.Tx, batch eventstore.Batch, encoded []codec.Encoded) ([]eventstore.Recorded, error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	n := len(encoded)
	streams, types, accounts := make([]string, n), make([]string, n), make([]string, n)
	data, meta, versions := make([]string, n), make([]string, n), make([]int64, n)
	for i, e := range encoded {
		streams[i], versions[i], types[i], accounts[i] = e.Stream.String(), e.Version, e.Type, e.AccountID
		data[i], meta[i] = string(e.Data), string(e.Meta)
	}
	rows, err := tx.Query(ctx, insertEventsSQL, streams, versions, types, accounts, data, meta)
	if err != nil {
		return nil, err
	}
	recorded := make([]eventstore.Recorded, 0, n)
	for _, w := range batch.Writes {
		for i, e := range w.Events {
			recorded = append(recorded, eventstore.Recorded{
				Stream: w.Stream, Version: w.Expected + int64(i) + 1, Event: e.Event, Meta: e.Meta,
			})
		}
	}
	i := 0
	var position int64
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&position, &at}, func() error {
		recorded[i].Position, recorded[i].RecordedAt = position, at.UTC()
		i++
		return nil
	})
	if err == nil && i != n {
		err = fmt.Errorf("%d of %d events were recorded", i, n)
	}
	return recorded, err
}

// The errors of Postgres that mean that another writer was first.
const (
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
)

func lostRace(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case deadlockDetected, serializationFailure:
		return true
	case uniqueViolation:
		return pg.ConstraintName == "events_stream_version_key"
	}
	return false
}

// explain finds out, after the rollback, what stood in a batch's way.
func (s *Store) explain(ctx context.Context, batch eventstore.Batch) error {
	for _, r := range batch.Receipts {
		_, found, err := s.Receipt(ctx, r.AccountID, r.Key, r.CreatedAt)
		if err != nil {
			return err
		}
		if found {
			return &eventstore.ReceiptError{AccountID: r.AccountID, Key: r.Key}
		}
	}
	names := make([]string, len(batch.Writes))
	for i, w := range batch.Writes {
		names[i] = w.Stream.String()
	}
	rows, err := s.pool.Query(ctx, "select stream, version from streams where stream = any($1)", names)
	if err != nil {
		return fmt.Errorf("append: find the conflict: %w", err)
	}
	actual := map[string]int64{}
	var name string
	var version int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &version}, func() error {
		actual[name] = version
		return nil
	}); err != nil {
		return fmt.Errorf("append: find the conflict: %w", err)
	}
	for _, w := range batch.Writes {
		if at := actual[w.Stream.String()]; at != w.Expected {
			return &eventstore.ConflictError{Stream: w.Stream, Expected: w.Expected, Actual: at}
		}
	}
	// Whoever stood in the way rolled back meanwhile.
	w := batch.Writes[0]
	return &eventstore.ConflictError{Stream: w.Stream, Expected: w.Expected, Actual: -1}
}
