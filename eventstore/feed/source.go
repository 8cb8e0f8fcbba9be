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

	// replay is the id of the oldest open replay of the group, or 0. While there is one, polls
	// alternate between it and the log. replaying is true when this poll reads the replay.
	replay    int64
	replaying bool
	// batch has the positions of this poll.
	batch []int64
}

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

// BeginTx begins the transaction of one poll. It takes the group's lock and finds the last position
// to read, before any further statement of the poll takes its snapshot.
func (s *source) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	tx, err := s.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	var held bool
	var newest int64
	err = tx.QueryRowContext(ctx, beginSQL, groupLock, s.group).Scan(&held, &s.settled, &newest, &s.replay)
	if err == nil && !held {
		err = errBusy
	}
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	s.pending = newest > s.settled
	s.replaying = s.replay != 0 && !s.replaying
	s.batch = s.batch[:0]
	return tx, nil
}

// SubscribeIsolationLevel implements SchemaAdapter. Each statement needs a new snapshot.
func (s *source) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelReadCommitted }

const selectSQL = `
select position, stream, version, type, account_id, data::text, meta::text, recorded_at, chain
  from events
 where position > coalesce((select position from subscriptions where name = $1), 0)
   and position <= $2
 order by position
 limit $3`

// The replay is read in a statement after the one that took the lock, so that its snapshot is not
// older than the lock. The same holds for the group's position.
const selectReplaySQL = `
select position, stream, version, type, account_id, data::text, meta::text, recorded_at, chain
  from events e
 where position > (select position from replays where id = $1)
   and position <= (select last_position from replays where id = $1)
   and (not (select only_parked from replays where id = $1)
        or exists (select from parked p where p.subscription = $2 and p.position = e.position))
 order by position
 limit $3`

// SelectQuery implements SchemaAdapter.
func (s *source) SelectQuery(_, group string, _ watermillsql.OffsetsAdapter) watermillsql.Query {
	if s.replaying {
		return watermillsql.Query{Query: selectReplaySQL, Args: []any{s.replay, group, batchSize}}
	}
	return watermillsql.Query{Query: selectSQL, Args: []any{group, s.settled, batchSize}}
}

// UnmarshalMessage implements SchemaAdapter. It does not decode the event, because an event that
// cannot be decoded must be parked and must not stop the group.
func (s *source) UnmarshalMessage(row watermillsql.Scanner) (watermillsql.Row, error) {
	var r stored
	if err := row.Scan(&r.position, &r.stream, &r.version, &r.kind, &r.account, &r.data, &r.meta, &r.at, &r.chain); err != nil {
		return watermillsql.Row{}, fmt.Errorf("scan an event: %w", err)
	}
	msg := r.message()
	if s.replaying {
		msg.Metadata.Set(keyReplay, strconv.FormatInt(s.replay, 10))
	}
	s.batch = append(s.batch, r.position)
	return watermillsql.Row{Offset: r.position, Msg: msg}, nil
}

// AckMessageQuery implements OffsetsAdapter. Watermill calls it once for a batch, with the last handled
// row. A replay does not change the group's position.
func (s *source) AckMessageQuery(_ string, row watermillsql.Row, group string) watermillsql.Query {
	if s.replaying {
		handled, _ := slices.BinarySearch(s.batch, row.Offset+1)
		return watermillsql.Query{
			Query: `update replays set position = $2, delivered = delivered + $3,
				finished_at = case when $2 = last_position then coalesce(finished_at, clock_timestamp()) else finished_at end
				where id = $1`,
			Args: []any{s.replay, row.Offset, handled},
		}
	}
	return watermillsql.Query{
		Query: `insert into subscriptions (name, position) values ($1, $2)
			on conflict (name) do update set position = excluded.position, updated_at = clock_timestamp()`,
		Args: []any{group, row.Offset},
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
// minimum to the maximum. failedPollPause is the pause after a failed poll.
const (
	pendingPauseMin = 2 * time.Millisecond
	pendingPauseMax = 100 * time.Millisecond
	failedPollPause = 500 * time.Millisecond
)

// finishTimeout bounds the statement that ends a replay.
const finishTimeout = 10 * time.Second

// HandleError implements BackoffManager. It waits by itself and returns 0, so that a notification can
// end the wait.
func (s *source) HandleError(_ watermill.LoggerAdapter, noMsg bool, err error) time.Duration {
	switch {
	case s.ctx.Err() != nil:
	case errors.Is(err, errBusy):
		s.wait(s.poll, nil)
	case err != nil:
		s.log.Warn("could not poll the log", "error", err)
		s.wait(failedPollPause, nil)
	case noMsg && s.replaying:
		s.finishReplay()
	case noMsg && s.replay != 0: // the next poll reads the replay
	case noMsg && s.pending:
		s.wait(s.pause, s.wake)
		s.pause = min(2*s.pause, pendingPauseMax)
		return 0
	case noMsg:
		s.wait(s.poll, s.wake)
	}
	s.pause = pendingPauseMin
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
		s.wait(failedPollPause, nil)
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
