package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/handlers/command"
)

// tableCount is the number of random manipulations in docs/ledger.md.
const tableCount = 200

// The random manipulations.
var (
	manipulationSeed  = flag.Uint64("manipulations.seed", 0, "the seed of the random manipulations; 0 means a new one")
	manipulationCount = flag.Int("manipulations.count", tableCount, "the number of random manipulations")
)

func adjustment(account string, seconds int64) command.GrantCredits {
	return command.GrantCredits{
		CreditChange: command.CreditChange{AccountID: account, Reason: "correction", Operator: "ann"}, Kind: credit.Adjustment, Seconds: seconds,
	}
}

// unverified are the columns of verified tables that verification does not compare, with the reason.
var unverified = map[string]string{
	"events.recorded_at":    newest,
	"events.position":       newest,
	"streams.prior_version": "nothing reads it but the statement that writes it",
	"read_models.shape":     "verification lists the table as not compared",
}

// newest is why a random change of a column may stay unnamed. TestManipulationsAreNamed changes it in a sealed event.
const newest = "no checkpoint covers the newest event yet, and no MAC covers what the database assigns"

// provenTables are the tables whose every row verification compares or checks.
func provenTables() []string {
	tables := []string{"events", "streams", "log_identity"}
	for _, p := range allProjections() {
		tables = append(tables, p.Table())
	}
	return tables
}

// column is a column of a table.
type column struct{ name, kind string }

func (f *forge) columns(table string) []column {
	f.Helper()
	rows, err := f.db.Query(f.Context(), `select attname, format_type(atttypid, null) from pg_attribute
		where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`, table)
	require.NoError(f.T, err)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c column, err error) { return c, row.Scan(&c.name, &c.kind) })
	require.NoError(f.T, err)
	return all
}

// other returns SQL for another value of a column.
func other(c column) string {
	switch c.kind {
	case "text":
		return c.name + " || '1'"
	case "bigint", "integer":
		return c.name + " + 1"
	case "boolean":
		return "not " + c.name
	case "timestamp with time zone":
		return c.name + " + interval '1 day'"
	case "bytea":
		return fmt.Sprintf("set_byte(%[1]s, 20, 255 - get_byte(%[1]s, 20))", c.name)
	case "json":
		return fmt.Sprintf("regexp_replace(%s::text, '([a-z])\"', '\\1z\"')::json", c.name)
	case "uuid":
		return "gen_random_uuid()"
	default:
		return ""
	}
}

// randomly makes one random change. It returns "" when the change is not possible.
func (f *forge) randomly(table string) (what string, err error) {
	place := func() string { // a random row
		return fmt.Sprintf("(select ctid from %s order by md5(ctid::text || '%d') limit 1)", table, f.random.Uint64())
	}
	var sql string
	switch columns := f.columns(table); f.random.IntN(4) {
	case 0:
		what, sql = "deleted a row of "+table, fmt.Sprintf("delete from %s where ctid = %s", table, place())
	case 1: // exchange a value of two rows
		c := columns[f.random.IntN(len(columns))]
		if unverified[table+"."+c.name] != "" {
			return "", nil
		}
		what = fmt.Sprintf("copied %s.%s from another row", table, c.name)
		sql = fmt.Sprintf("update %[1]s a set %[2]s = b.%[2]s from %[1]s b where a.ctid = %[3]s and b.ctid = %[4]s and a.%[2]s::text is distinct from b.%[2]s::text", table, c.name, place(), place())
		if table == "streams" && strings.HasPrefix(c.name, "snapshot_") {
			sql += " and a.snapshot is not null" // the columns of a stream without a snapshot mean nothing
		}
	case 2: // insert a copy with another key
		if table == "log_identity" {
			return "", nil // a copy says the same
		}
		key := "id"
		if table == "events" || table == "streams" {
			key = "stream"
		}
		var names, values []string
		for _, c := range columns {
			if table == "events" && c.name == "position" {
				continue
			}
			names = append(names, c.name)
			if c.name == key || table != "events" && c.name == "secret_hash" {
				values = append(values, other(c))
			} else {
				values = append(values, c.name)
			}
		}
		what = "inserted a copy of a row of " + table
		sql = fmt.Sprintf("insert into %[1]s (%[2]s) overriding system value select %[3]s from %[1]s where ctid = %[4]s", table, strings.Join(names, ", "), strings.Join(values, ", "), place())
	default:
		c := columns[f.random.IntN(len(columns))]
		if unverified[table+"."+c.name] != "" || other(c) == "" {
			return "", nil
		}
		what = fmt.Sprintf("changed %s.%s", table, c.name)
		sql = fmt.Sprintf("update %s set %s = %s where ctid = %s and %[2]s is not null", table, c.name, other(c), place())
	}
	changed, err := f.try(sql)
	if changed == 0 {
		what = ""
	}
	return what, err
}

// random makes random manipulations and requires that each is named, and none signed. It returns a row of
// the table.
func (g *genuine) random(t *testing.T) string {
	seed := *manipulationSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with: go test ./cmd/vqa -run TestManipulationsAreNamed -manipulations.seed=%d -manipulations.count=%d", seed, *manipulationCount)
	t.Run("all", func(t *testing.T) {
		for i := range randomRunners {
			share := (*manipulationCount + i) / randomRunners
			t.Run(fmt.Sprint("runner ", i), func(t *testing.T) {
				t.Parallel() // creating a database mostly waits for the disk
				g.randomRunner(t, rand.New(rand.NewPCG(seed, uint64(i))), share)
			})
		}
	})
	tables := slices.Sorted(slices.Values(provenTables()))
	return fmt.Sprintf("| %d random ones: a row changed, deleted, inserted, or exchanged with another, in %s | each | – | none |\n", *manipulationCount, "`"+strings.Join(tables, "`, `")+"`")
}

// randomRunners share the random manipulations. Their number decides what a seed means.
const randomRunners = 4

// randomRunner makes some of the random manipulations.
func (g *genuine) randomRunner(t *testing.T, random *rand.Rand, count int) {
	tables := provenTables()
	made := 0
	for try := 0; made < count && try < 20*count; try++ {
		// A manipulation of the log is as frequent as one of all other tables.
		table := tables[random.IntN(len(tables))]
		if random.IntN(2) == 0 {
			table = []string{"events", "streams"}[random.IntN(2)]
		}
		of := g.copy(t, g.config.DatabaseURL)
		f := g.forge(t, of)
		f.random = random
		what, err := f.randomly(table)
		require.NoError(t, f.db.Close(t.Context()))
		var refused *pgconn.PgError
		if errors.As(err, &refused) {
			continue // a constraint refused it
		}
		require.NoError(t, err)
		if what == "" {
			continue
		}
		made++
		o := g.judge(t, of, "")
		require.True(t, o.named(), "%s: manipulation %d: %s: not named", t.Name(), made, what)
		require.Empty(t, o.signed, "%s: manipulation %d: %s: signed", t.Name(), made, what)
	}
	require.Equal(t, count, made)
}
