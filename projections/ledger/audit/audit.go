package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"vqa/domain/credit"
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
	// Codec decodes the entries.
	Codec *codec.Codec
	// Models are the read models of the ledger (ledger.Projections).
	Models []projections.Projection
	// Others are the other read models (resources.Projections). They are compared when all streams
	// are in scope.
	Others []projections.Projection
	// MACs checks that the service wrote each row. It is nil when the key is not at hand.
	MACs MACs
	// Readers is the number of connections that read at the same time. 0 means one per
	// processor, at least 2 and at most 8.
	Readers int

	// sizes are the default ones unless a test sets others.
	sizes sizes
}

// Scope selects what to verify.
type Scope struct {
	// Accounts are the accounts whose ledgers are verified. Empty means all accounts.
	Accounts []string
	// AllStreams adds all other streams of the log, with their snapshots and read models, and what
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

// Verify replays the ledgers in scope and reports every mismatch. A mismatch is not an
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
	r := &run{snapshot: snap, scope: scope, sizes: cmp.Or(a.sizes, usualSizes), macs: a.MACs}
	for _, m := range a.Models {
		r.tables = append(r.tables, newTable(m))
	}
	if scope.AllStreams {
		if r.others, err = r.comparable(ctx, a.Others); err != nil {
			return Report{}, err
		}
	}
	if r.total, err = r.size(ctx); err != nil {
		return Report{}, err
	}
	var done atomic.Int64
	for _, tx := range snap.readers {
		r.readers = append(r.readers, &reader{
			scanner: scanner{tx: tx, codec: a.Codec, types: map[string]string{}, macs: a.MACs},
			sizes:   r.sizes, tables: r.tables, others: r.others, report: newReport(),
			done: func(n int64) { progress(done.Add(n), max(r.total, done.Load())) },
		})
	}
	return r.report(ctx)
}

// run is one audit.
type run struct {
	*snapshot
	sizes
	scope  Scope
	tables []*table
	// others are the read models of all other categories.
	others []*otherTable
	// stale are the read models that were not compared, because they have another shape.
	stale   []string
	macs    MACs
	readers []*reader
	total   int64
	// facts are those of the whole log, or nil.
	facts *LogFacts
}

// size returns the number of events in scope, according to the heads of the streams.
func (r *run) size(ctx context.Context) (int64, error) {
	var n int64
	err := r.planner.QueryRow(ctx, `select coalesce(sum(version), 0)::bigint from streams
		where $1 or case when $2::text[] is null then starts_with(stream, 'credit/') else stream = any($2) end`,
		r.scope.AllStreams, r.ledgers()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("measure the log: %w", err)
	}
	return n, nil
}

// ledgers returns the streams of the accounts in scope, or nil for all.
func (r *run) ledgers() []string {
	var names []string
	for _, id := range r.scope.Accounts {
		names = append(names, fold.Credit.Stream(id).String())
	}
	return names
}

// report verifies the keys, then the ledgers, then the other streams.
func (r *run) report(ctx context.Context) (Report, error) {
	if err := r.verifyKeys(ctx); err != nil {
		return Report{}, err
	}
	if err := r.verifyLedgers(ctx); err != nil {
		return Report{}, err
	}
	if r.scope.AllStreams {
		for _, step := range []func(context.Context) error{r.verifyOthers, r.verifyLog, r.verifySurplus} {
			if err := step(ctx); err != nil {
				return Report{}, err
			}
		}
	}
	total := newReport()
	total.Log = r.facts
	for _, reader := range r.readers {
		total.merge(reader.report)
	}
	total.finish()
	if len(r.scope.Accounts) > 0 {
		for _, reader := range r.readers {
			for _, id := range reader.unknown {
				return Report{}, &NoLedgerError{id}
			}
		}
	}
	return total, nil
}

// spread distributes the pieces of a plan to all readers.
func (r *run) spread(ctx context.Context, work func(*reader, context.Context, piece) error, plan func(ctx context.Context, emit func(piece) error) error) error {
	pieces := make(chan piece)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pieces)
		return plan(ctx, func(p piece) error {
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
				if err := work(reader, ctx, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// verifyKeys verifies the stream of the keys that sign the transparency log.
func (r *run) verifyKeys(ctx context.Context) error {
	name := fold.LedgerKeys.Stream(credit.LedgerKeysID).String()
	found, err := headsOf(ctx, r.planner, []string{name})
	if err != nil {
		return err
	}
	h := &history{head: found[0]}
	h.apply = func(e stored) { h.account = e.account }
	first := r.readers[0]
	if err := first.scan(ctx, true, func(_ string, e stored) { h.take(e) }, streamsSQL, []string{name}); err != nil {
		return err
	}
	h.end()
	first.report.add(h.verdict()...)
	first.stream(h)
	return nil
}

// verifyLedgers verifies the ledgers in scope. It starts with those in the log and
// continues with those that only a read model knows.
func (r *run) verifyLedgers(ctx context.Context) error {
	if len(r.scope.Accounts) > 0 {
		return r.verifyNamed(ctx, r.scope.Accounts)
	}
	err := r.spread(ctx, (*reader).verify, func(ctx context.Context, emit func(piece) error) error {
		return r.category(ctx, r.planner, fold.Credit.Category(), r.part, emit)
	})
	if err != nil {
		return err
	}
	unknown, err := strangers(ctx, r.planner, r.tables)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, reader := range r.readers {
		for _, stream := range reader.strays {
			unknown = append(unknown, accountOf(stream))
		}
	}
	var rest []string
	for _, id := range unknown {
		if !seen[id] {
			seen[id] = true
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return r.verifyNamed(ctx, rest)
}

// verifyNamed verifies the ledgers of the named accounts.
func (r *run) verifyNamed(ctx context.Context, accounts []string) error {
	var names []string
	for _, id := range accounts {
		names = append(names, fold.Credit.Stream(id).String())
	}
	found, err := headsOf(ctx, r.planner, names)
	if err != nil {
		return err
	}
	return r.spread(ctx, (*reader).verify, func(_ context.Context, emit func(piece) error) error {
		for _, h := range found {
			if err := r.whole(h, emit); err != nil {
				return err
			}
		}
		return nil
	})
}

// verifyOthers verifies the chains of all streams that are not ledgers.
func (r *run) verifyOthers(ctx context.Context) error {
	categories, err := otherCategories(ctx, r.planner)
	if err != nil {
		return err
	}
	for _, category := range categories {
		err := r.spread(ctx, (*reader).chains, func(ctx context.Context, emit func(piece) error) error {
			return r.category(ctx, r.planner, category, math.MaxInt64, emit)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
