package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ReplayRequest asks to deliver a part of the log to a group again.
type ReplayRequest struct {
	Subscriber string
	// From and To are the first and the last position, both included.
	From, To int64
	// OnlyParked restricts the replay to parked events.
	OnlyParked bool
	// By is the name of the operator.
	By string
}

// Replay is a recorded replay with its progress.
type Replay struct {
	ID         int64  `json:"id"`
	Subscriber string `json:"subscriber"`
	From       int64  `json:"from"`
	To         int64  `json:"to"`
	OnlyParked bool   `json:"only_parked"`
	// Events counts the events of the range at the time of the request. Delivered counts the
	// events delivered so far. Failed counts those among them that failed and were parked.
	Events     int64      `json:"events"`
	Delivered  int64      `json:"delivered"`
	Failed     int64      `json:"failed"`
	OrderedBy  string     `json:"ordered_by"`
	OrderedAt  time.Time  `json:"ordered_at"`
	FinishedAt *time.Time `json:"finished_at"`
	Canceled   bool       `json:"canceled"`
}

const replayColumns = `id, subscription, first_position, last_position, only_parked, events, delivered, failed,
	ordered_by, ordered_at, finished_at, canceled`

// inReplay selects the events of a replay: $1 is the group, $2 and $3 the range, and $4 is true for
// parked events only. Events after the group's position are left out, because they will be
// delivered anyway.
const inReplay = ` from events e where e.position >= $2::bigint
	and e.position <= least($3::bigint, coalesce((select position from subscriptions where name = $1::text), 0))
	and (not $4::boolean or exists (select from parked p where p.subscription = $1::text and p.position = e.position))`

// NothingToReplayError says that no event matches a replay.
type NothingToReplayError struct{ ReplayRequest }

func (e *NothingToReplayError) Error() string {
	if e.OnlyParked {
		return fmt.Sprintf("no event from %d to %d is parked for %s", e.From, e.To, e.Subscriber)
	}
	return fmt.Sprintf("no event from %d to %d was delivered to %s yet", e.From, e.To, e.Subscriber)
}

// Preview counts the events of a replay by their stored type.
func (f *Feed) Preview(ctx context.Context, o ReplayRequest) (map[string]int64, error) {
	rows, err := f.pool.Query(ctx, "select e.type, count(*)"+inReplay+" group by e.type", o.Subscriber, o.From, o.To, o.OnlyParked)
	if err != nil {
		return nil, fmt.Errorf("preview a replay: %w", err)
	}
	counts := map[string]int64{}
	var kind string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&kind, &n}, func() error { counts[kind] = n; return nil }); err != nil {
		return nil, fmt.Errorf("preview a replay: %w", err)
	}
	if len(counts) == 0 {
		return nil, &NothingToReplayError{o}
	}
	return counts, nil
}

// Replay records a replay. The group's own subscription delivers it between its batches, in order,
// and does not move the group's position. A replay waits for earlier ones and for a process that
// subscribes. Its range ends at the group's position at the latest. Error: *NothingToReplayError.
func (f *Feed) Replay(ctx context.Context, o ReplayRequest) (Replay, error) {
	if o.From < 1 || o.To < o.From {
		return Replay{}, fmt.Errorf("start a replay: the range from %d to %d is not valid; positions start at 1", o.From, o.To)
	}
	rows, err := f.pool.Query(ctx, `
		insert into replays (subscription, first_position, last_position, only_parked, position, events, ordered_by)
		select $1::text, $2::bigint, max(e.position), $4::boolean, $2::bigint - 1, count(*), $5::text`+inReplay+` having count(*) > 0
		returning `+replayColumns, o.Subscriber, o.From, o.To, o.OnlyParked, o.By)
	if err != nil {
		return Replay{}, fmt.Errorf("start a replay: %w", err)
	}
	r, err := pgx.CollectExactlyOneRow(rows, scanReplay)
	if errors.Is(err, pgx.ErrNoRows) {
		return Replay{}, &NothingToReplayError{o}
	}
	if err != nil {
		return Replay{}, fmt.Errorf("start a replay: %w", err)
	}
	return r, f.wakeSubscribers(ctx)
}

// ReplayProgress returns the current state of a replay.
func (f *Feed) ReplayProgress(ctx context.Context, id int64) (Replay, error) {
	r, err := f.oneReplay(ctx, "select "+replayColumns+" from replays where id = $1", id)
	if err == nil && r == nil {
		err = fmt.Errorf("unknown replay %d", id)
	}
	if err != nil {
		return Replay{}, err
	}
	return *r, nil
}

// CancelReplays ends the open replays of a group. A batch that is being delivered is still finished.
func (f *Feed) CancelReplays(ctx context.Context, group string) ([]Replay, error) {
	rows, err := f.pool.Query(ctx, `update replays set finished_at = clock_timestamp(), canceled = true
		where subscription = $1 and finished_at is null returning `+replayColumns, group)
	if err != nil {
		return nil, fmt.Errorf("cancel the replays of %s: %w", group, err)
	}
	canceled, err := pgx.CollectRows(rows, scanReplay)
	if err != nil {
		return nil, fmt.Errorf("cancel the replays of %s: %w", group, err)
	}
	return canceled, nil
}

// openReplay returns the oldest open replay of a group, or nil.
func (f *Feed) openReplay(ctx context.Context, group string) (*Replay, error) {
	return f.oneReplay(ctx, "select "+replayColumns+" from replays where subscription = $1 and finished_at is null order by id limit 1", group)
}

func (f *Feed) oneReplay(ctx context.Context, sql string, args ...any) (*Replay, error) {
	rows, err := f.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read a replay: %w", err)
	}
	r, err := pgx.CollectOneRow(rows, scanReplay)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a replay: %w", err)
	}
	return &r, nil
}

func scanReplay(row pgx.CollectableRow) (Replay, error) {
	var r Replay
	err := row.Scan(&r.ID, &r.Subscriber, &r.From, &r.To, &r.OnlyParked, &r.Events, &r.Delivered, &r.Failed,
		&r.OrderedBy, &r.OrderedAt, &r.FinishedAt, &r.Canceled)
	r.OrderedAt, r.FinishedAt = r.OrderedAt.UTC(), inUTC(r.FinishedAt)
	return r, err
}

// ReplayWindow is the time for which a finished replay is kept, as a record of the operator's action.
const ReplayWindow = 90 * 24 * time.Hour

// DeleteOldReplays deletes up to limit replays that finished before the window. It returns how many it
// deleted.
func (f *Feed) DeleteOldReplays(ctx context.Context, limit int) (int64, error) {
	done, err := f.pool.Exec(ctx, `delete from replays where id in (select id from replays
		where finished_at < clock_timestamp() - make_interval(secs => $1) order by id limit $2 for update skip locked)`,
		ReplayWindow.Seconds(), limit)
	if err != nil {
		return 0, fmt.Errorf("delete old replays: %w", err)
	}
	return done.RowsAffected(), nil
}
