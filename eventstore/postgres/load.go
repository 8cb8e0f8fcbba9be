package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// loadSQL returns a row for each event after its stream's snapshot. A stream without such events has
// one row without an event. Only the first row of a stream has the snapshot. A stream without a head
// has rows only if it has events, which nobody but the database's owner can cause.
const loadSQL = `
select n.stream, s.version, s.chain, s.snapshot_version,
       case when e.version is null or e.version = s.snapshot_version + 1 then s.snapshot end, s.snapshot_chain, s.snapshot_mac,
       e.position, e.version, e.type, e.account_id, e.data, e.meta, e.recorded_at, e.chain, e.mac
  from unnest((select $1::text[])) as n(stream)
  left join lateral (select * from streams where stream = n.stream offset 0) as s on true
  left join lateral (select * from events where stream = n.stream and version > coalesce(s.snapshot_version, 0) offset 0) as e on true
 where s.stream is not null or e.stream is not null
 order by n.stream, e.version`

// Load implements eventstore.Store. It uses one statement, so all streams are read from one snapshot.
func (s *Store) Load(ctx context.Context, streams ...eventstore.StreamID) (map[eventstore.StreamID]eventstore.History, error) {
	histories := make(map[eventstore.StreamID]eventstore.History, len(streams))
	names := make([]string, len(streams))
	byName := make(map[string]eventstore.StreamID, len(streams))
	for i, id := range streams {
		names[i] = id.String()
		byName[names[i]] = id
		histories[id] = eventstore.History{}
	}
	query := s.pool.Query
	if h := holdOf(ctx); h != nil {
		query = h.conn.Query
	}
	rows, err := query(ctx, loadSQL, names)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	found, err := scanHeads(rows, byName)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	for id, of := range found {
		if histories[id], err = s.history(ctx, of); err != nil {
			return nil, err
		}
	}
	return histories, nil
}

// loaded has the rows of one stream.
type loaded struct {
	stream eventstore.StreamID
	// headed is false when the stream has events and no head.
	headed                     bool
	version                    int64
	chain                      []byte
	snapshot                   []byte
	snapshotVersion            int64
	snapshotChain, snapshotMAC []byte
	events                     []row
}

// scanHeads reads the rows of loadSQL.
func scanHeads(rows pgx.Rows, byName map[string]eventstore.StreamID) (map[eventstore.StreamID]*loaded, error) {
	defer rows.Close()
	found := map[eventstore.StreamID]*loaded{}
	for rows.Next() {
		var name string
		var version, snapshotVersion, position, eventVersion *int64
		var head, snapshot, snapshotChain, snapshotMAC []byte
		var kind, account *string
		var at *time.Time
		var e row
		if err := rows.Scan(&name, &version, &head, &snapshotVersion, &snapshot, &snapshotChain, &snapshotMAC,
			&position, &eventVersion, &kind, &account, &e.data, &e.meta, &at, &e.chain, &e.mac); err != nil {
			return nil, err
		}
		if version != nil && snapshotVersion == nil || position != nil && (eventVersion == nil || kind == nil || account == nil || at == nil) {
			return nil, fmt.Errorf("stream %s: a column that is never null is null", name) // somebody removed its constraint
		}
		id := byName[name]
		l := found[id]
		if l == nil {
			l = &loaded{stream: id}
			found[id] = l
			if version != nil {
				l.headed, l.version, l.chain = true, *version, head
				l.snapshot, l.snapshotVersion, l.snapshotChain, l.snapshotMAC = snapshot, *snapshotVersion, snapshotChain, snapshotMAC
			}
		}
		if position != nil {
			e.position, e.stream, e.version, e.kind, e.account, e.at = *position, id, *eventVersion, *kind, *account, *at
			l.events = append(l.events, e)
		}
	}
	return found, rows.Err()
}

// history checks and decodes the rows of one stream.
func (s *Store) history(ctx context.Context, l *loaded) (eventstore.History, error) {
	if s.guard != nil {
		if err := s.guard.checkHistory(ctx, s, l); err != nil {
			return eventstore.History{}, err
		}
	}
	if !l.headed {
		return eventstore.History{}, nil
	}
	h := eventstore.History{
		Version: l.version, Chain: chainOf(l.chain), Snapshot: l.snapshot, SnapshotVersion: l.snapshotVersion,
	}
	for _, r := range l.events {
		e, err := decode(s.codec, r)
		if err != nil {
			return eventstore.History{}, err
		}
		h.Events = append(h.Events, e)
	}
	return h, nil
}

