package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
	"vqa/projections/ledger/internal/history"
)

// programTimeout is the longest time for a program that reads an export.
const programTimeout = time.Minute

// find returns the path of a program that setup installs. Without the program the test
// fails, or is skipped where this user cannot install it. The message says how to install
// it.
func find(t testing.TB, install, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	how := name + " is needed to prove the exports: sudo apt-get install -y " + install
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		t.Skip(how)
	}
	t.Fatal(how)
	return ""
}

// program runs a program on an export.
func program(t *testing.T, install, name string, args ...string) string {
	t.Helper()
	path := find(t, install, name)
	ctx, cancel := context.WithTimeout(t.Context(), programTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	// hledger reads UTF-8 only with such a locale.
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s:\n%s", name, strings.Join(args, " "), out)
	return string(out)
}

// TestExports proves each format on a log of three accounts, for the whole log and for a
// period within their histories.
func TestExports(t *testing.T) {
	t.Parallel()
	w := history.New(t)
	ids := w.Live(t, 7, 3, 150)
	part := book.Period{From: time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}
	t.Run("journals", func(t *testing.T) { testJournals(t, w, part) })
	t.Run("assertions bite", func(t *testing.T) { testAssertionsBite(t, w) })
	t.Run("csv", func(t *testing.T) { testCSV(t, w) })
	t.Run("jsonl", func(t *testing.T) { testJSONL(t, w, len(ids), part) })
}

func open(t testing.TB, w *history.World) *book.Snapshot {
	t.Helper()
	s, err := book.Open(t.Context(), w.Pool, w.Codec)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// written returns an export of all accounts.
func written(t *testing.T, w *history.World, f export.Format, p book.Period) string {
	t.Helper()
	s := open(t, w)
	var out bytes.Buffer
	n := 0
	sum, err := export.Write(&out, f, s.Entries(t.Context(), ""), p, func() { n++ })
	require.NoError(t, err)
	require.EqualValues(t, 3, sum.Accounts)
	require.Positive(t, n)
	return out.String()
}

// balances returns all balances of the ledger at the end of a period, according to package
// book.
func balances(t *testing.T, w *history.World, at *time.Time) map[credit.LedgerAccount]int64 {
	t.Helper()
	b, err := open(t, w).Fold(t.Context(), at, nil)
	require.NoError(t, err)
	out := map[credit.LedgerAccount]int64{}
	for _, a := range b.Accounts {
		out[credit.Available(a.AccountID)], out[credit.Reserved(a.AccountID)] = a.AvailableSeconds, a.HeldSeconds
	}
	for _, p := range b.Platform {
		out[p.Account] = p.Seconds
	}
	return out
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// seconds reads an amount that another program wrote, with or without its unit.
func seconds(t *testing.T, text string) int64 {
	t.Helper()
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err, text)
	return n
}

func testJournals(t *testing.T, w *history.World, part book.Period) {
	t.Parallel()
	before := part.To.Add(-time.Microsecond)
	for _, tt := range []struct {
		name   string
		period book.Period
		at     *time.Time
	}{{"whole", book.Period{}, nil}, {"period", part, &before}} {
		want := balances(t, w, tt.at)
		require.Len(t, want, 12, "three customers and six accounts of the platform")
		t.Run("hledger "+tt.name, func(t *testing.T) {
			t.Parallel()
			got := hledgerBalances(t, written(t, w, export.HLedger, tt.period))
			require.Empty(t, cmp.Diff(want, got))
		})
	}
}

// hledgerBalances checks a journal with all its assertions in hledger, and returns all
// balances.
func hledgerBalances(t *testing.T, journal string) map[credit.LedgerAccount]int64 {
	t.Helper()
	path := file(t, "x.journal", journal)
	program(t, "hledger", "hledger", "-f", path, "check", "--strict")
	report := program(t, "hledger", "hledger", "-f", path, "balance", "--flat", "--empty", "--declared", "--no-total", "-O", "csv")
	rows, err := csv.NewReader(strings.NewReader(report)).ReadAll()
	require.NoError(t, err)
	got := map[credit.LedgerAccount]int64{}
	for _, row := range rows[1:] {
		got[credit.LedgerAccount(strings.TrimPrefix(row[0], "customers:"))] = seconds(t, row[1])
	}
	return got
}

// testAssertionsBite checks that hledger finds a wrong amount.
func testAssertionsBite(t *testing.T, w *history.World) {
	t.Parallel()
	journal := written(t, w, export.HLedger, book.Period{})
	forged := strings.Replace(strings.Replace(journal, "-6000 SECS", "-6001 SECS", 1), "6000 SECS", "6001 SECS", 1)
	require.NotEqual(t, journal, forged)
	hledger := find(t, "hledger", "hledger")
	require.Error(t, exec.CommandContext(t.Context(), hledger, "check", "--strict", "-f", file(t, "forged", forged)).Run())
}

// testCSV loads the table into Postgres with COPY and adds it up in SQL.
func testCSV(t *testing.T, w *history.World) {
	t.Parallel()
	text := written(t, w, export.CSV, book.Period{})
	conn, err := pgx.Connect(t.Context(), w.URL)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), `create temporary table postings (position bigint, account_id text, version bigint,
		at timestamptz, kind text, entry_id text, ledger_account text, seconds bigint, available_after_seconds bigint,
		held_after_seconds bigint, source_type text, source_id text, discount_pct int, refunds text, reason text,
		actor text, request_id text, chain text)`)
	require.NoError(t, err)
	_, err = conn.PgConn().CopyFrom(t.Context(), strings.NewReader(text), "copy postings from stdin with (format csv, header match)")
	require.NoError(t, err)
	rows, err := conn.Query(t.Context(), "select ledger_account, sum(seconds)::bigint from postings group by 1")
	require.NoError(t, err)
	got := map[credit.LedgerAccount]int64{}
	var account string
	var sum int64
	_, err = pgx.ForEachRow(rows, []any{&account, &sum}, func() error { got[credit.LedgerAccount(account)] = sum; return nil })
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(balances(t, w, nil), got))

	var unbalanced, wrong int
	require.NoError(t, conn.QueryRow(t.Context(), `select count(*) from (select position from postings group by position having sum(seconds) <> 0) x`).Scan(&unbalanced))
	require.Zero(t, unbalanced, "each entry sums to zero")
	require.NoError(t, conn.QueryRow(t.Context(), `select count(*) from (
		select available_after_seconds, sum(seconds) filter (where ledger_account = account_id || ':available') over (partition by account_id order by version) as available
		from postings) x where available <> available_after_seconds`).Scan(&wrong))
	require.Zero(t, wrong, "the balance after each entry is the running sum")
}

