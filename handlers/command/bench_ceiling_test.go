package command

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The ceilings measure the least work of Postgres for one durable command. The tables have the columns and
// keys of the log and its heads, but no triggers, checks and read models. pgbench sends each transaction
// as one prepared statement, the fastest way. The third script sends the statements of the second one
// separately: begin, update, insert and commit. So the row stays locked for four round trips.
const (
	ceilingSchema = `
create schema ceiling;
create table ceiling.events (
    position bigint generated always as identity primary key,
    stream text not null, version bigint not null, type text not null, account_id text not null,
    data json not null, meta json not null, recorded_at timestamptz not null default clock_timestamp(),
    unique (stream, version)
);
create table ceiling.streams (stream text primary key, version bigint not null) with (fillfactor = 70);
insert into ceiling.streams values ('credit/hot', 0);`

	ceilingColumns = `ceiling.events (stream, version, type, account_id, data, meta)`
	ceilingValues  = `'video.registered', :account, :data, :meta`

	insertScript = `\set n :n + 1
insert into ` + ceilingColumns + ` values ('video/' || :run::text || '-' || :client_id::text, :n, ` + ceilingValues + `);`

	hotUpdateScript = `with head as (update ceiling.streams set version = version + 1 where stream = 'credit/hot' returning version)
insert into ` + ceilingColumns + ` select 'credit/hot', version, ` + ceilingValues + ` from head;`

	hotTransactionScript = `begin;
update ceiling.streams set version = version + 1 where stream = 'credit/hot' returning version \gset
insert into ` + ceilingColumns + ` values ('credit/hot', :version, ` + ceilingValues + `);
commit;`
)

// ceilingEvent has the variables of the scripts: an event of the same size as the program's, sent with
// each transaction.
var ceilingEvent = []string{
	"-D", "account=acct_01KAH3V5T2Q8ZK7N4M6P9R1W3X",
	"-D", `data={"id":"video_01KAH3V5T2Q8ZK7N4M6P9R1W3X","account_id":"acct_01KAH3V5T2Q8ZK7N4M6P9R1W3X","livemode":true,"source":"upload","content_type":"video/mp4","expires_at":"2026-11-21T21:00:00.123456Z","at":"2026-11-20T21:00:00.123456Z"}`,
	"-D", `meta={"request_id":"req_01KAH3V5T2Q8ZK7N4M6P9R1W3X","correlation_id":"req_01KAH3V5T2Q8ZK7N4M6P9R1W3X","causation_id":"req_01KAH3V5T2Q8ZK7N4M6P9R1W3X","actor":"key_01KAH3V5T2Q8ZK7N4M6P9R1W3X"}`,
}

// pgbenchHint is the message when pgbench is missing.
const pgbenchHint = "the ceilings need pgbench, which is not installed: run sudo apt-get install -y postgresql"

// prepareCeiling creates the tables and the scripts of the ceilings.
func (r *benchRig) prepareCeiling(b *testing.B) {
	b.Helper()
	require.NotEmpty(b, findPgbench(), pgbenchHint)
	conn, err := pgx.Connect(b.Context(), r.url)
	require.NoError(b, err)
	_, err = conn.Exec(b.Context(), ceilingSchema)
	require.NoError(b, err)
	require.NoError(b, conn.Close(b.Context()))
}

// findPgbench looks in the folders of Postgres. It returns "" when pgbench is missing.
func findPgbench() string {
	places, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if dir := os.Getenv("VQA_POSTGRES_BIN"); dir != "" {
		places = append(places, filepath.Join(dir, "pgbench"))
	}
	for i := len(places) - 1; i >= 0; i-- {
		if _, err := os.Stat(places[i]); err == nil {
			return places[i]
		}
	}
	path, err := exec.LookPath("pgbench")
	if err != nil {
		return ""
	}
	return path
}

var (
	tpsPattern    = regexp.MustCompile(`(?m)^tps = ([0-9.]+) `)
	failedPattern = regexp.MustCompile(`(?m)^number of failed transactions: ([0-9]+)`)
)

// pgbench runs a script for one slice and returns the transactions per second. It connects as the program
// does, by TCP with a password. Many clients get more time, because connecting them takes a while. That
// time is not counted.
func (r *benchRig) pgbench(b *testing.B, clients int, script string) float64 {
	b.Helper()
	u, err := url.Parse(r.url)
	require.NoError(b, err)
	password, _ := u.User.Password()
	file := filepath.Join(r.dir, "ceiling.sql")
	require.NoError(b, os.WriteFile(file, []byte(script), 0o600))
	r.ceilingRuns++
	seconds := max(int(benchSlice.Seconds()), clients/32)
	ctx, cancel := context.WithTimeout(b.Context(), benchSlice+time.Minute)
	defer cancel()
	args := append([]string{"-M", "prepared", "-n", "-f", file,
		"-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(clients, 2)), "-T", strconv.Itoa(seconds),
		"-D", "n=0", "-D", "run=" + strconv.Itoa(r.ceilingRuns),
		"-h", u.Hostname(), "-p", u.Port(), "-U", u.User.Username()}, ceilingEvent...)
	cmd := exec.CommandContext(ctx, findPgbench(), append(args, strings.TrimPrefix(u.Path, "/"))...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, string(out))
	if failed := failedPattern.FindSubmatch(out); failed != nil {
		require.Equal(b, "0", string(failed[1]), string(out))
	}
	tps := tpsPattern.FindSubmatch(out)
	require.NotNil(b, tps, string(out))
	rate, err := strconv.ParseFloat(string(tps[1]), 64)
	require.NoError(b, err)
	return rate
}