// columns lists the columns of a row, in the order of its fields.
const columns = "position, stream, version, type, account_id, data, meta, recorded_at, chain, mac"

// LoadAll implements eventstore.Store.
func (s *Store) LoadAll(ctx context.Context, stream eventstore.StreamID) ([]eventstore.Recorded, error) {
	rows, err := s.rows(ctx, "select "+columns+" from events where stream = $1 order by version", stream.String())
	if err != nil {
		return nil, err
	}
	if s.guard != nil {
		if err := s.guard.checkStream(stream, rows); err != nil {
			return nil, err
		}
	}
	return s.decodeAll(rows)
}

// ReadStream implements eventstore.Store.
func (s *Store) ReadStream(ctx context.Context, stream eventstore.StreamID, after int64, limit int) ([]eventstore.Recorded, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("read stream %s: limit %d", stream, limit)
	}
	return s.query(ctx, "select "+columns+" from events where stream = $1 and version > $2 order by version limit $3",
		stream.String(), after, limit)
}

// row is an event as it is stored.
type row struct {
	position   int64
	stream     eventstore.StreamID
	version    int64
	kind       string
	account    string
	data, meta []byte
	at         time.Time
	chain, mac []byte
}

// encoded returns the event as it was encoded.
func (r row) encoded() codec.Encoded {
	return codec.Encoded{
		Stream: r.stream, Version: r.version, Type: r.kind, Data: r.data, AccountID: r.account, Meta: r.meta,
		Chain: chainOf(r.chain),
	}
}

// chainOf returns a stored chain. One of another length becomes the zero value, which follows from no event: the owner
// of the database can remove the constraint of the column.
func chainOf(stored []byte) (c eventstore.Chain) {
	if len(stored) == len(c) {
		copy(c[:], stored)
	}
	return c
}

func decode(c *codec.Codec, r row) (eventstore.Recorded, error) {
	event, err := c.Unmarshal(r.kind, r.data)
	if err != nil {
		return eventstore.Recorded{}, fmt.Errorf("event at position %d: %w", r.position, err)
	}
	meta, err := codec.UnmarshalMeta(r.account, r.meta)
	if err != nil {
		return eventstore.Recorded{}, fmt.Errorf("event at position %d: %w", r.position, err)
	}
	return eventstore.Recorded{
		Position: r.position, Stream: r.stream, Version: r.version,
		Event: event, Meta: meta, RecordedAt: r.at.UTC(), Chain: chainOf(r.chain),
	}, nil
}

// query runs a statement that selects columns. It checks and decodes each row by itself.
func (s *Store) query(ctx context.Context, sql string, args ...any) ([]eventstore.Recorded, error) {
	rows, err := s.rows(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if s.guard == nil {
			break
		}
		if err := s.guard.CheckEvent(r.encoded(), r.position, r.mac); err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
	}
	return s.decodeAll(rows)
}

// rows runs a statement that selects columns.
func (s *Store) rows(ctx context.Context, sql string, args ...any) ([]row, error) {
	return s.rowsInto(ctx, nil, sql, args...)
}

// rowsInto appends the rows of a statement that selects columns.
func (s *Store) rowsInto(ctx context.Context, into []row, sql string, args ...any) ([]row, error) {
	found, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	rows, err := pgx.AppendRows(into, found, scanRow)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return rows, nil
}

// scanRow reads the columns of a row.
func scanRow(scanned pgx.CollectableRow) (r row, err error) {
	var name string
	if err := scanned.Scan(&r.position, &name, &r.version, &r.kind, &r.account, &r.data, &r.meta, &r.at, &r.chain, &r.mac); err != nil {
		return r, err
	}
	if r.stream, err = codec.ParseStreamID(name); err != nil {
		return r, fmt.Errorf("event at position %d: %w", r.position, err)
	}
	return r, nil
}

func (s *Store) decodeAll(rows []row) ([]eventstore.Recorded, error) {
	recorded := make([]eventstore.Recorded, 0, len(rows))
	for _, r := range rows {
		e, err := decode(s.codec, r)
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		recorded = append(recorded, e)
	}
	return recorded, nil
}
