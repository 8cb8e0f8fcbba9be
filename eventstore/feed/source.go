package feed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
)

// source provides Watermill's subscriber with the transactions, queries and pauses of one
// subscription. Only the subscriber's single goroutine calls it.
type source struct {
	*sql.DB
	// ctx is the context of the subscription. HandleError needs it, because Watermill passes
	// none.
	ctx   context.Context
	group string
	wake  <-chan struct{}
	log   *slog.Logger
	poll  time.Duration

	// settled is the last position that this poll may read. pending is true when later events
	// are visible but the writer of an earlier position is still open.
	settled int64
	pending bool
	// pause is the next wait while pending.
	pause time.Duration

	// failedPause is the next wait after a failed poll.
	failedPause time.Duration

	// turn is the source of this poll. Polls alternate between the log and the other sources, and
	// special is the last of those.
	turn, special turn
	// again is true when this poll reads the log although the last one did.
	again bool
	// more is true when another source than the log had events for this poll. next is the wait
	// until such a source may have events.
	more bool
	next time.Duration
	// replay is the id of the oldest open replay of the group, or 0.
	replay int64
	// batch has the positions of this poll.
	batch []int64

	// attempts and firstPause are the limits of WithRetry.
	attempts   int
	firstPause time.Duration
	// readable are the stored names of the events that this program knows. Another event waits for a
	// node that knows it, until it is unknownFor old.
	readable   []string
	unknownFor time.Duration
	// giveWay is true after a poll that met an unknown event: a newer node should take the group.
	giveWay bool
	failures
}

// turn is the source of a poll.
type turn int

const (
	turnLog    turn = iota
	turnRetry       // events that were set aside and are due
	turnReplay      // the oldest open replay
)

var (
	_ watermillsql.Beginner       = (*source)(nil)
	_ watermillsql.SchemaAdapter  = (*source)(nil)
	_ watermillsql.OffsetsAdapter = (*source)(nil)
	_ watermillsql.BackoffManager = (*source)(nil)
)

// errBusy says that another subscriber holds the group.
var errBusy = errors.New("another subscriber holds the group")

// groupLock is the first key of the advisory locks of groups.
const groupLock = 0x7671

const beginSQL = `select pg_try_advisory_xact_lock($1, hashtext($2)), events_settled(),
	(select coalesce(max(position), 0) from events),
	coalesce((select id from replays where subscription = $2 and finished_at is null order by id limit 1), 0)`

// The events that are set aside are read in a statement after the one that took the lock. Otherwise
// the snapshot could lack those of the last holder, and later events of their streams would pass them.
// Unknown events are due only when they are old enough to be parked.
const (
	isDue      = `(e.type = any($2) or e.recorded_at < clock_timestamp() - make_interval(secs => $3))`
	nextDueSQL = `
select (select extract(epoch from a.due_at - clock_timestamp())::float8 from set_aside a join events e on e.position = a.position
         where a.subscription = $1 and a.due_at is not null and ` + isDue + ` order by a.due_at limit 1),
       exists (select from set_aside where subscription = $1)`
)

// BeginTx begins the transaction of one poll. It takes the group's lock and finds the last position
// to read, before any further statement of the poll takes its snapshot. Then it chooses what to read.
func (s *source) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	if s.giveWay {
		s.giveWay = false
		s.wait(2*s.poll, nil) // an idle node polls once in this time
	}
	tx, err := s.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	var held, waiting bool
	var newest int64
	var due sql.NullFloat64
	err = tx.QueryRowContext(ctx, beginSQL, groupLock, s.group).Scan(&held, &s.settled, &newest, &s.replay)
	if err == nil && !held {
		err = errBusy
	}
	if err == nil {
		err = tx.QueryRowContext(ctx, nextDueSQL, s.group, s.readable, s.unknownFor.Seconds()).Scan(&due, &waiting)
	}
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	s.pending = newest > s.settled
	s.choose(due)
	s.batch = s.batch[:0]
	s.begin(s.turn, waiting)
	return tx, nil
}

