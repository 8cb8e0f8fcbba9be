package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Count is the number of events of one kind and the bytes of their payload and metadata.
type Count struct {
	Name   string `json:"name"`
	Events int64  `json:"events"`
	Bytes  int64  `json:"bytes"`
}

// Stats describes the events that match a filter.
type Stats struct {
	Events  int64 `json:"events"`
	Bytes   int64 `json:"bytes"`
	Streams int64 `json:"streams"`
	// First and Last are the times of the first and the last recording. They are nil when no
	// event matches.
	First *time.Time `json:"first"`
	Last  *time.Time `json:"last"`
	// Types counts by stored type, the most frequent first. Days counts by day in UTC, the
	// latest first. Accounts counts the most active accounts.
	Types    []Count `json:"types"`
	Days     []Count `json:"days"`
	Accounts []Count `json:"accounts"`
}

// statsAccounts and statsDays bound the lists of Stats.
const (
	statsAccounts = 10
	statsDays     = 31
)

// One pass over the log counts for all lists.
const statsSQL = `
with counted as (
    select grouping(type, day, account_id) as list, type, day, account_id,
           count(*) as events, sum(bytes)::bigint as bytes,
           min(recorded_at) as first, max(recorded_at) as last
      from (select type, account_id, recorded_at,
                   to_char(recorded_at at time zone 'UTC', 'YYYY-MM-DD') as day,
                   octet_length(data::text) + octet_length(meta::text) as bytes
              from events where %s) as e
     group by grouping sets ((type), (day), (account_id), ())
), ranked as (
    select *, row_number() over (partition by list order by
           case when list = 5 then day end desc, events desc, coalesce(type, account_id)) as rank
      from counted
)
select list, coalesce(type, day, account_id, ''), events, coalesce(bytes, 0), first, last
  from ranked
 where list in (3, 7) or list = 5 and rank <= %d or list = 6 and rank <= %d
 order by list, rank`

// Stats counts the events that match f.
func (s *Store) Stats(ctx context.Context, f Filter) (Stats, error) {
	where, args := f.conditions()
	c := Stats{Types: []Count{}, Days: []Count{}, Accounts: []Count{}}
	err := s.inSnapshot(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, fmt.Sprintf(statsSQL, where, statsDays, statsAccounts), args...)
		if err != nil {
			return err
		}
		var list int
		var t Count
		var first, last *time.Time
		_, err = pgx.ForEachRow(rows, []any{&list, &t.Name, &t.Events, &t.Bytes, &first, &last}, func() error {
			switch list { // the value of grouping(): a bit for each column that is not grouped by
			case 0b011:
				c.Types = append(c.Types, t)
			case 0b101:
				c.Days = append(c.Days, t)
			case 0b110:
				c.Accounts = append(c.Accounts, t)
			default:
				c.Events, c.Bytes = t.Events, t.Bytes
				c.First, c.Last = inUTC(first), inUTC(last)
			}
			return nil
		})
		if err != nil {
			return err
		}
		// A separate statement, because count(distinct) would prevent hashing in the one above.
		return tx.QueryRow(ctx, "select count(*) from (select distinct stream from events where "+where+") as s", args...).Scan(&c.Streams)
	})
	if err != nil {
		return Stats{}, fmt.Errorf("count the log: %w", err)
	}
	return c, nil
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}
