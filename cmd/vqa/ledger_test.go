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
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/finance"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

// TestLedgerForFinance runs the subcommands of the ledger on a real database. It is not parallel
// because the commands read the environment.
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
		var b finance.Balances
		read(&b, "ledger", "balance", "--prove")
		require.Len(t, b.Accounts, 1)
		require.Equal(t, [2]int64{6500, 0}, [2]int64{b.Accounts[0].AvailableSeconds, b.SumSeconds})
		require.Empty(t, cmp.Diff(&finance.Proof{Equal: true, Entries: 2, Differences: []book.Difference{}}, b.Proof))
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
		require.Contains(t, ledger("holds"), "  none\n")
	})
	t.Run("export", func(t *testing.T) {
		for _, f := range export.Formats() {
			path := filepath.Join(dir, "ledger."+string(f))
			require.Empty(t, ledger("export", "--format", string(f), "-o", path, "--account", id))
			written, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotEmpty(t, written)
			require.Equal(t, string(written), ledger("export", "--format", string(f)), "standard output gets the same bytes")
		}
	})
	t.Run("bundle", func(t *testing.T) {
		folder, file := filepath.Join(dir, "bundle"), filepath.Join(dir, "bundle.zip")
		require.Contains(t, ledger("bundle", id, "-o", folder), "2 entries, proven by the checkpoint of ")
		var m export.Manifest
		read(&m, "ledger", "bundle", id, "-o", file)
		require.EqualValues(t, 2, m.Entries)
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
