package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// An append is one statement with these steps:
//
//  1. moved: it updates the heads of the streams that get events.
//  2. held: it locks the heads of the streams that are only asserted.
//  3. taken: it inserts the receipts.
//  4. verdict: unless all of these succeeded, it raises append_refused.
//  5. recorded: it inserts the events.
//
// The outer join forces verdict before the insert. The trigger events_fence then fires only after
// the heads are locked, so that waiting for a head does not delay readers. A refused append uses no
// position.
//
// Each head is inserted with the version that it was decided on. On conflict, the row is updated
// only if it has this version, under the lock of the row. A stream that should exist but does not
// is left out, so the counts differ. Heads are locked in the order of their names.
//
// Arrays are hidden in subselects, so that the planner cannot see their length. Otherwise it
// considers the generic plan more expensive and plans each time, which takes longer than the
// statement.
const (
	moveHeadsSQL = `
with moved as (
    insert into streams (stream, version, prior_version, snapshot, snapshot_version, chain, snapshot_chain, snapshot_mac)
    select w.stream, w.version, w.expected, w.snapshot::json,
           case when w.snapshot is null then 0 else w.version end, w.chain, case when w.snapshot is null then null else w.chain end, w.mac
      from unnest((select $1::text[]), (select $2::bigint[]), (select $3::bigint[]), (select $4::text[]), (select $5::bytea[]), (select $6::bytea[]))
           as w(stream, expected, version, snapshot, chain, mac)
     where w.expected = 0 or (select true from streams s where s.stream = w.stream limit 1)
     order by w.stream
    on conflict (stream) do update
       set version = excluded.version,
           chain = excluded.chain,
           prior_version = excluded.prior_version,
           snapshot = coalesce(excluded.snapshot, streams.snapshot),
           snapshot_chain = case when excluded.snapshot is null then streams.snapshot_chain else excluded.snapshot_chain end,
           snapshot_mac = case when excluded.snapshot is null then streams.snapshot_mac else excluded.snapshot_mac end,
           snapshot_version = greatest(excluded.snapshot_version, streams.snapshot_version)
     where streams.version = excluded.prior_version
    returning 1
)`

	holdAndTakeSQL = `, held as (
    select 1
      from (select * from unnest((select $15::text[]), (select $16::bigint[])) as a(stream, expected)
             order by stream) as a
     cross join lateral (select from streams s
                          where s.stream = a.stream and s.version = a.expected for share) as s
), taken as (
    insert into receipts (account_id, key, request_hash, resource_id, status, body, created_at)
    select *
      from unnest((select $17::text[]), (select $18::text[]), (select $19::bytea[]), (select $20::text[]),
                  (select $21::integer[]), (select $22::bytea[]), (select $23::timestamptz[]))
        as r(account_id, key, request_hash, resource_id, status, body, created_at)
     order by account_id, key
    on conflict (account_id, key) do update
       set request_hash = excluded.request_hash, resource_id = excluded.resource_id,
           status = excluded.status, body = excluded.body, created_at = excluded.created_at
     where receipts.created_at <= excluded.created_at - $24::interval
    returning 1
)`

	gotHeadsSQL = `(select count(*) from moved) = cardinality($1::text[])`

	gotAllSQL = `(select count(*) from taken) = cardinality($17::text[])
           and (select count(*) from held)  = cardinality($15::text[])
           and ` + gotHeadsSQL

	insertEventsSQL = `, recorded as (
    insert into events (stream, version, type, account_id, data, meta, chain, mac)
    select e.stream, e.version, e.type, e.account_id, e.data::json, e.meta::json, e.chain, e.mac
      from unnest((select $7::text[]), (select $8::bigint[]), (select $9::text[]), (select $10::text[]),
                  (select $11::text[]), (select $12::text[]), (select $13::bytea[]), (select $14::bytea[]))
           with ordinality as e(stream, version, type, account_id, data, meta, chain, mac, n)
     where (select ok from verdict)
     order by e.n
    returning position, recorded_at
)
select r.position, r.recorded_at from verdict v left join recorded r on v.ok`

	// Most batches neither assert a stream nor have a receipt. The full statement would take
	// 20% longer for them.
	appendSQL = moveHeadsSQL +
		`, verdict as materialized (select case when ` + gotHeadsSQL + ` then true else append_refused() end as ok)` + insertEventsSQL
	appendFullSQL = moveHeadsSQL + holdAndTakeSQL +
		`, verdict as materialized (select case when ` + gotAllSQL + ` then true else append_refused() end as ok)` + insertEventsSQL
)

