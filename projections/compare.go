package projections

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// manyAccounts is the largest number of differing accounts that are compared one by one.
// Above it, whole tables are compared.
const manyAccounts = 1000

// compareAll folds the events that were appended during the fill, and compares all rows in
// one snapshot, by a digest per account. It blocks nothing.
func (w *work) compareAll(ctx context.Context) (Certificate, error) {
	c := Certificate{}
	// The last events are folded in the same snapshot that is compared, so only few may be
	// left.
	if err := w.catchUpRounds(ctx, 10*fewEvents, nil); err != nil {
		return c, fmt.Errorf("catch up with the log: %w", err)
	}
	live, err := w.Owner.Acquire(ctx)
	if err != nil {
		return c, err
	}
	defer live.Release()
	_, _, err = w.round(ctx, func(tx pgx.Tx, snapshot string, _ roundResult) error {
		c = Certificate{Equal: true}
		return pgx.BeginTxFunc(ctx, live, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(liveTx pgx.Tx) error {
			if _, err := liveTx.Exec(ctx, "set transaction snapshot '"+snapshot+"'"); err != nil {
				return err
			}
			w.report(Comparing, 0, int64(len(w.models)))
			for i, m := range w.models {
				left, err := w.unreadable.accounts(ctx, tx, m)
				if err != nil {
					return fmt.Errorf("%s: %w", m.Table(), err)
				}
				p, err := proof(ctx, tx, liveTx, m, left)
				if err != nil {
					return fmt.Errorf("%s: %w", m.Table(), err)
				}
				c.Tables = append(c.Tables, p)
				c.Equal = c.Equal && p.Equal()
				w.report(Comparing, int64(i+1), int64(len(w.models)))
			}
			return nil
		})
	})
	c.Position = w.position
	return c, err
}

// proof compares one table, without the accounts in left. One connection reads the shadow table, which may have
// uncommitted rows. Another connection reads the live table at the same time.
func proof(ctx context.Context, made, live pgx.Tx, m Projection, left []string) (TableProof, error) {
	p := TableProof{Table: m.Table()}
	var mine, theirs pgx.Rows
	var reading errgroup.Group
	reading.Go(func() (err error) { mine, err = digests(ctx, made, shadow, m); return err })     //nolint:sqlclosecheck // below
	reading.Go(func() (err error) { theirs, err = digests(ctx, live, "public", m); return err }) //nolint:sqlclosecheck // below
	err := reading.Wait()
	for _, rows := range []pgx.Rows{mine, theirs} {
		if rows != nil {
			defer rows.Close()
		}
	}
	if err != nil {
		return p, err
	}
	var differing []string
	var rebuilt, lives digest
	err = merge(mine, theirs, func(account string, a, b digest) {
		if slices.Contains(left, account) {
			p.AccountsLeft++
			return
		}
		rebuilt.add(a)
		lives.add(b)
		p.Accounts++
		if a != b {
			p.AccountsDiffering++
			differing = append(differing, account)
		}
	})
	if err != nil {
		return p, err
	}
	p.Rows, p.LiveRows = rebuilt.rows, lives.rows
	p.DigestRebuilt, p.DigestLive = rebuilt.String(), lives.String()
	if len(differing) == 0 {
		return p, nil
	}
	within := rowsOf{column: m.Account(), values: differing}
	if len(differing) > manyAccounts && len(left) == 0 {
		within = rowsOf{}
	}
	return p, p.differences(ctx, made, m, within)
}

// digest is the digest of a set of rows in any order. It has the number of rows, and the
// sums of two 64-bit halves of their hashes.
type digest struct {
	rows   int64
	hi, lo uint64
}

func (d *digest) add(o digest) {
	d.rows += o.rows
	d.hi += o.hi
	d.lo += o.lo
}

// String returns the digest in hexadecimal.
func (d digest) String() string { return fmt.Sprintf("%016x%016x", d.hi, d.lo) }

// digests reads the digest of each account in a table, ordered by account. The hash of a
// row covers its columns and the bytes of the document as text. Separators that no value
// contains stand between them, and one character stands for null.
func digests(ctx context.Context, tx pgx.Tx, schema string, m Projection) (pgx.Rows, error) {
	var columns []string
	for _, c := range m.TableColumns() {
		columns = append(columns, "coalesce("+c.Name+"::text, chr(30))")
	}
	if _, err := tx.Exec(ctx, "set local work_mem = '64MB'; set local jit = off"); err != nil {
		return nil, err
	}
	// offset 0 keeps the planner from computing the text twice, once for each hash.
	return tx.Query(ctx, fmt.Sprintf(`
		select account, count(*), sum(hashtextextended(line, 0))::text, sum(hashtextextended(line, 1))::text
		  from (select %[1]s as account, concat_ws(chr(31), %[2]s) as line from %[3]s.%[4]s offset 0) as lines
		 group by account order by account collate "C"`,
		m.Account(), strings.Join(columns, ", "), schema, m.Table()))
}

// merge calls each for every account in two results of digests. An account that is in one
// result only has the zero digest in the other.
func merge(a, b pgx.Rows, each func(account string, a, b digest)) error {
	nameA, inA, errA := next(a)
	nameB, inB, errB := next(b)
	for errA == nil && errB == nil && (nameA != nil || nameB != nil) {
		switch {
		case nameB == nil || nameA != nil && *nameA < *nameB:
			each(*nameA, inA, digest{})
			nameA, inA, errA = next(a)
		case nameA == nil || *nameB < *nameA:
			each(*nameB, digest{}, inB)
			nameB, inB, errB = next(b)
		default:
			each(*nameA, inA, inB)
			nameA, inA, errA = next(a)
			nameB, inB, errB = next(b)
		}
	}
	return errors.Join(errA, errB)
}

// next reads one row of digests. The name is nil at the end.
func next(rows pgx.Rows) (*string, digest, error) {
	if !rows.Next() {
		return nil, digest{}, rows.Err()
	}
	var name, hi, lo string
	var d digest
	if err := rows.Scan(&name, &d.rows, &hi, &lo); err != nil {
		return nil, d, err
	}
	d.hi, d.lo = low64(hi), low64(lo)
	return &name, d, nil
}

// low64 returns the last 64 bits of a decimal integer, in two's complement.
func low64(decimal string) uint64 {
	n, ok := new(big.Int).SetString(decimal, 10)
	if !ok {
		panic("not a whole number: " + decimal) // Postgres wrote it
	}
	return n.And(n, new(big.Int).SetUint64(1<<64-1)).Uint64()
}
