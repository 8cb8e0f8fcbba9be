package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore/postgres"
)

// Subscriber is the state of a group, for operators.
type Subscriber struct {
	Name string `json:"name"`
	// Position is the position of the last event that is handled, set aside or parked, 0 before
	// the first.
	Position int64 `json:"position"`
	// LagEvents counts the recorded events that are neither handled nor parked. LagSeconds is the
	// age of the oldest.
	LagEvents  int64   `json:"lag_events"`
	LagSeconds float64 `json:"lag_seconds"`
	// SetAside counts the events among them that failed and wait for another attempt, and the
	// later events of their streams.
	SetAside int64 `json:"set_aside"`
	// Parked counts the parked events.
	Parked int64 `json:"parked"`
	// Delivering is true while a process holds the group's lock: during a batch and briefly at
	// each poll.
	Delivering bool `json:"delivering"`
	// UpdatedAt is the time of the last change of Position.
	UpdatedAt *time.Time `json:"updated_at"`
	// Replay is the oldest open replay, or nil.
	Replay *Replay `json:"replay"`
}

const subscribersSQL = `
select n.name, coalesce(s.position, 0), s.updated_at,
       (select count(*) from events where position > coalesce(s.position, 0)),
       coalesce(extract(epoch from clock_timestamp() - oldest.recorded_at)::float8, 0),
       (select count(*) from set_aside where subscription = n.name),
       (select count(*) from parked where subscription = n.name),
       exists (select from pg_locks
                where locktype = 'advisory' and objsubid = 2 and granted
                  and classid = $2::bigint::oid and objid = (hashtext(n.name)::bigint & 4294967295)::oid
                  and database = (select oid from pg_database where datname = current_database()))
  from (select unnest($1::text[]) union select name from subscriptions
        union select subscription from parked
        union select subscription from replays where finished_at is null) as n(name)
  left join subscriptions s on s.name = n.name
  -- The order finds each row with the index. A comparison with the position did so only after the planner had
  -- learned that the table is large. Until then it took a second with 10,000 events.
  left join lateral (
       select recorded_at from events
        where position >= coalesce((select min(position) from set_aside where subscription = n.name), s.position + 1, 1)
        order by position limit 1) oldest on true
 order by n.name`

// Subscribers lists the groups that have ever received an event, and the known groups of the program.
func (f *Feed) Subscribers(ctx context.Context, known ...string) ([]Subscriber, error) {
	if known == nil {
		known = []string{}
	}
	rows, err := f.pool.Query(ctx, subscribersSQL, known, int64(groupLock))
	if err != nil {
		return nil, fmt.Errorf("list the subscribers: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Subscriber, error) {
		var s Subscriber
		err := row.Scan(&s.Name, &s.Position, &s.UpdatedAt, &s.LagEvents, &s.LagSeconds, &s.SetAside, &s.Parked, &s.Delivering)
		s.LagEvents += s.SetAside
		s.UpdatedAt = inUTC(s.UpdatedAt)
		return s, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the subscribers: %w", err)
	}
	for i := range all {
		if all[i].Replay, err = f.openReplay(ctx, all[i].Name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// SetAside returns the positions of the events of a group that wait for another attempt or behind
// one.
func (f *Feed) SetAside(ctx context.Context, group string) ([]int64, error) {
	rows, err := f.pool.Query(ctx, "select position from set_aside where subscription = $1 order by position", group)
	if err != nil {
		return nil, fmt.Errorf("list the events that are set aside: %w", err)
	}
	positions, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("list the events that are set aside: %w", err)
	}
	return positions, nil
}

// MustKnow returns an error for a group that is not in the list of Subscribers.
func (f *Feed) MustKnow(ctx context.Context, group string, known ...string) error {
	all, err := f.Subscribers(ctx, known...)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	if !slices.Contains(names, group) {
		return fmt.Errorf("unknown subscriber %q; known subscribers: %v", group, names)
	}
	return nil
}

// Move is the effect of a reset on a group.
type Move struct {
	Subscriber string `json:"subscriber"`
	From       int64  `json:"from"`
	To         int64  `json:"to"`
	// Again counts the events that will be delivered again. Skipped counts the events that will
	// not be delivered. At least one of them is 0.
	Again   int64 `json:"again"`
	Skipped int64 `json:"skipped"`
}

// resetTimeout bounds the wait for the batch that is being delivered.
const resetTimeout = 20 * time.Second

// Reset sets the position of a group. It waits for the group's lock, so no ack of a running batch can
// overwrite the new position. Events up to the new position that were set aside are still tried again.
// A dry run changes nothing and returns the effect. Errors: a position below 0 or after the settled
// log, or no lock within 20 s.
func (f *Feed) Reset(ctx context.Context, group string, to int64, dryRun bool) (Move, error) {
	m := Move{Subscriber: group, To: to}
	waiting, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	err := pgx.BeginFunc(waiting, f.pool, func(tx pgx.Tx) error {
		if !dryRun {
			if _, err := tx.Exec(waiting, "select pg_advisory_xact_lock($1, hashtext($2))", groupLock, group); err != nil {
				return err
			}
		}
		var settled int64
		err := tx.QueryRow(waiting, `select coalesce((select position from subscriptions where name = $1), 0), events_settled()`,
			group).Scan(&m.From, &settled)
		if err != nil {
			return err
		}
		if to < 0 || to > settled {
			return fmt.Errorf("position %d is not in the log; use a position from 0 to %d", to, settled)
		}
		err = tx.QueryRow(waiting, `select count(*) filter (where position > $2), count(*) filter (where position <= $2)
			from events where position > least($1::bigint, $2::bigint) and position <= greatest($1::bigint, $2::bigint)`,
			m.From, to).Scan(&m.Again, &m.Skipped)
		if err != nil || dryRun {
			return err
		}
		// The group reads the later events again from the log.
		if _, err = tx.Exec(waiting, "delete from set_aside where subscription = $1 and position > $2", group, to); err != nil {
			return err
		}
		_, err = tx.Exec(waiting, `insert into subscriptions (name, position) values ($1, $2)
			on conflict (name) do update set position = excluded.position, updated_at = clock_timestamp()`, group, to)
		return err
	})
	switch {
	case err != nil && ctx.Err() == nil && errors.Is(waiting.Err(), context.DeadlineExceeded):
		return m, fmt.Errorf("reset %s: a batch is being delivered and did not end within %v; nothing was changed, try again", group, resetTimeout)
	case err != nil:
		return m, fmt.Errorf("reset %s: %w", group, err)
	case dryRun:
		return m, nil
	}
	return m, f.wakeSubscribers(ctx)
}

// wakeSubscribers makes the subscribers of every process poll now.
func (f *Feed) wakeSubscribers(ctx context.Context) error {
	if _, err := f.pool.Exec(ctx, "notify "+postgres.Channel); err != nil {
		return fmt.Errorf("wake the subscribers: %w", err)
	}
	return nil
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}