// choose sets the turn of this poll. due has the seconds until the next event that was set aside is
// due, if there is one.
func (s *source) choose(due sql.NullFloat64) {
	s.next = s.poll
	later := func(d time.Duration) (now bool) {
		s.next = min(s.next, max(d, 0))
		return d <= 0
	}
	retry := due.Valid && later(time.Duration(due.Float64*float64(time.Second)))
	replay := s.replay != 0 && later(time.Until(s.replayed.again))
	s.more = retry || replay
	// A batch of the log with a slow failure has delayed the events that were committed meanwhile.
	// The log is read once more, so that they do not wait for another slow failure.
	s.again = s.turn == turnLog && len(s.slowNow) > 0 && !s.again
	switch {
	case s.turn != turnLog || s.again || !s.more:
		s.turn = turnLog
		return
	case retry && (!replay || s.special == turnReplay):
		s.turn = turnRetry
	default:
		s.turn = turnReplay
	}
	s.special = s.turn
}

// SubscribeIsolationLevel implements SchemaAdapter. Each statement needs a new snapshot.
func (s *source) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelReadCommitted }

const selectSQL = `
select position, stream, version, type, account_id, data::text, meta::text, recorded_at, chain, mac, 0
  from events
 where position > coalesce((select position from subscriptions where name = $1), 0)
   and position <= $2
 order by position
 limit $3`

// The replay is read in a statement after the one that took the lock, so that its snapshot is not
// older than the lock. The same holds for the group's position. An event that is set aside is left out,
// because it will be delivered anyway, after the earlier events of its stream.
const selectReplaySQL = `
select position, stream, version, type, account_id, data::text, meta::text, recorded_at, chain, mac, 0
  from events e
 where position > (select position from replays where id = $1)
   and position <= (select last_position from replays where id = $1)
   and (not (select only_parked from replays where id = $1)
        or exists (select from parked p where p.subscription = $2 and p.position = e.position))
   and not exists (select from set_aside a where a.subscription = $2 and a.position = e.position)
 order by position
 limit $3`

const selectDueSQL = `
select e.position, e.stream, e.version, e.type, e.account_id, e.data::text, e.meta::text, e.recorded_at, e.chain, e.mac, a.attempts
  from set_aside a join events e on e.position = a.position
 where a.subscription = $1 and a.due_at <= clock_timestamp() and ` + isDue + `
 order by a.due_at, a.position
 limit $4`

// SelectQuery implements SchemaAdapter.
func (s *source) SelectQuery(_, group string, _ watermillsql.OffsetsAdapter) watermillsql.Query {
	switch s.turn {
	case turnReplay:
		return watermillsql.Query{Query: selectReplaySQL, Args: []any{s.replay, group, batchSize}}
	case turnRetry:
		return watermillsql.Query{Query: selectDueSQL, Args: []any{group, s.readable, s.unknownFor.Seconds(), batchSize}}
	default:
		return watermillsql.Query{Query: selectSQL, Args: []any{group, s.settled, batchSize}}
	}
}

// UnmarshalMessage implements SchemaAdapter. It does not decode the event, because an event that
// cannot be decoded must be parked and must not stop the group.
func (s *source) UnmarshalMessage(row watermillsql.Scanner) (watermillsql.Row, error) {
	var r stored
	if err := row.Scan(&r.position, &r.stream, &r.version, &r.kind, &r.account, &r.data, &r.meta, &r.at, &r.chain, &r.mac, &r.attempts); err != nil {
		return watermillsql.Row{}, fmt.Errorf("scan an event: %w", err)
	}
	msg := r.message()
	if s.turn == turnReplay {
		msg.Metadata.Set(keyReplay, strconv.FormatInt(s.replay, 10))
	}
	s.batch = append(s.batch, r.position)
	return watermillsql.Row{Offset: r.position, Msg: msg}, nil
}

