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
// one row without an event. Only the first row of a stream has the snapshot.
const loadSQL = `
select s.stream, s.version, s.chain, s.snapshot_version,
       case when e.version is null or e.version = s.snapshot_version + 1 then s.snapshot end,
       e.position, e.version, e.type, e.account_id, e.data, e.meta, e.recorded_at, e.chain
  from unnest((select $1::text[])) as n(stream)
 cross join lateral (select * from streams where stream = n.stream offset 0) as s
  left join lateral (select * from events where stream = s.stream and version > s.snapshot_version offset 0) as e on true
 order by s.stream, e.version`

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
	defer rows.Close()
	for rows.Next() {
		var name string
		var version, snapshotVersion int64
		var head, chain, snapshot []byte
		var position, eventVersion *int64
		var kind, account *string
		var data, meta []byte
		var at *time.Time
		if err := rows.Scan(&name, &version, &head, &snapshotVersion, &snapshot,
			&position, &eventVersion, &kind, &account, &data, &meta, &at, &chain); err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		id := byName[name]
		h := histories[id]
		h.Version, h.Chain, h.SnapshotVersion = version, eventstore.Chain(head), snapshotVersion
		if snapshot != nil {
			h.Snapshot = snapshot
		}
		if position != nil {
			e, err := decode(s.codec, row{*position, id, *eventVersion, *kind, *account, data, meta, *at, chain})
			if err != nil {
				return nil, err
			}
			h.Events = append(h.Events, e)
		}
		histories[id] = h
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return histories, nil
}

// columns lists the columns of a row, in the order of its fields.
const columns = "position, stream, version, type, account_id, data, meta, recorded_at, chain"

// LoadAll implements eventstore.Store.
func (s *Store) LoadAll(ctx context.Context, stream eventstore.StreamID) ([]eventstore.Recorded, error) {
	return s.query(ctx, "select "+columns+" from events where stream = $1 order by version", stream.String())
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
	chain      []byte
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
		Event: event, Meta: meta, RecordedAt: r.at.UTC(), Chain: eventstore.Chain(r.chain),
	}, nil
}

// query runs a statement that selects columns, and decodes its rows.
func (s *Store) query(ctx context.Context, sql string, args ...any) ([]eventstore.Recorded, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	recorded, err := pgx.CollectRows(rows, func(scanned pgx.CollectableRow) (eventstore.Recorded, error) {
		var r row
		var name string
		if err := scanned.Scan(&r.position, &name, &r.version, &r.kind, &r.account, &r.data, &r.meta, &r.at, &r.chain); err != nil {
			return eventstore.Recorded{}, err
		}
		var err error
		if r.stream, err = codec.ParseStreamID(name); err != nil {
			return eventstore.Recorded{}, fmt.Errorf("event at position %d: %w", r.position, err)
		}
		return decode(s.codec, r)
	})
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return recorded, nil
}
