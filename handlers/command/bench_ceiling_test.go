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

// The ceilings: the least that Postgres must do for one durable command. The tables
// are as wide as the log's and its heads', with the same keys, but without triggers,
// checks and read models. pgbench sends each transaction as one prepared statement,
// the fastest way there is; the third script sends the second's as begin, update, insert
// and commit, as programs do, and the row stays locked over four round trips.
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

// ceilingEvent are the variables of the scripts: an event of the size of the
// program's own, sent with each transaction, as the program must.
var ceilingEvent = []string{
	"-D", "account=acct_01KAH3V5T2Q8ZK7N4M6P9R1W3X",
	"-D", `data={"id":"video_01KAH3V5T2Q8ZK7N4M6P9R1W3X","account_id":"acct_01KAH3V5T2Q8ZK7N4M6P9R1W3X","livemode":true,"source":"upload","content_type":"video/mp4","expires_at":"2026-11-21T21:00:00.123456Z","at":"2026-11-20T21:00:00.123456Z"}`,
	"-D", `meta={"request_id":"req_01KAH3V5T2Q8ZK7N4M6P9R1W3X","correlation_id":"req_01KAH3V5T2Q8ZK7N4M6P9R1W3X","causation_id":"req_01KAH3V5T2Q8ZK7N4M6P9R1W3X","actor":"key_01KAH3V5T2Q8ZK7N4M6P9R1W3X"}`,
}

// pgbenchHint is what to do where pgbench is missing.
const pgbenchHint = "pgbench gives the ceilings and is not on this machine; install it: sudo apt-get install -y postgresql"

// prepareCeiling makes the tables of the ceilings and the scripts.
func (r *benchRig) prepareCeiling(b *testing.B) {
	b.Helper()
	require.NotEmpty(b, findPgbench(), pgbenchHint)
	conn, err := pgx.Connect(b.Context(), r.url)
	require.NoError(b, err)
	_, err = conn.Exec(b.Context(), ceilingSchema)
	require.NoError(b, err)
	require.NoError(b, conn.Close(b.Context()))
}

// findPgbench looks where Postgres itself is looked for; "" when it is not there.
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

// pgbench runs a script for a slice over the connections that the program uses, TCP
// with a password, and returns transactions per second. Many clients get more time: the
// server takes a while to let them all in, which is not counted.
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
