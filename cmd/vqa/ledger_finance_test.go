package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

// TestLedgerForFinance gives the orders of an accountant to a real database. It is not
// parallel because the commands read the environment.
func TestLedgerForFinance(t *testing.T) {
	c := toolConfig(t)
	t.Setenv("VQA_DATABASE_URL", c.DatabaseURL)
	t.Setenv("VQA_DATA_DIR", c.DataDir)
	t.Setenv("VQA_LOG_LEVEL", "error")
	vqa := func(args ...string) (string, error) {
		t.Helper()
		var out, complaint bytes.Buffer
		root := rootCommand()
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&complaint)
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	ledger := func(args ...string) string {
		t.Helper()
		out, err := vqa(append([]string{"ledger"}, args...)...)
		require.NoError(t, err, args)
		return out
	}
	read := func(into any, args ...string) {
		t.Helper()
		out, err := vqa(append(args, "--json")...)
		require.NoError(t, err, args)
		require.NoError(t, json.Unmarshal([]byte(out), into), out)
	}
	var key issuedKey
	read(&key, "keys", "create", "--mode", "live", "--grant-seconds", "6000")
	id, dir := key.AccountID, t.TempDir()
	var shown struct{}
	read(&shown, "credits", "purchase", id, "500", "--reason", "invoice 7", "--idempotency-key", "i7")
	read(&shown, "ledger", "checkpoint")

	t.Run("balance", func(t *testing.T) {
		var b shownBalances
		read(&b, "ledger", "balance", "--prove")
		require.Len(t, b.Accounts, 1)
		require.Equal(t, [2]int64{6500, 0}, [2]int64{b.Accounts[0].AvailableSeconds, b.SumSeconds})
		require.Empty(t, cmp.Diff(&proof{Equal: true, Entries: 2, Differences: []book.Difference{}}, b.Proof))
		require.Contains(t, ledger("balance", id), "  "+id+":available    6,500\n")
		require.Contains(t, ledger("balance", "--at", "2020-02-29"), "folded from the log up to 2020-02-29T23:59:59Z")
		read(&b, "ledger", "balance", id, "--at", "2020-01-01T00:00:00Z")
		require.Zero(t, b.Accounts[0].PostedSeconds)
	})
	t.Run("journal", func(t *testing.T) {
		var entries []book.Entry
		for line := range strings.Lines(ledger("journal", "--json")) {
			var e book.Entry
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			entries = append(entries, e)
		}
		require.Len(t, entries, 2)
		require.Equal(t, []credit.Posting{{Account: "platform:sales", Seconds: -500}, {Account: credit.Available(id), Seconds: 500}}, entries[1].Postings)
		require.True(t, strings.HasPrefix(entries[1].Actor, "operator:"))
		require.True(t, strings.HasPrefix(entries[1].RequestID, "req_"))
		text := ledger("journal", id, "--limit", "1")
		require.Contains(t, text, "signup_grant")
		require.NotContains(t, text, "invoice 7")
		require.Contains(t, ledger("journal", "--to", "2020-01-01"), "No entries.")
	})
	t.Run("statement", func(t *testing.T) {
		text := ledger("statement", id)
		require.Contains(t, text, "closing balance")
		require.Contains(t, text, "invoice 7")
		require.Contains(t, text, "dollars at 0.5 US cents a second")
		require.Regexp(t, `purchase +\+500 +\$2\.500 +`, text)
		page := filepath.Join(dir, "page.html")
		require.Empty(t, ledger("statement", id, "--html", page))
		html, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Contains(t, string(html), "invoice 7")
		require.Contains(t, string(html), "$2.500")
		var s book.Statement
		read(&s, "ledger", "statement", id, "--month", "2020-01")
		require.Zero(t, s.Closing.PostedSeconds)
		require.Contains(t, ledger("holds"), "No hold is open.")
	})
	t.Run("export", func(t *testing.T) {
		for _, f := range export.Formats() {
			path := filepath.Join(dir, "ledger."+string(f))
			require.Empty(t, ledger("export", "--format", string(f), "-o", path, "--account", id))
			written, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotEmpty(t, written)
			require.Equal(t, string(written), ledger("export", "--format", string(f)), "the same bytes to standard output")
		}
		rows, err := parquet.ReadFile[export.Row](filepath.Join(dir, "ledger.parquet"))
		require.NoError(t, err)
		require.Len(t, rows, 4)
	})
	t.Run("bundle", func(t *testing.T) {
		folder, file := filepath.Join(dir, "bundle"), filepath.Join(dir, "bundle.zip")
		require.Contains(t, ledger("bundle", id, "-o", folder), "2 entries, 1 checkpoints\n")
		var m export.Manifest
		read(&m, "ledger", "bundle", id, "-o", file)
		require.EqualValues(t, 2, m.Sealed)
		archive, err := zip.OpenReader(file)
		require.NoError(t, err)
		defer archive.Close()
		require.Len(t, archive.File, len(m.Files)+1)
		for _, f := range archive.File {
			in, err := f.Open()
			require.NoError(t, err)
			zipped, err := io.ReadAll(in)
			require.NoError(t, err)
			plain, err := os.ReadFile(filepath.Join(folder, f.Name))
			require.NoError(t, err)
			require.Equal(t, string(plain), string(zipped), f.Name)
		}
		_, err = vqa("ledger", "bundle", id, "-o", folder)
		require.ErrorContains(t, err, "is not empty")
	})
	t.Run("whatif", func(t *testing.T) {
		pricing := filepath.Join(dir, "pricing.json")
		require.NoError(t, os.WriteFile(pricing, []byte(`{"price_per_second_cents": "0.4"}`), 0o600))
		var w book.WhatIf
		read(&w, "ledger", "whatif", "--pricing", pricing)
		require.Empty(t, w.Accounts, "nothing was billed")
		require.True(t, w.ThenPricing.PricePerSecondCents.Equal(decimal.RequireFromString("0.4")))
		require.Contains(t, ledger("whatif", "--pricing", pricing), "Nothing was written.")
		require.NoError(t, os.WriteFile(pricing, []byte(`{"price": "0.4"}`), 0o600))
		_, err := vqa("ledger", "whatif", "--pricing", pricing)
		require.ErrorContains(t, err, `there is no field "price"`)
	})
	t.Run("refusals", func(t *testing.T) {
		const none = "acct_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"
		for _, args := range [][]string{
			{"balance", none}, {"journal", none}, {"holds", none}, {"statement", none}, {"export", "--format", "csv", "--account", none},
			{"bundle", none, "-o", filepath.Join(dir, "none")},
		} {
			_, err := vqa(append([]string{"ledger"}, args...)...)
			require.True(t, fault.Has(err, fault.ResourceNotFound), "%v: %v", args, err)
		}
		require.NoDirExists(t, filepath.Join(dir, "none"))
		for _, args := range [][]string{
			{"balance", "--at", "noon"}, {"balance", "--at", "2026-01-01", "--prove"}, {"journal", "--limit", "-1"},
			{"journal", "--from", "2026-02-01", "--to", "2026-01-01"}, {"statement", id, "--month", "May"}, {"statement"},
			{"export"}, {"export", "--format", "pdf"}, {"bundle", id}, {"whatif"},
		} {
			_, err := vqa(append([]string{"ledger"}, args...)...)
			require.ErrorIs(t, err, exitUsage, "%v", args)
		}
	})
	t.Run("a wrong read model is not proven", func(t *testing.T) {
		a, err := openApp(t.Context(), c, newLogger(io.Discard, c), adapters{})
		require.NoError(t, err)
		_, err = a.pool.Exec(t.Context(), "update credit_balances set posted_seconds = posted_seconds + 1, sales_seconds = sales_seconds + 1")
		require.NoError(t, err)
		require.NoError(t, a.Close())
		out, err := vqa("ledger", "balance", "--prove")
		require.ErrorIs(t, err, exitError(1))
		require.Contains(t, out, "NOT PROVEN: the log gives other balances for 1 accounts")
	})
}

