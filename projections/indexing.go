package projections

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// index builds the keys and indexes of the shadow tables, with the names and definitions of
// the live ones.
func (w *work) index(ctx context.Context) error {
	total := int64(len(w.models))
	var done int64
	w.report(Indexing, 0, total)
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(w.workers())
	for _, m := range w.models {
		workers.Go(func() error {
			err := w.Owner.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return indexTable(ctx, tx, m.Table()) })
			})
			if err != nil {
				return fmt.Errorf("%s: %w", m.Table(), err)
			}
			w.reporting.Lock()
			done++
			n := done
			w.reporting.Unlock()
			w.report(Indexing, n, total)
			return nil
		})
	}
	return workers.Wait()
}

// indexTable builds those of one table, unless an interrupted run has already done so.
func indexTable(ctx context.Context, tx pgx.Tx, table string) error {
	var done bool
	if err := tx.QueryRow(ctx, "select exists (select from "+shadow+".indexed where name = $1)", table).Scan(&done); err != nil || done {
		return err
	}
	rows, err := tx.Query(ctx, `
		select format('alter table `+shadow+`.%I add constraint %I %s', $2::text, conname, pg_get_constraintdef(oid))
		  from pg_constraint where conrelid = $1::text::regclass and contype in ('p', 'u')
		union all
		select replace(pg_get_indexdef(indexrelid), ' ON public.', ' ON `+shadow+`.')
		  from pg_index where indrelid = $1::text::regclass and not exists (
		       select from pg_constraint where conindid = indexrelid and contype in ('p', 'u'))`, "public."+table, table)
	if err != nil {
		return err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	statements = append(statements, "analyze "+shadow+"."+table) // the planner needs statistics before the first query
	sql := "set local synchronous_commit = off; set local maintenance_work_mem = '128MB'; " + strings.Join(statements, "; ")
	if _, err := tx.Exec(ctx, sql); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "insert into "+shadow+".indexed (name) values ($1)", table)
	return err
}
