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
// row-level security, a rule. Each catalog is named with its schema, because a schema can have a view with its name.
const tablesSQL = `
with log as (
	select c.oid, c.relname, c.relkind, c.relpersistence, c.relrowsecurity from pg_catalog.pg_class c
	 where c.oid in (pg_catalog.to_regclass('events'), pg_catalog.to_regclass('streams')))
select relname, 'is not a table, so it can show each statement other rows', 'restore the table ' || relname || ' from a backup'
  from log where relkind <> 'r'
union all
select relname, 'is not a permanent table', 'restore the table ' || relname || ' from a backup'
  from log where relpersistence <> 'p'
union all
select relname, 'has row-level security, which can hide rows from some statements', pg_catalog.format('alter table %I disable row level security', relname)
  from log where relrowsecurity
union all
select relname, 'has the policy ' || p.polname || ' of row-level security', pg_catalog.format('drop policy %I on %I', p.polname, relname)
  from pg_catalog.pg_policy p join log on log.oid = p.polrelid
union all
select relname, 'has the rule ' || r.rulename || ', which can change statements', pg_catalog.format('drop rule %I on %I', r.rulename, relname)
  from pg_catalog.pg_rewrite r join log on log.oid = r.ev_class where relkind = 'r'
 order by 1, 2`

// Querier is a connection or a pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// CheckTables is the function CheckTables for the database of the store.
func (s *Store) CheckTables(ctx context.Context) error { return CheckTables(ctx, s.pool) }

// checkSchemas checks that no schema can replace a catalog, a function or an operator of Postgres. Error: as CheckTables.
func checkSchemas(ctx context.Context, conn Querier) error {
	rows, err := conn.Query(ctx, "select s::text from pg_catalog.unnest(pg_catalog.current_schemas(true)) as s")
	if err != nil {
		return fmt.Errorf("check the search path: %w", err)
	}
	schemas, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("check the search path: %w", err)
	}
	for _, schema := range schemas {
		switch {
		case schema == "pg_catalog":
			return nil
		case !strings.HasPrefix(schema, "pg_temp_"): // a temporary table can stand in front of a table of the log only
			return &UnsafeError{
				TablesCheck, fmt.Sprintf("the search path has the schema %q before pg_catalog, so a statement can mean other tables and functions than it says", schema),
				"remove search_path from the settings of the role and of the database, and from VQA_DATABASE_URL, or put pg_catalog first",
			}
		}
	}
	return nil
}

// CheckTables checks that the tables of the log are tables, without row-level security and rules, and that the search
// path cannot replace what the check itself reads. Error: *UnsafeError, or the one of a connection.
func CheckTables(ctx context.Context, conn Querier) error {
	if err := checkSchemas(ctx, conn); err != nil {
		return err
	}
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
