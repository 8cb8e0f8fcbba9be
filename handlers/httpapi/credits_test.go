package httpapi_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/query/english"
	"vqa/handlers/command"
	"vqa/handlers/intake/fixture"
)

// TestCreditsTellTheWholeStory reads the transactions of an account with a purchase, a debit
// and two refunds.
func TestCreditsTellTheWholeStory(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(100)
	videoID := c.ready()
	analysisID := c.ask(videoID, "Is there a dog?")
	held := c.do(http.MethodGet, "/v1/credits", "").at("holds").([]any)[0].(map[string]any)
	require.Equal(t, analysisID, held["source_id"])
	created, err := time.Parse(time.RFC3339, held["created_at"].(string))
	require.NoError(t, err)
	expires, err := time.Parse(time.RFC3339, held["expires_at"].(string))
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, expires.Sub(created))

	run := c.claim(videoID, analysisID)
	require.NoError(t, w.service.CompleteAnalysis(t.Context(), run, fixture.Fixture{}.Answer(english.Compile("Is there a ball?")), 6_000_000, 12, nil))
	order := command.CreditChange{AccountID: c.key.AccountID, Reason: "test", Operator: "test"}
	bought, err := w.service.GrantCredits(t.Context(), command.GrantCredits{CreditChange: order, Kind: credit.Purchase, Seconds: 50})
	require.NoError(t, err)
	debit := c.do(http.MethodGet, "/v1/credits?kind=analysis_debit", "").at("transactions").([]any)[0].(map[string]any)
	back, err := w.service.RefundCredits(t.Context(), command.RefundCredits{CreditChange: order, TransactionID: debit["id"].(string)})
	require.NoError(t, err)
	taken, err := w.service.RefundCredits(t.Context(), command.RefundCredits{CreditChange: order, TransactionID: bought.TransactionID, Seconds: 20})
	require.NoError(t, err)

	all := c.do(http.MethodGet, "/v1/credits", "")
	require.EqualValues(t, 130, all.at("balance_seconds"))
	require.EqualValues(t, 0, all.at("used_seconds"), "refunds are not counted as used")
	require.EqualValues(t, 100, all.at("grant_seconds"))
	transactions := all.at("transactions").([]any)
	at := func(i int) map[string]any { return transactions[i].(map[string]any) }
	require.Len(t, transactions, 5)
	require.Equal(t, taken.TransactionID, at(0)["id"])
	require.Equal(t, "adjustment", at(0)["kind"])
	require.Equal(t, bought.TransactionID, at(0)["refunds"])
	require.EqualValues(t, -20, at(0)["seconds_delta"])
	require.Nil(t, at(0)["source_id"])
	require.Equal(t, back.TransactionID, at(1)["id"])
	require.Equal(t, debit["id"], at(1)["refunds"])
	require.Equal(t, "analysis", at(1)["source_type"])
	require.Equal(t, analysisID, at(1)["source_id"])
	require.NotContains(t, at(2), "refunds")
	for i := range 4 {
		sum := at(i + 1)["balance_after_seconds"].(float64) + at(i)["seconds_delta"].(float64)
		require.Equal(t, sum, at(i)["balance_after_seconds"], "each balance follows from the one before")
	}
	c.walkCredits(transactions)
}

// walkCredits reads the transactions in pages, in both directions and by kind and time, and
// compares them with the whole list, newest first.
func (c *client) walkCredits(all []any) {
	c.w.t.Helper()
	id := func(item any) string { return item.(map[string]any)["id"].(string) }
	page := func(parameters string) ([]any, bool) {
		got := c.do(http.MethodGet, "/v1/credits?"+parameters, "")
		require.Equal(c.w.t, http.StatusOK, got.StatusCode, string(got.raw))
		return got.at("transactions").([]any), got.at("has_more").(bool)
	}
	var forward []any
	for cursor, more := "", true; more; {
		var some []any
		some, more = page("limit=2" + cursor)
		forward = append(forward, some...)
		cursor = "&starting_after=" + id(some[len(some)-1])
	}
	require.Equal(c.w.t, all, forward)

	last := len(all) - 1
	backward := []any{all[last]}
	for more := true; more; {
		var some []any
		some, more = page("limit=2&ending_before=" + id(backward[0]))
		backward = append(some, backward...)
	}
	require.Equal(c.w.t, all, backward)

	adjustments, more := page("kind=adjustment&limit=1")
	require.Equal(c.w.t, all[:1], adjustments)
	require.True(c.w.t, more)
	first := all[last].(map[string]any)["created_at"].(string)
	none, _ := page("created_before=2020-01-01T00:00:00Z")
	require.Empty(c.w.t, none)
	some, _ := page("created_after=" + first)
	require.Equal(c.w.t, all, some, "inclusive")
}

func TestLedgerKeysArePublic(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = "/.well-known/vqa-ledger-keys.json"
	require.Empty(t, w.do(http.MethodGet, path, "").at("keys"))
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize))).Public().(ed25519.PublicKey)
	require.NoError(t, w.service.AddLedgerKey(t.Context(), key))
	keys := w.do(http.MethodGet, path, "").at("keys").([]any)
	require.Len(t, keys, 1)
	shown := keys[0].(map[string]any)
	require.Equal(t, credit.LedgerKeyID(key), shown["key_id"])
	require.Equal(t, "ed25519", shown["algorithm"])
	require.Equal(t, base64.StdEncoding.EncodeToString(key), shown["public_key"])
	require.NotEmpty(t, shown["added_at"])
}
