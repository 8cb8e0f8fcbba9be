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

// source is what Watermill's subscriber asks for transactions, queries and pauses
// of one subscription. Only the subscriber's one goroutine calls it.
type source struct {
	*sql.DB
	// ctx is the subscription's: HandleError is given none but has to wait.
	ctx   context.Context
	group string
	wake  <-chan struct{}
	log   *slog.Logger
	poll  time.Duration

	// settled is how far this poll may read; pending, that more is recorded but
	// waits for a writer of an earlier position.
	settled int64
	pending bool
	// pause is the next wait while pending.
	pause time.Duration

	// replay is the oldest open order of the group, 0 for none. While there is one, polls
	// alternate between it and the log, so that neither holds the other up; replaying
	// says whose turn this poll is.
	replay    int64
	replaying bool
	// batch are the positions of this poll.
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

// groupLock is the space of the advisory locks that hold groups.
const groupLock = 0x7671

const beginSQL = `select pg_try_advisory_xact_lock($1, hashtext($2)), events_settled(),
	(select coalesce(max(position), 0) from events),
	coalesce((select id from replays where subscription = $2 and finished_at is null order by id limit 1), 0)`

// BeginTx begins the transaction of one poll. It holds the group and knows how far
// to read before any statement of the poll proper takes its snapshot.
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

// SubscribeIsolationLevel implements SchemaAdapter: a snapshot for each statement.
func (s *source) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelReadCommitted }

const selectSQL = `
select position, stream, version, type, account_id, data::text, meta::text, recorded_at, chain
  from events
 where position > coalesce((select position from subscriptions where name = $1), 0)
   and position <= $2
 order by position
 limit $3`

// The replay is read in a statement after the one that took the lock, as the group's
// position is, and for the same reason.
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

// UnmarshalMessage implements SchemaAdapter. It does not decode the event: one that
// cannot be decoded is to be parked, not to stop the group.
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

// AckMessageQuery implements OffsetsAdapter. It is called once for a batch, with the
// last of its rows that were handled. A replay leaves the group's position alone.
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

// ConsumedMessageQuery implements OffsetsAdapter. The group's lock makes it needless.
func (s *source) ConsumedMessageQuery(string, watermillsql.Row, string, []byte) watermillsql.Query {
	return watermillsql.Query{}
}

// BeforeSubscribingQueries implements OffsetsAdapter. A group's row is made by its
// first ack.
func (s *source) BeforeSubscribingQueries(string, string) []watermillsql.Query { return nil }

// SchemaInitializingQueries implements both adapters. Migrations make the schema.
func (s *source) SchemaInitializingQueries(string) []watermillsql.Query { return nil }

// InsertQuery implements SchemaAdapter. Events are only added by Append.
func (s *source) InsertQuery(string, message.Messages) (watermillsql.Query, error) {
	return watermillsql.Query{}, errors.New("the log is appended to, not published to")
}

// ackDeadline is Watermill's, which commits half-done work when it passes: no
// delivery, with all its attempts, may come near it.
const ackDeadline = 24 * time.Hour

// How often to look again while a writer of an earlier position is open, from the
// first look to a writer that takes long; and the wait after a failed poll.
const (
	pendingPauseMin = 2 * time.Millisecond
	pendingPauseMax = 100 * time.Millisecond
	failedPollPause = 500 * time.Millisecond
)

// finishTimeout bounds the statement that ends an order.
const finishTimeout = 10 * time.Second

// HandleError implements BackoffManager. It waits here instead of returning how
// long to wait, so that a wake-up ends the wait.
func (s *source) HandleError(_ watermill.LoggerAdapter, noMsg bool, err error) time.Duration {
	switch {
	case s.ctx.Err() != nil:
	case errors.Is(err, errBusy):
		s.wait(s.poll, nil)
	case err != nil:
		s.log.Warn("the log could not be polled", "error", err)
		s.wait(failedPollPause, nil)
	case noMsg && s.replaying:
		s.finishReplay()
	case noMsg && s.replay != 0: // its turn comes next
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

// finishReplay ends an order of which nothing is left to deliver although its last
// event was not delivered: it is no longer parked.
func (s *source) finishReplay() {
	ctx, cancel := context.WithTimeout(s.ctx, finishTimeout)
	defer cancel()
	_, err := s.ExecContext(ctx, "update replays set finished_at = clock_timestamp() where id = $1 and finished_at is null", s.replay)
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("a replay could not be finished", "replay", s.replay, "error", err)
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