// queue adds the statement of an append to a round trip. It returns the events in the given order.
// Their positions and times are set when the round trip has ended without error.
func queue(trip *pgx.Batch, batch eventstore.Batch, encoded []codec.Encoded, guard *Guard) []eventstore.Recorded {
	h := headsOf(batch, encoded, guard)
	args := append(h.moveArgs(), eventArgs(encoded, guard)...)
	sql := appendSQL
	if len(h.held) > 0 || len(h.accounts) > 0 {
		sql = appendFullSQL
		args = append(args, h.holdAndTakeArgs()...)
	}
	recorded := unplaced(batch, encoded)
	trip.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		var position *int64
		var at *time.Time
		n := 0
		_, err := pgx.ForEachRow(rows, []any{&position, &at}, func() error {
			if position == nil {
				return nil // the batch has no events
			}
			if n < len(recorded) {
				recorded[n].Position, recorded[n].RecordedAt = *position, at.UTC()
			}
			n++
			return nil
		})
		if err == nil && n != len(recorded) {
			err = fmt.Errorf("%d of %d events were recorded", n, len(recorded))
		}
		return err
	})
	return recorded
}

// unplaced returns the events of a batch as they will be recorded, without positions and times.
func unplaced(batch eventstore.Batch, encoded []codec.Encoded) []eventstore.Recorded {
	recorded := make([]eventstore.Recorded, 0, len(encoded))
	for _, w := range batch.Writes {
		for i, e := range w.Events {
			recorded = append(recorded, eventstore.Recorded{
				Stream: w.Stream, Version: w.Expected + int64(i) + 1, Event: e.Event, Meta: e.Meta,
				Chain: encoded[len(recorded)].Chain,
			})
		}
	}
	return recorded
}

func eventArgs(encoded []codec.Encoded, guard *Guard) []any {
	n := len(encoded)
	streams, types, accounts := make([]string, n), make([]string, n), make([]string, n)
	data, meta, versions := make([]string, n), make([]string, n), make([]int64, n)
	chains, macs := make([][]byte, n), make([][]byte, n)
	for i, e := range encoded {
		chains[i], macs[i] = encoded[i].Chain[:], guard.event(e)
		streams[i], versions[i], types[i], accounts[i] = e.Stream.String(), e.Version, e.Type, e.AccountID
		data[i], meta[i] = string(e.Data), string(e.Meta)
	}
	return []any{streams, versions, types, accounts, data, meta, chains, macs}
}

// heads has the heads and receipts of a batch, a slice for each column. No slice may be nil, because
// nil becomes null in SQL and not an empty array.
type heads struct {
	moved             []string
	expected, version []int64
	snapshot          []*string
	chain, mac        [][]byte
	held              []string
	heldAt            []int64
	accounts, keys    []string
	hashes, bodies    [][]byte
	resources         []string
	statuses          []int32
	createdAt         []time.Time
}

func (h heads) moveArgs() []any {
	return []any{h.moved, h.expected, h.version, h.snapshot, h.chain, h.mac}
}

func (h heads) holdAndTakeArgs() []any {
	return []any{
		h.held, h.heldAt, h.accounts, h.keys, h.hashes, h.resources, h.statuses, h.bodies, h.createdAt,
		eventstore.ReceiptWindow,
	}
}

func headsOf(batch eventstore.Batch, encoded []codec.Encoded, guard *Guard) heads {
	h := heads{
		moved: []string{}, expected: []int64{}, version: []int64{}, snapshot: []*string{}, chain: [][]byte{}, mac: [][]byte{},
		held: []string{}, heldAt: []int64{}, accounts: []string{}, keys: []string{},
		hashes: [][]byte{}, bodies: [][]byte{}, resources: []string{}, statuses: []int32{},
		createdAt: []time.Time{},
	}
	last := -1
	for _, w := range batch.Writes {
		last += len(w.Events)
		// An existing stream is asserted by locking its row. A missing stream has no row to
		// lock, so it is asserted by inserting one at version 0.
		if len(w.Events) == 0 && w.Expected > 0 {
			h.held = append(h.held, w.Stream.String())
			h.heldAt = append(h.heldAt, w.Expected)
			continue
		}
		h.moved = append(h.moved, w.Stream.String())
		h.expected = append(h.expected, w.Expected)
		h.version = append(h.version, w.Expected+int64(len(w.Events)))
		chain := w.Chain
		if len(w.Events) > 0 {
			chain = encoded[last].Chain
		}
		h.chain = append(h.chain, chain[:])
		var snapshot *string
		var mac []byte
		if w.Snapshot != nil {
			text := string(w.Snapshot)
			snapshot, mac = &text, guard.snapshot(w.Stream, h.version[len(h.version)-1], chain, w.Snapshot)
		}
		h.snapshot, h.mac = append(h.snapshot, snapshot), append(h.mac, mac)
	}
	for _, r := range batch.Receipts {
		h.accounts, h.keys = append(h.accounts, r.AccountID), append(h.keys, r.Key)
		h.hashes, h.resources = append(h.hashes, r.RequestHash[:]), append(h.resources, r.ResourceID)
		h.statuses, h.bodies = append(h.statuses, int32(r.Status)), append(h.bodies, bodyOf(r.Body)) //nolint:gosec // an HTTP status
		h.createdAt = append(h.createdAt, r.CreatedAt)
	}
	return h
}