// AckMessageQuery implements OffsetsAdapter. Watermill calls it once for a batch, with the last handled
// row. Only a batch of the log changes the group's position. A replay records the last event before one
// that it will try again.
func (s *source) AckMessageQuery(_ string, row watermillsql.Row, group string) watermillsql.Query {
	nothing := watermillsql.Query{Query: "select 1"} // it fails when the transaction was lost
	switch s.turn {
	case turnRetry:
		return nothing
	case turnReplay:
		last := row.Offset + 1
		if s.replayed.stopped != 0 {
			last = s.replayed.stopped
		}
		handled, _ := slices.BinarySearch(s.batch, last)
		if handled == 0 {
			return nothing
		}
		return watermillsql.Query{
			Query: `update replays set position = $2, delivered = delivered + $3,
				finished_at = case when $2 = last_position then coalesce(finished_at, clock_timestamp()) else finished_at end
				where id = $1`,
			Args: []any{s.replay, s.batch[handled-1], handled},
		}
	default:
		return watermillsql.Query{
			Query: `insert into subscriptions (name, position) values ($1, $2)
			on conflict (name) do update set position = excluded.position, updated_at = clock_timestamp()`,
			Args: []any{group, row.Offset},
		}
	}
}

// NextOffsetQuery implements OffsetsAdapter. SelectQuery reads the position itself.
func (s *source) NextOffsetQuery(string, string) watermillsql.Query { return watermillsql.Query{} }

// ConsumedMessageQuery implements OffsetsAdapter. It is not needed, because the group is locked.
func (s *source) ConsumedMessageQuery(string, watermillsql.Row, string, []byte) watermillsql.Query {
	return watermillsql.Query{}
}

// BeforeSubscribingQueries implements OffsetsAdapter. There are none, because the first ack inserts the
// group's row.
func (s *source) BeforeSubscribingQueries(string, string) []watermillsql.Query { return nil }

// SchemaInitializingQueries implements both adapters. There are none, because migrations create the
// schema.
func (s *source) SchemaInitializingQueries(string) []watermillsql.Query { return nil }

// InsertQuery implements SchemaAdapter. It fails, because only Append adds events.
func (s *source) InsertQuery(string, message.Messages) (watermillsql.Query, error) {
	return watermillsql.Query{}, errors.New("publishing is not supported: append events with eventstore.Store")
}

// ackDeadline is the ack deadline of Watermill, which commits half-done work when it passes. It must be
// much longer than a delivery with all its attempts.
const ackDeadline = 24 * time.Hour

// The pauses between polls while a writer of an earlier position is open. The pause doubles from the
// minimum to the maximum. The pauses after failed polls double, too.
const (
	pendingPauseMin = 2 * time.Millisecond
	pendingPauseMax = 100 * time.Millisecond
	failedPauseMin  = 20 * time.Millisecond
	failedPauseMax  = 500 * time.Millisecond
)

// finishTimeout bounds the statement that ends a replay.
const finishTimeout = 10 * time.Second

// HandleError implements BackoffManager. It waits by itself and returns 0, so that a notification can
// end the wait.
func (s *source) HandleError(_ watermill.LoggerAdapter, noMsg bool, err error) time.Duration {
	s.lost.recorded(err == nil)
	switch {
	case s.ctx.Err() != nil:
	case errors.Is(err, errBusy):
		s.wait(s.poll, nil)
	case err != nil:
		s.log.Warn("could not poll the log", "error", err)
		s.wait(s.failedPause, nil)
		s.failedPause = min(2*s.failedPause, failedPauseMax)
		return 0
	case noMsg && s.turn == turnReplay:
		s.finishReplay()
	case noMsg && (s.turn == turnRetry || s.more): // the next poll reads another source
	case noMsg && s.pending:
		s.wait(min(s.pause, s.next), s.wake)
		s.pause = min(2*s.pause, pendingPauseMax)
		return 0
	case noMsg:
		s.wait(s.next, s.wake)
	}
	s.pause, s.failedPause = pendingPauseMin, failedPauseMin
	return 0
}

// finishReplay ends a replay without remaining events. This happens when its last event has left the
// table parked, so that no ack has ended the replay.
func (s *source) finishReplay() {
	ctx, cancel := context.WithTimeout(s.ctx, finishTimeout)
	defer cancel()
	_, err := s.ExecContext(ctx, "update replays set finished_at = clock_timestamp() where id = $1 and finished_at is null", s.replay)
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("could not finish a replay", "replay", s.replay, "error", err)
		s.wait(failedPauseMax, nil)
	}
}

func (s *source) wait(d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}
