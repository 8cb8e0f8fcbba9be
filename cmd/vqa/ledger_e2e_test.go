package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// installed returns the path of a program that make test-setup installs if it can. It skips the test when
// setup could not install the program.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	how := name + " is needed to check the ledger: sudo apt-get install -y " + name
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		t.Skip(how)
	}
	t.Fatal(how)
	return ""
}

// TestBooksBesideTheService audits a bill of the running service while it serves other accounts: with
// --prove, under other prices, in hledger, and from a bundle with only Python and the published keys.
func TestBooksBesideTheService(t *testing.T) {
	t.Parallel()
	python, hledger := installed(t, "python3"), installed(t, "hledger")
	c := sharedService(t).account(t, 1000)
	id, dir := c.key.AccountID, t.TempDir()
	videoID := c.readyVideo(t, clip(t, signsClip))
	asked := c.ask(t, videoID, "Is there a stop sign?", "Prefer", "wait=100")
	require.Equal(t, "completed", asked.text("status"), "%s", asked.raw)
	read := func(into any, args ...string) {
		t.Helper()
		out := c.tool(t, append(append([]string{"ledger"}, args...), "--json")...)
		require.NoError(t, json.Unmarshal(out, into), "%s", out)
	}

	var books struct {
		Accounts []struct {
			AccountID     string `json:"account_id"`
			PostedSeconds int64  `json:"posted_seconds"`
		} `json:"accounts"`
		SumSeconds int64 `json:"sum_seconds"`
		Proof      struct {
			Equal   bool  `json:"equal"`
			Entries int64 `json:"entries"`
		} `json:"proof"`
	}
	read(&books, "balance", "--prove")
	require.True(t, books.Proof.Equal, "the balances of all accounts, while other tests use the service")
	require.Zero(t, books.SumSeconds)
	read(&books, "balance", id)
	require.Equal(t, int64(1000-7), books.Accounts[0].PostedSeconds)
	require.InDelta(t, c.credits(t).number("balance_seconds"), books.Accounts[0].PostedSeconds, 0)

	var statement struct {
		Transactions []struct {
			Kind     string `json:"kind"`
			SourceID string `json:"source_id"`
		} `json:"transactions"`
	}
	read(&statement, "statement", id)
	require.Len(t, statement.Transactions, 2)
	require.Equal(t, asked.text("id"), statement.Transactions[1].SourceID, "a debit names its analysis")

	pricing := filepath.Join(dir, "pricing.json")
	require.NoError(t, os.WriteFile(pricing, []byte(`{"price_per_second_cents": "0.4", "analysis": {"rounding_seconds": 10}}`), 0o600))
	type bill struct {
		Seconds int64  `json:"billed_seconds"`
		Cents   string `json:"cents"`
	}
	var whatIf struct {
		Total struct{ Now, Then bill } `json:"total"`
	}
	read(&whatIf, "whatif", id, "--pricing", pricing)
	require.Equal(t, bill{7, "3.5"}, whatIf.Total.Now)
	require.Equal(t, bill{10, "4"}, whatIf.Total.Then)

	journal := filepath.Join(dir, "ledger.journal")
	c.tool(t, "ledger", "export", "--format", "hledger", "-o", journal)
	checked := exec.CommandContext(t.Context(), hledger, "-f", journal, "check", "--strict")
	checked.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := checked.CombinedOutput()
	require.NoError(t, err, "%s", out)

	c.tool(t, "ledger", "checkpoint")
	bundle, keys := filepath.Join(dir, "bundle"), filepath.Join(dir, "keys.json")
	c.tool(t, "ledger", "bundle", id, "-o", bundle)
	published := c.call(t, http.MethodGet, "/.well-known/vqa-ledger-keys.json", nil)
	require.NoError(t, os.WriteFile(keys, published.raw, 0o600))
	out, err = exec.CommandContext(t.Context(), python, "-B", filepath.Join(bundle, "verify.py"), "--keys", keys).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "VERDICT   VALID: every entry, balance and signature holds")
}