// testJSONL compares each line with the event in the log.
func testJSONL(t *testing.T, w *history.World, accounts int, part book.Period) {
	t.Parallel()
	text := written(t, w, export.JSONL, part)
	versions := map[string]int64{}
	n := 0
	for line := range strings.Lines(text) {
		var e export.Line
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.Zero(t, part.Side(e.At))
		if last := versions[e.AccountID]; last > 0 {
			require.Equal(t, last+1, e.Version, "a period has no gap")
		}
		versions[e.AccountID] = e.Version
		var kind, chain, at string
		require.NoError(t, w.Pool.QueryRow(t.Context(), `select split_part(type, '@', 1), encode(chain, 'hex'), data->>'at' from events
			where position = $1 and stream = $2 and version = $3`, e.Position, "credit/"+e.AccountID, e.Version).Scan(&kind, &chain, &at))
		require.Equal(t, chain, e.Chain)
		require.Equal(t, at, e.At.Format(time.RFC3339Nano))
		var sum int64
		for _, p := range e.Postings {
			sum += p.Seconds
		}
		require.Zero(t, sum)
		n++
	}
	require.Len(t, versions, accounts)
	require.Greater(t, n, 30)
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	for _, f := range export.Formats() {
		got, err := export.ParseFormat(string(f))
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
	_, err := export.ParseFormat("xlsx")
	require.EqualError(t, err, `unknown format "xlsx"; known formats: hledger, csv, jsonl`)
}
