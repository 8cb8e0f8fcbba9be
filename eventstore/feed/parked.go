package feed

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Parked is an event that a group could not handle and skipped.
type Parked struct {
	Subscriber string `json:"subscriber"`
	Position   int64  `json:"position"`
	// Type, Stream and Version are those of the event.
	Type    string `json:"type"`
	Stream  string `json:"stream"`
	Version int64  `json:"version"`
	// Error is the error of the last attempt. Attempts counts all attempts.
	Error    string    `json:"error"`
	Attempts int       `json:"attempts"`
	At       time.Time `json:"at"`
	// LaterInStream counts the later events of the stream that the group has already passed.
	// A replay delivers the parked event after them.
	LaterInStream int64 `json:"later_in_stream"`
}

const parkedSQL = `
select p.subscription, p.position, e.type, e.stream, e.version, p.error, p.attempts, p.at,
       (select count(*) from events l where l.stream = e.stream and l.version > e.version
           and l.position <= coalesce((select position from subscriptions where name = p.subscription), 0))
  from parked p join events e on e.position = p.position
 where ($1 = '' or p.subscription = $1) and ($2 = 0 or p.position = $2)
 order by p.subscription, p.position limit $3`

// maxParkedListed bounds the list of parked events.
const maxParkedListed = 10_000

// ParkedEvents lists the parked events of one group or of all (""), at one position or at any (0).
func (f *Feed) ParkedEvents(ctx context.Context, group string, position int64) ([]Parked, error) {
	rows, err := f.pool.Query(ctx, parkedSQL, group, position, maxParkedListed)
	if err != nil {
		return nil, fmt.Errorf("list parked events: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Parked, error) {
		var p Parked
		err := row.Scan(&p.Subscriber, &p.Position, &p.Type, &p.Stream, &p.Version, &p.Error, &p.Attempts, &p.At, &p.LaterInStream)
		p.At = p.At.UTC()
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("list parked events: %w", err)
	}
	return all, nil
}

// DropParked removes parked events of a group from the list, at one position or all (0). It returns
// how many. The events stay in the log and can be replayed.
func (f *Feed) DropParked(ctx context.Context, group string, position int64) (int64, error) {
	done, err := f.pool.Exec(ctx, "delete from parked where subscription = $1 and ($2 = 0 or position = $2)", group, position)
	if err != nil {
		return 0, fmt.Errorf("drop parked events: %w", err)
	}
	return done.RowsAffected(), nil
}
