package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/fault"
)

// Page is one page of a list (docs/contract.md#lists).
type Page struct {
	// Limit is 1 to 100.
	Limit int
	// StartingAfter and EndingBefore are ids of rows; at most one is set.
	StartingAfter, EndingBefore string
	// CreatedAfter and CreatedBefore are inclusive.
	CreatedAfter, CreatedBefore *time.Time
}

// UnknownCursor returns the fault for a cursor that names no row of the tenant.
func (p Page) UnknownCursor() *fault.Fault {
	if p.EndingBefore != "" {
		return fault.NotFound("ending_before", p.EndingBefore)
	}
	return fault.NotFound("starting_after", p.StartingAfter)
}

// Query lists rows of one model, newest first.
type Query struct {
	table string
	// order is the column that rows are ordered by, before id. Its value never changes in a
	// row.
	order string
	// where are the conditions and args their arguments. The first scope conditions also hold for the row of a
	// cursor.
	where []string
	scope int
	args  []any
}

// List starts a query of an account's rows in a table, ordered by created_at, then id.
func List(table, accountID string) Query {
	return Query{table: table, order: "created_at"}.Within("account_id = ?", accountID)
}

// OrderedBy sets the column that rows are ordered by.
func (q Query) OrderedBy(column string) Query { q.order = column; return q }

// Within bounds the list to what the caller may see. A cursor outside is unknown. It comes before Where.
func (q Query) Within(condition string, args ...any) Query {
	q = q.Where(condition, args...)
	q.scope = len(q.where)
	return q
}

// Where narrows the list; each ? in the condition takes one argument.
func (q Query) Where(condition string, args ...any) Query {
	q.where = append(slices.Clip(q.where), condition)
	q.args = append(slices.Clip(q.args), args...)
	return q
}

// Rows reads one page, and whether more rows follow in its direction. Error:
// resource_not_found for a cursor that names no row of the tenant.
func Rows[R any](ctx context.Context, pool *pgxpool.Pool, q Query, p Page) ([]R, bool, error) {
	if p.CreatedAfter != nil {
		q = q.Where("created_at >= ?", *p.CreatedAfter)
	}
	if p.CreatedBefore != nil {
		q = q.Where("created_at <= ?", *p.CreatedBefore)
	}
	direction := "desc"
	if cursor := p.StartingAfter + p.EndingBefore; cursor != "" {
		at, err := q.cursor(ctx, pool, p)
		if err != nil {
			return nil, false, err
		}
		comparison := "<"
		if p.EndingBefore != "" {
			comparison, direction = ">", "asc"
		}
		q = q.Where(fmt.Sprintf("(%s, id) %s (?, ?)", q.order, comparison), at, cursor)
	}
	sql := fmt.Sprintf("select doc from %s%s order by %s %s, id %s limit %d",
		q.table, q.conditions(), q.order, direction, direction, p.Limit+1)
	rows, err := pool.Query(ctx, sql, q.args...)
	if err != nil {
		return nil, false, err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (R, error) {
		var doc []byte
		var r R
		if err := row.Scan(&doc); err != nil {
			return r, err
		}
		return r, json.Unmarshal(doc, &r)
	})
	if err != nil {
		return nil, false, err
	}
	more := len(list) > p.Limit
	if more {
		list = list[:p.Limit]
	}
	if direction == "asc" {
		slices.Reverse(list)
	}
	return list, more, nil
}

// cursor returns the order value of the row that a cursor names. It checks the conditions of Within and ignores
// those of Where. So a cursor stays valid when its row no longer matches them, for example after a status
// change.
func (q Query) cursor(ctx context.Context, pool *pgxpool.Pool, p Page) (any, error) {
	within := Query{where: q.where[:q.scope], args: q.args[:argsOf(q.where[:q.scope])]}.Where("id = ?", p.StartingAfter+p.EndingBefore)
	var at any
	err := pool.QueryRow(ctx, fmt.Sprintf("select %s from %s%s", q.order, q.table, within.conditions()), within.args...).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, p.UnknownCursor()
	}
	return at, err
}

// argsOf counts the arguments of conditions.
func argsOf(conditions []string) int { return strings.Count(strings.Join(conditions, " "), "?") }

// conditions joins the conditions and numbers their arguments.
func (q Query) conditions() string {
	if len(q.where) == 0 {
		return ""
	}
	var sql strings.Builder
	n := 0
	for _, c := range strings.Join(q.where, " and ") {
		if c == '?' {
			n++
			fmt.Fprintf(&sql, "$%d", n)
			continue
		}
		sql.WriteRune(c)
	}
	return " where " + sql.String()
}
