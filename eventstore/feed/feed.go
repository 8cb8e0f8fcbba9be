package feed

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Handler handles one event. ctx ends with the subscription or at the handler's deadline.
type Handler func(ctx context.Context, e eventstore.Recorded) error

// Tx returns the transaction that commits together with the group's position, or nil outside of a
// Handler. The handler may use it until it returns. It must neither commit nor roll back. The first call
// makes a savepoint, to which the transaction returns when the handler fails.
func Tx(ctx context.Context) *sql.Tx {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	if a == nil {
		return nil
	}
	a.begin.Do(a.makeSavepoint)
	return a.tx
}

// Feed delivers the log. It is safe for concurrent use.
type Feed struct {
	pool  *pgxpool.Pool
	codec *codec.Codec
	log   *slog.Logger

	poll           time.Duration
	attempts       int
	firstPause     time.Duration
	handlerTimeout time.Duration
	unknownFor     time.Duration
	// check is that of WithCheck, or nil.
	check Check

	mu     sync.Mutex
	wakers map[chan struct{}]struct{}
}

// Option changes a Feed.
type Option func(*Feed)

// WithPollInterval sets how often an idle subscriber polls without a notification. Default: 1 s.
func WithPollInterval(d time.Duration) Option { return func(f *Feed) { f.poll = d } }

// WithRetry sets the number of attempts before an event is parked, and the pause after the first
// failure. The pause doubles each time, up to 5 s. Default: 10 attempts and 100 ms, which is 21 s in
// all.
func WithRetry(attempts int, firstPause time.Duration) Option {
	return func(f *Feed) { f.attempts, f.firstPause = max(attempts, 1), firstPause }
}

// WithHandlerTimeout sets the deadline of one attempt. Events of other streams wait for at most one
// attempt of a failing event. Default: 800 ms.
func WithHandlerTimeout(d time.Duration) Option { return func(f *Feed) { f.handlerTimeout = d } }

// WithUnknownFor sets how old an event of an unknown type must be to be parked. Until then it waits for
// a node that knows the type. Default: a day.
func WithUnknownFor(d time.Duration) Option { return func(f *Feed) { f.unknownFor = d } }

// Check returns an error for a stored event that the service did not write. mac is the column of that name.
type Check func(e codec.Encoded, position int64, mac []byte) error

// WithCheck parks each event that the check refuses, without delivering it. Default: no check.
func WithCheck(check Check) Option { return func(f *Feed) { f.check = check } }

// batchSize bounds the events of one transaction, which are delivered again after a crash.
const batchSize = 100

// maxPause bounds the pause between two attempts.
const maxPause = 5 * time.Second

// New returns a feed of the log in the pool's database. The caller closes the pool. Each subscription
// uses one of its connections while it delivers.
func New(pool *pgxpool.Pool, codec *codec.Codec, log *slog.Logger, opts ...Option) *Feed {
	f := &Feed{
		pool: pool, codec: codec, log: log,
		poll: time.Second, attempts: 10, firstPause: 100 * time.Millisecond, handlerTimeout: 800 * time.Millisecond,
		unknownFor: 24 * time.Hour,
		wakers:     map[chan struct{}]struct{}{},
	}
	for _, opt := range opts {
		opt(f)
	}
	return f
}

// topic is the name of the log in Watermill.
const topic = "events"

// Subscribe delivers the log to handler until ctx ends. Then it waits for the handler and returns
// nil. A new group starts with the first event of the log. Any number of subscribers in any process
// may share a group.
func (f *Feed) Subscribe(ctx context.Context, group string, handler Handler) error {
	if group == "" {
		return fmt.Errorf("subscribe: the group has no name")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wake := f.addWaker()
	defer f.removeWaker(wake)
	db := stdlib.OpenDBFromPool(f.pool)
	defer func() { _ = db.Close() }() // this does not close the pool

	log := f.log.With("group", group)
	logger := watermill.NewSlogLoggerWithLevelMapping(log, map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug, // Watermill logs start and stop at Info
	})
	source := &source{
		DB: db, ctx: ctx, group: group, wake: wake, log: log,
		poll: f.poll, pause: pendingPauseMin, failedPause: failedPauseMin,
		attempts: f.attempts, firstPause: f.firstPause, readable: f.codec.Readable(), unknownFor: f.unknownFor,
	}
	deadline := ackDeadline
	subscriber, err := watermillsql.NewSubscriber(source, watermillsql.SubscriberConfig{
		ConsumerGroup:  group,
		AckDeadline:    &deadline,
		SchemaAdapter:  source,
		OffsetsAdapter: source,
		BackoffManager: source,
	}, logger)
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", group, err)
	}
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: f.handlerTimeout + maxPause}, logger)
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", group, err)
	}
	// From the inside out: a panic or a timeout becomes an error. The writes of a failed attempt are
	// undone. The event is done, set aside or parked.
	router.AddMiddleware(source.deliver, savepoint(log), middleware.Timeout(f.handlerTimeout), middleware.Recoverer)
	router.AddConsumerHandler(group, topic, subscriber, func(msg *message.Message) error {
		if f.check != nil {
			if err := checkMessage(msg, f.check); err != nil {
				return err
			}
		}
		e, err := fromMessage(f.codec, msg)
		if err != nil {
			return &undecodableError{err}
		}
		return handler(msg.Context(), e)
	})
	if err := router.Run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("subscribe %s: %w", group, err)
	}
	cancel()
	if err := subscriber.Close(); err != nil {
		return fmt.Errorf("subscribe %s: %w", group, err)
	}
	return nil
}