func TestPeriodFlags(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return parsed.UTC()
	}
	for flags, want := range map[periodFlags]book.Period{
		{}:                                     {},
		{from: "2026-11-01"}:                   {From: at("2026-11-01T00:00:00Z")},
		{to: "2026-11-30"}:                     {To: at("2026-12-01T00:00:00Z")},
		{from: "2026-11-01", to: "2026-11-01"}: {From: at("2026-11-01T00:00:00Z"), To: at("2026-11-02T00:00:00Z")},
		{from: "2026-11-01T09:00:00+02:00"}:    {From: at("2026-11-01T07:00:00Z")},
		{to: "2026-11-30T12:00:00.5Z"}:         {To: at("2026-11-30T12:00:00.5Z")},
	} {
		got, err := flags.period()
		require.NoError(t, err, flags)
		require.Empty(t, cmp.Diff(want, got), flags)
	}
	for _, flags := range []periodFlags{{from: "yesterday"}, {to: "2026-02-30"}, {from: "2026-01-02", to: "2026-01-01"}} {
		_, err := flags.period()
		require.Error(t, err, flags)
	}
}

// TestLedgerOnScreen looks at what a person sees of what the other tests have not.
func TestLedgerOnScreen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	printHolds(terminal.NewScreen(&out), []book.HeldBy{
		{AccountID: "acct_1", OpenHold: credit.OpenHold{ID: "hold_1", Seconds: 1200, SourceID: "an_1", CreatedAt: now.Add(-90 * time.Minute), ExpiresAt: now.Add(-time.Second)}},
		{AccountID: "acct_1", OpenHold: credit.OpenHold{ID: "hold_2", Seconds: 60, SourceID: "an_2", CreatedAt: now.Add(-time.Minute), ExpiresAt: now.Add(time.Hour)}},
	}, now)
	require.Equal(t, `  HOLD    ACCOUNT  SECONDS  SOURCE  AGE      EXPIRES
  hold_1  acct_1     1,200  an_1    1h30m0s  expired
  hold_2  acct_1        60  an_2    1m0s     in 1h0m0s
`, out.String())

	out.Reset()
	e := book.Entry{
		Position: 9, Version: 2, AccountID: "acct_1", At: now, Kind: "analysis_debit", ID: "txn_1", SourceType: "analysis", SourceID: "an_1",
		DiscountPct: 50, Actor: "system:\x1b[2Jjobs", RequestID: "req_1",
		Postings: []credit.Posting{{Account: "acct_1:held", Seconds: -1200}, {Account: "platform:analysis_usage", Seconds: 1000}, {Account: "acct_1:available", Seconds: 200}},
	}
	require.NoError(t, printEntry(terminal.NewScreen(&out), e, true))
	e.Postings, e.Kind = nil, book.Hold
	require.NoError(t, printEntry(terminal.NewScreen(&out), e, false))
	require.Equal(t, `2026-11-20 12:00:00  analysis_debit  txn_1  version 2, position 9
    acct_1:held                      -1,200
    platform:analysis_usage          +1,000
    acct_1:available                   +200
    for analysis an_1 · by system:\u001b[2Jjobs · request req_1 · discount 50 %

2026-11-20 12:00:00  hold  txn_1  version 2, position 9
    acct_1  moves nothing
    for analysis an_1 · by system:\u001b[2Jjobs · request req_1 · discount 50 %
`, out.String())

	out.Reset()
	bill := func(seconds int64, cents string) book.Bill {
		return book.Bill{Seconds: seconds, Cents: decimal.RequireFromString(cents)}
	}
	more := book.Comparison{Now: bill(1000, "500"), Then: bill(1100, "550.5"), Difference: bill(100, "50.5")}
	printWhatIf(terminal.NewScreen(&out), book.WhatIf{
		Accounts: []book.Repriced{{AccountID: "acct_1", Comparison: more, RanOutAt: &now}}, Total: more, RanOut: 1,
	})
	require.Equal(t, `  ACCOUNT  SECONDS   THEN  CHANGE  CENTS   THEN  CHANGE  NOTE
  acct_1     1,000  1,100    +100    500  550.5   +50.5  runs out 2026-11-20 12:00:00
  total      1,000  1,100    +100    500  550.5   +50.5

  1 accounts would have run out of credits

  Nothing was written.
`, out.String())
}
