package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Raw is an event as it is stored, for the sealer of the transparency log.
type Raw struct {
	Position   int64
	RecordedAt time.Time
	codec.Encoded
	// Refused says why the event was not written by the service. It is nil for an event of the service,
	// and in a store without a guard.
	Refused error
}

// Raws returns up to limit stored events of a category with positions greater than after and up to upTo, in
// order. An empty category means all. upTo must be settled.
func (s *Store) Raws(ctx context.Context, category string, after, upTo int64, limit int) ([]Raw, error) {
	space := make([]row, 0, max(0, min(int64(limit), upTo-after)))
	rows, err := s.rowsInto(ctx, space, "select "+columns+` from events
		where position > $1 and position <= $2 and ($3 = '' or starts_with(stream, $3 || '/'))
		order by position limit $4`, after, upTo, category, limit)
	if err != nil {
		return nil, err
	}
	raws := make([]Raw, len(rows))
	for i, r := range rows {
		raws[i] = Raw{Position: r.position, RecordedAt: r.at.UTC(), Encoded: r.encoded()}
		if s.guard == nil {
			continue
		}
		raws[i].Refused = s.guard.CheckEvent(raws[i].Encoded, r.position, r.mac)
	}
	return raws, nil
}

// Place is an event by its stream and version, with the stored values that a leaf of the transparency log
// has.
type Place struct {
	Stream     string
	Version    int64
	Position   int64
	RecordedAt time.Time
	Chain      eventstore.Chain
}

// Places returns the stored places of events, named by stream and version. Events that do not exist are
// missing in the result.
func (s *Store) Places(ctx context.Context, wanted []Place) ([]Place, error) {
	streams, versions := make([]string, len(wanted)), make([]int64, len(wanted))
	for i, w := range wanted {
		streams[i], versions[i] = w.Stream, w.Version
	}
	rows, err := s.pool.Query(ctx, `select e.stream, e.version, e.position, e.recorded_at, e.chain
		from unnest($1::text[], $2::bigint[]) as w(stream, version)
		join events e on e.stream = w.stream and e.version = w.version`, streams, versions)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Place, err error) {
		var chain []byte
		err = row.Scan(&p.Stream, &p.Version, &p.Position, &p.RecordedAt, &chain)
		if err == nil && len(chain) != len(p.Chain) {
			return p, fmt.Errorf("the event at position %d has a chain of %d bytes", p.Position, len(chain))
		}
		p.RecordedAt = p.RecordedAt.UTC()
		copy(p.Chain[:], chain)
		return p, err
	})
}
