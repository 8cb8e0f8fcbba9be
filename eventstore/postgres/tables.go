package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// TablesCheck is the check that every statement sees the same rows of the log.
const TablesCheck = "tables"

// tablesSQL lists what can show a statement other rows than another one: a view in the place of a table, a policy of
// row-level security, a rule.
const tablesSQL = `
select c.relname, 'is not a table, so it can show each statement other rows', 'restore the table ' || c.relname || ' from a backup'
  from pg_class c where c.oid in ('events'::regclass, 'streams'::regclass) and c.relkind <> 'r'
union all
select c.relname, 'has row-level security, which can hide rows from some statements', format('alter table %I disable row level security', c.relname)
  from pg_class c where c.oid in ('events'::regclass, 'streams'::regclass) and c.relrowsecurity
union all
select c.relname, 'has the policy ' || p.polname || ' of row-level security', format('drop policy %I on %I', p.polname, c.relname)
  from pg_policy p join pg_class c on c.oid = p.polrelid where c.oid in ('events'::regclass, 'streams'::regclass)
union all
select c.relname, 'has the rule ' || r.rulename || ', which can change statements', format('drop rule %I on %I', r.rulename, c.relname)
  from pg_rewrite r join pg_class c on c.oid = r.ev_class where c.oid in ('events'::regclass, 'streams'::regclass) and c.relkind = 'r'
 order by 1, 2`

// Querier is a connection or a pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// CheckTables is the function CheckTables for the database of the store.
func (s *Store) CheckTables(ctx context.Context) error { return CheckTables(ctx, s.pool) }

// CheckTables checks that the tables of the log are tables, without row-level security and rules. Error:
// *UnsafeError, or the one of a connection.
func CheckTables(ctx context.Context, conn Querier) error {
	rows, err := conn.Query(ctx, tablesSQL)
	if err != nil {
		return fmt.Errorf("check the tables of the log: %w", err)
	}
	var details, remedies []string
	var table, problem, remedy string
	if _, err := pgx.ForEachRow(rows, []any{&table, &problem, &remedy}, func() error {
		details, remedies = append(details, "the table "+table+" "+problem), append(remedies, remedy)
		return nil
	}); err != nil {
		return fmt.Errorf("check the tables of the log: %w", err)
	}
	if len(details) == 0 {
		return nil
	}
	return &UnsafeError{TablesCheck, strings.Join(details, "; "), strings.Join(remedies, "; ")}
}
