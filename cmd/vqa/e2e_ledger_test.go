package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLedgerIsSealed buys, refunds and signs a checkpoint beside a running service, like an operator.
// The service publishes the key of the checkpoint.
func TestLedgerIsSealed(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 100)
	order := func(args ...string) (posted struct {
		RequestID      string `json:"request_id"`
		TransactionID  string `json:"transaction_id"`
		BalanceSeconds int64  `json:"balance_seconds"`
		Repeated       bool   `json:"repeated"`
	}) {
		t.Helper()
		out := c.tool(t, append([]string{"credits"}, append(args, "--reason", "test", "--json")...)...)
		require.NoError(t, json.Unmarshal(out, &posted), "%s", out)
		return posted
	}
	bought := order("purchase", c.key.AccountID, "50", "--idempotency-key", "buy")
	require.True(t, strings.HasPrefix(bought.RequestID, "req_"))
	again := order("purchase", c.key.AccountID, "50", "--idempotency-key", "buy")
	require.True(t, again.Repeated)
	require.Equal(t, bought.TransactionID, again.TransactionID)
	taken := order("refund", c.key.AccountID, bought.TransactionID, "--idempotency-key", "take")
	require.Equal(t, int64(100), taken.BalanceSeconds)

	latest := c.credits(t).at("transactions.0").(map[string]any)
	require.Equal(t, "adjustment", latest["kind"])
	require.Equal(t, bought.TransactionID, latest["refunds"])

	var sealed struct {
		KeyID string `json:"key_id"`
	}
	out := c.tool(t, "ledger", "checkpoint", "--json")
	require.NoError(t, json.Unmarshal(out, &sealed), "%s", out)
	published := c.call(t, http.MethodGet, "/.well-known/vqa-ledger-keys.json", nil)
	require.Equal(t, http.StatusOK, published.status, "%s", published.raw)
	require.Len(t, published.at("keys"), 1, "the service and its tools sign with one key")
	require.Equal(t, sealed.KeyID, published.text("keys.0.key_id"))
}
