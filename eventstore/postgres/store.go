package postgres

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Channel is the NOTIFY channel for committed events. The payload is empty.
const Channel = "vqa_log"

// Projection is an inline read model. It is updated in the transaction of the append, so that a read
// after a write is never stale. An error fails the append.
type Projection interface {
	// Queue adds the statements that apply the writes of one append to the read model. It uses
	// only the events and the State of the writes.
	Queue(trip *pgx.Batch, writes []eventstore.Write) error
}

// Store is the log. It is safe for concurrent use.
type Store struct {
	pool        *pgxpool.Pool
	codec       *codec.Codec
	projections []Projection
	log         *slog.Logger
	entropy     io.Reader
	// guard computes and checks MACs. It is nil when the store does neither.
	guard *Guard
	// refuse is the error of each append, or nil.
	refuse error
	// appended remembers the appends. It is nil without WithMemory.
	appended *appended

	// settled is the greatest known result of events_settled. A settled position stays settled.
	settled atomic.Int64
	// committed holds a token when events were committed since the last NOTIFY.
	committed chan struct{}
}

var _ eventstore.Store = (*Store)(nil)

// Option changes a Store.
type Option func(*Store)

// WithProjections adds inline read models. They are applied in the given order.
func WithProjections(projections ...Projection) Option {
	return func(s *Store) { s.projections = append(s.projections, projections...) }
}

// WithNonces adds a nonce from a source of randomness to each event that has none.
func WithNonces(entropy io.Reader) Option {
	return func(s *Store) { s.entropy = entropy }
}

// WithLogger sets where Run reports a NOTIFY that failed. Default: slog.Default.
func WithLogger(log *slog.Logger) Option {
	return func(s *Store) { s.log = log }
}

// WithGuard computes the MACs of what the store appends, and checks those of what it reads.
func WithGuard(guard *Guard) Option {
	return func(s *Store) { s.guard = guard }
}

// WithoutAppend refuses each append with an error, for tools that lack the keys of MACs.
func WithoutAppend(refuse error) Option {
	return func(s *Store) { s.refuse = refuse }
}

// New returns the log in the pool's database, which must have been migrated. The caller closes the
// pool. A process that appends must also start Run, which wakes the subscribers.
func New(pool *pgxpool.Pool, codec *codec.Codec, opts ...Option) *Store {
	s := &Store{pool: pool, codec: codec, log: slog.Default(), committed: make(chan struct{}, 1)}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// notifyTimeout bounds one NOTIFY. notifyInterval is the least time between two, so that they take
// little of a busy server's time. notifyPause is the wait after a failed one.
const (
	notifyTimeout  = 5 * time.Second
	notifyInterval = 2 * time.Millisecond
	notifyPause    = 200 * time.Millisecond
)

// Run wakes the subscribers of the log after commits. It returns nil when ctx ends. Commits during
// a NOTIFY, or within notifyInterval after it, share the next one.
func (s *Store) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.committed:
		}
		pause := notifyInterval
		if err := s.notify(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "could not notify the subscribers of the log", "error", err)
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
	// A lost notification is harmless, so the commit need not wait for the disk.
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
