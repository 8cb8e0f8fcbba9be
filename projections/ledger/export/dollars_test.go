package export_test

import (
	"bytes"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"vqa/projections/ledger/book"
	"vqa/projections/ledger/export"
)

func TestDollars(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		seconds int64
		cents   string
		want    string
	}{
		{0, "0.5", "$0.000"}, {1, "0.5", "$0.005"}, {-12, "0.5", "-$0.060"}, {6000, "0.5", "$30.000"}, {3, "1", "$0.03"},
		{7, "100", "$7.00"}, {9007199254740993, "0.45", "$40532396646334.4685"},
	} {
		require.Equal(t, tt.want, export.Dollars(tt.seconds, decimal.RequireFromString(tt.cents)), tt)
	}
}

// TestStatementShowsDollars checks that a statement with a price shows dollars beside
// seconds.
func TestStatementShowsDollars(t *testing.T) {
	t.Parallel()
	s := book.Statement{AccountID: "acct_1", Opening: book.Account{}, Transactions: []book.Line{{Kind: "purchase", SecondsDelta: 500, BalanceAfter: 500}}}
	var plain, priced bytes.Buffer
	require.NoError(t, export.StatementHTML(&plain, s, nil))
	require.NotContains(t, plain.String(), "$")
	price := decimal.RequireFromString("0.5")
	require.NoError(t, export.StatementHTML(&priced, s, &price))
	require.Contains(t, priced.String(), "$2.500")
	require.Contains(t, priced.String(), "0.5 US cents a second")
}
