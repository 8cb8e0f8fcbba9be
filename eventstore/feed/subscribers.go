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

// Subscriber is a group as its operators see it.
type Subscriber struct {
	Name string `json:"name"`
	// Position is that of the last event it is done with, 0 before the first.
	Position int64 `json:"position"`
	// LagEvents are recorded but not yet delivered; LagSeconds is the age of the oldest.
	LagEvents  int64   `json:"lag_events"`
	LagSeconds float64 `json:"lag_seconds"`
	// Parked are the events that it could not handle.
	Parked int64 `json:"parked"`
	// Delivering is true while a process holds the group, which is so during a batch and
	// for the moment of each poll.
	Delivering bool `json:"delivering"`
	// UpdatedAt is when Position last moved.
	UpdatedAt *time.Time `json:"updated_at"`
	// Replay is the oldest open order.
	Replay *Replay `json:"replay"`
}

const subscribersSQL = `
select n.name, coalesce(s.position, 0), s.updated_at,
       (select count(*) from events where position > coalesce(s.position, 0)),
       coalesce((select extract(epoch from clock_timestamp() - recorded_at)::float8 from events
                  where position > coalesce(s.position, 0) order by position limit 1), 0),
       (select count(*) from parked where subscription = n.name),
       exists (select from pg_locks
                where locktype = 'advisory' and objsubid = 2 and granted
                  and classid = $2::bigint::oid and objid = (hashtext(n.name)::bigint & 4294967295)::oid
                  and database = (select oid from pg_database where datname = current_database()))
  from (select unnest($1::text[]) union select name from subscriptions
        union select subscription from parked
        union select subscription from replays where finished_at is null) as n(name)
  left join subscriptions s on s.name = n.name
 order by n.name`

// Subscribers lists the groups that ever took an event, and those that are known to
// the program.
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
		err := row.Scan(&s.Name, &s.Position, &s.UpdatedAt, &s.LagEvents, &s.LagSeconds, &s.Parked, &s.Delivering)
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

// MustKnow refuses a group that is neither known to the program nor ever subscribed.
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
		return fmt.Errorf("there is no subscriber %q; there are: %v", group, names)
	}
	return nil
}

// Move is what a reset does to a group.
type Move struct {
	Subscriber string `json:"subscriber"`
	From       int64  `json:"from"`
	To         int64  `json:"to"`
	// Again counts the events that will be delivered again, Skipped those that will not
	// be delivered at all. One of them is 0.
	Again   int64 `json:"again"`
	Skipped int64 `json:"skipped"`
}

// resetTimeout bounds the wait for the batch that is being delivered.
const resetTimeout = 20 * time.Second

// Reset makes a group go on after a position. It takes the group's lock, so it waits
// for the batch that is being delivered, and no ack can overwrite it. A dry run only
// says what would happen. Errors: a position below 0 or beyond the settled log, or the
// group could not be had within 20 s.
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
			return fmt.Errorf("position %d is not in the log, which ends at %d", to, settled)
		}
		err = tx.QueryRow(waiting, `select count(*) filter (where position > $2), count(*) filter (where position <= $2)
			from events where position > least($1::bigint, $2::bigint) and position <= greatest($1::bigint, $2::bigint)`,
			m.From, to).Scan(&m.Again, &m.Skipped)
		if err != nil || dryRun {
			return err
		}
		_, err = tx.Exec(waiting, `insert into subscriptions (name, position) values ($1, $2)
			on conflict (name) do update set position = excluded.position, updated_at = clock_timestamp()`, group, to)
		return err
	})
	switch {
	case err != nil && ctx.Err() == nil && errors.Is(waiting.Err(), context.DeadlineExceeded):
		return m, fmt.Errorf("reset %s: it is delivering and did not pause within %v; nothing was changed", group, resetTimeout)
	case err != nil:
		return m, fmt.Errorf("reset %s: %w", group, err)
	case dryRun:
		return m, nil
	}
	return m, f.wakeSubscribers(ctx)
}

// wakeSubscribers lets every process look at once for what was ordered.
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
