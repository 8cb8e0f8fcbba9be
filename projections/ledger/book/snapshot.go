package book

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// pageRows is the number of events that one statement reads.
const pageRows = 2000

// maxPause is how long a snapshot waits for a reader that takes no rows, such as a pager.
// Meanwhile Postgres must keep old row versions.
const maxPause = 15 * time.Minute

// Snapshot is the log at one moment. It is used by one goroutine.
type Snapshot struct {
	tx    pgx.Tx
	codec *codec.Codec
}

// Open opens a snapshot, and Close ends it. Postgres ends the snapshot of a reader that
// takes no rows for 15 minutes.
func Open(ctx context.Context, pool *pgxpool.Pool, c *codec.Codec) (*Snapshot, error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	s := &Snapshot{tx: tx, codec: c}
	if _, err := tx.Exec(ctx, fmt.Sprintf("set local idle_in_transaction_session_timeout = %d", maxPause.Milliseconds())); err != nil {
		s.Close()
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return s, nil
}

// closeTimeout is the longest time that Close takes.
const closeTimeout = 5 * time.Second

// Close ends the snapshot. Its transaction is rolled back, which loses nothing because it
// is read-only.
func (s *Snapshot) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.tx.Rollback(ctx) // when the connection is lost, the transaction has ended too
}

// Known returns resource_not_found for an account that was never opened.
func (s *Snapshot) Known(ctx context.Context, accountIDs ...string) error {
	for _, id := range accountIDs {
		var known bool
		err := s.tx.QueryRow(ctx, "select exists (select from streams where stream in ($1, $2))",
			fold.Account.Stream(id).String(), fold.Credit.Stream(id).String()).Scan(&known)
		if err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		if !known {
			return fault.Newf(fault.ResourceNotFound, "There is no account %q. Check the id.", id)
		}
	}
	return nil
}

// Count returns the number of entries of an account. An empty accountID means all accounts.
func (s *Snapshot) Count(ctx context.Context, accountID string) (int64, error) {
	var n int64
	err := s.tx.QueryRow(ctx, `select coalesce(sum(version), 0)::bigint from streams
		where case when $1 = '' then stream like 'credit/%' else stream = 'credit/' || $1 end`, accountID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("read the ledger: %w", err)
	}
	return n, nil
}

// Stored is an event exactly as the log stores it.
type Stored struct {
	codec.Encoded
	Position   int64
	RecordedAt time.Time
}

const columns = "select position, recorded_at, stream, version, type, account_id, data::text, meta::text, chain from events "

// Stored reads the events of one stream in order, after a version.
func (s *Snapshot) Stored(ctx context.Context, stream eventstore.StreamID, after int64) iter.Seq2[Stored, error] {
	return s.pages(ctx, columns+"where stream = $1 and version > $2 order by version limit $3",
		func(last Stored) []any { return []any{stream.String(), max(last.Version, after), pageRows} })
}

// storedCredits reads the credit events of all accounts, one account after the other.
func (s *Snapshot) storedCredits(ctx context.Context) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		// The bounds come from the database, because its collation may differ from this
		// program's.
		var first, last *string
		err := s.tx.QueryRow(ctx, "select min(stream), max(stream) from streams where stream like 'credit/%'").Scan(&first, &last)
		if err != nil {
			yield(Stored{}, fmt.Errorf("read the ledger: %w", err))
			return
		}
		if first == nil {
			return
		}
		sql := columns + `where (stream, version) > ($1, $2) and stream <= $3 and stream like 'credit/%'
			order by stream, version limit $4`
		for e, err := range s.pages(ctx, sql, func(read Stored) []any {
			if read.Position == 0 {
				return []any{*first, 0, *last, pageRows}
			}
			return []any{read.Stream.String(), read.Version, *last, pageRows}
		}) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// storedInOrder reads the credit events of all accounts in the order of the log.
func (s *Snapshot) storedInOrder(ctx context.Context) iter.Seq2[Stored, error] {
	return s.pages(ctx, columns+"where position > $1 and stream like 'credit/%' order by position limit $2",
		func(last Stored) []any { return []any{last.Position, pageRows} })
}

// pages repeats a statement until it returns less than a page. Each time, after derives the
// arguments from the last row. pages stops at the first error.
func (s *Snapshot) pages(ctx context.Context, sql string, after func(last Stored) []any) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		var last Stored
		for {
			rows, err := s.tx.Query(ctx, sql, after(last)...)
			if err != nil {
				yield(Stored{}, fmt.Errorf("read the ledger: %w", err))
				return
			}
			page, err := pgx.CollectRows(rows, scanStored)
			if err != nil {
				yield(Stored{}, fmt.Errorf("read the ledger: %w", err))
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < pageRows {
				return
			}
			last = page[len(page)-1]
		}
	}
}

func scanStored(row pgx.CollectableRow) (Stored, error) {
	var e Stored
	var stream string
	var chain []byte
	if err := row.Scan(&e.Position, &e.RecordedAt, &stream, &e.Version, &e.Type, &e.AccountID, &e.Data, &e.Meta, &chain); err != nil {
		return e, err
	}
	var err error
	if e.Stream, err = codec.ParseStreamID(stream); err != nil {
		return e, fmt.Errorf("event at position %d: %w", e.Position, err)
	}
	if len(chain) != len(e.Chain) {
		return e, fmt.Errorf("event at position %d: its chain has %d bytes", e.Position, len(chain))
	}
	e.Chain = eventstore.Chain(chain)
	return e, nil
}
