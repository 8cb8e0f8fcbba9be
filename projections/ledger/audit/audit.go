package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// The bounds of the default number of readers, which is one per processor.
const (
	minReaders = 2
	maxReaders = 8
)

// GCPercent suits a process that only verifies (debug.SetGCPercent), because an audit keeps
// little memory and discards much.
const GCPercent = 400

// Auditor verifies ledgers.
type Auditor struct {
	// Pool needs one connection more than the number of readers.
	Pool *pgxpool.Pool
	// Codec decodes the events.
	Codec *codec.Codec
	// Models are the read models. Those of other streams than ledgers are compared when all streams are in scope.
	Models []projections.Projection
	// MACs checks that the service wrote each row. It is nil when the key is not at hand.
	MACs MACs
	// Readers is the number of connections that read at the same time. 0 means one per
	// processor, at least 2 and at most 8.
	Readers int

	// sizes are the default ones unless a test sets others.
	sizes sizes
}

// Scope selects what to verify. The zero value selects everything.
type Scope struct {
	// Accounts are accounts that must have a ledger. Without AllStreams only their ledgers are verified.
	Accounts []string
	// AllStreams selects all streams of the log, with their snapshots and read models, and what
	// belongs to no single stream (LogFacts).
	AllStreams bool
}

// Progress receives the number of verified events and the total. Several goroutines call it
// at the same time.
type Progress func(done, total int64)

// NoLedgerError means that neither the log nor a read model has a ledger of the account.
type NoLedgerError struct{ AccountID string }

func (e *NoLedgerError) Error() string {
	return fmt.Sprintf("account %s has no ledger; check the id", e.AccountID)
}

// Verify replays the streams in scope and reports every mismatch. A mismatch is not an
// error. Errors: *NoLedgerError, or the log cannot be read.
func (a *Auditor) Verify(ctx context.Context, scope Scope, progress Progress) (report Report, err error) {
	readers := a.Readers
	if readers == 0 {
		readers = min(max(runtime.GOMAXPROCS(0), minReaders), maxReaders)
	}
	snap, err := openSnapshot(ctx, a.Pool, min(readers, max(int(a.Pool.Config().MaxConns)-1, 1)))
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, snap.close(ctx)) }()
	scope.Accounts = slices.Compact(slices.Sorted(slices.Values(scope.Accounts)))
	scope.AllStreams = scope.AllStreams || len(scope.Accounts) == 0
	r := &run{snapshot: snap, scope: scope, sizes: cmp.Or(a.sizes, usualSizes), macs: a.MACs}
	if err := r.comparable(ctx, a.Models); err != nil {
		return Report{}, err
	}
	var total int64
	if err := snap.planner.QueryRow(ctx, sizeSQL, r.names()).Scan(&total); err != nil {
		return Report{}, fmt.Errorf("measure the log: %w", err)
	}
	var done atomic.Int64
	for _, tx := range snap.readers {
		r.readers = append(r.readers, &reader{
			scanner: scanner{tx: tx, codec: a.Codec, types: map[string]string{}, macs: a.MACs},
			sizes:   r.sizes, tables: r.tables, report: newReport(), damaged: map[string]bool{},
			made: make([][]madeRow, len(r.tables)), explained: make([][]uint64, len(r.tables)),
			done: func(n int64) { progress(done.Add(n), max(total, done.Load())) },
		})
	}
	return r.report(ctx)
}

// sizeSQL returns the number of events in scope, according to the heads of the streams.
const sizeSQL = "select coalesce(sum(version), 0)::bigint from streams where $1::text[] is null or stream = any($1)"

// run is one audit.
type run struct {
	*snapshot
	sizes
	scope  Scope
	tables []table
	// stale are the read models that were not compared, because they have another shape.
	stale   []string
	macs    MACs
	readers []*reader
	// facts are those of the whole log, or nil.
	facts *LogFacts
}

// report verifies the streams, then the log as a whole, and then the rows that no event explains.
func (r *run) report(ctx context.Context) (Report, error) {
	if err := r.verifyStreams(ctx); err != nil {
		return Report{}, err
	}
	total := newReport()
	for _, reader := range r.readers {
		total.merge(reader.report)
	}
	if r.scope.AllStreams {
		if err := r.verifyLog(ctx, &total); err != nil {
			return Report{}, err
		}
	}
	for i := range r.tables {
		if err := r.surplus(ctx, i, &total); err != nil {
			return Report{}, err
		}
	}
	total.Log = r.facts
	total.finish()
	return total, r.unknown(ctx, total)
}

// unknown returns a *NoLedgerError for a named account of which nothing was found.
func (r *run) unknown(ctx context.Context, total Report) error {
	for _, id := range r.scope.Accounts {
		var known bool
		err := r.planner.QueryRow(ctx, "select exists (select from events where stream = $1)", fold.Credit.Stream(id).String()).Scan(&known)
		if err != nil {
			return fmt.Errorf("find the ledger: %w", err)
		}
		if !known && !slices.ContainsFunc(total.Mismatches, func(m Mismatch) bool { return m.AccountID == id }) {
			return &NoLedgerError{id}
		}
	}
	return nil
}

// verifyStreams distributes the pieces of the plan to all readers.
func (r *run) verifyStreams(ctx context.Context) error {
	pieces := make(chan piece)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pieces)
		return r.plan(ctx, func(p piece) error {
			select {
			case pieces <- p:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for _, reader := range r.readers {
		group.Go(func() error {
			for p := range pieces {
				if err := reader.verify(ctx, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
