package postgres

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Channel is the NOTIFY channel that says that events were committed. Its payload
// is empty and carries no meaning.
const Channel = "vqa_log"

// Projection is an inline read model: it is changed in the transaction of the
// append, so that a read after a write is never stale. An error fails the append.
type Projection interface {
	// Queue adds the statements that bring the read model up to the writes of one
	// append. What it needs it finds in the writes: their events and Write.State.
	Queue(trip *pgx.Batch, writes []eventstore.Write) error
}

// Store is the log. It is safe for concurrent use.
type Store struct {
	pool        *pgxpool.Pool
	codec       *codec.Codec
	projections []Projection
	log         *slog.Logger

	// settled is the greatest known value of events_settled: a fact that stays true.
	settled atomic.Int64
	// committed holds a token when events were committed since the last NOTIFY.
	committed chan struct{}
}

var _ eventstore.Store = (*Store)(nil)

// Option changes a Store.
type Option func(*Store)

// WithProjections adds inline read models; they are applied in the given order.
func WithProjections(projections ...Projection) Option {
	return func(s *Store) { s.projections = append(s.projections, projections...) }
}

// WithLogger sets where Run reports a NOTIFY that failed. Default: slog.Default.
func WithLogger(log *slog.Logger) Option {
	return func(s *Store) { s.log = log }
}

// New returns the log in the pool's database, which must have been migrated. The
// pool stays the caller's. Whoever appends should also let Run run.
func New(pool *pgxpool.Pool, codec *codec.Codec, opts ...Option) *Store {
	s := &Store{pool: pool, codec: codec, log: slog.Default(), committed: make(chan struct{}, 1)}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// notifyTimeout bounds one NOTIFY; notifyInterval is the least time from one to the
// next, so that a busy log spends its time on events; notifyPause is the wait after a
// failed one.
const (
	notifyTimeout  = 5 * time.Second
	notifyInterval = 2 * time.Millisecond
	notifyPause    = 200 * time.Millisecond
)

// Run wakes the subscribers of the log after commits, until ctx ends; then it
// returns nil. Commits that come while a NOTIFY is under way, or too soon after it, share
// the next one.
func (s *Store) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.committed:
		}
		pause := notifyInterval
		if err := s.notify(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "subscribers of the log were not woken", "error", err)
			s.wake()
			pause = notifyPause
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func (s *Store) notify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	// Nothing is lost with it, so it need not wait for the disk.
	_, err := s.pool.Exec(ctx, "set local synchronous_commit = off; notify "+Channel)
	return err
}

// wake asks Run for a NOTIFY and never blocks.
func (s *Store) wake() {
	select {
	case s.committed <- struct{}{}:
	default:
	}
}
