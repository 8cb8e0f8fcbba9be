package finance

import (
	"bytes"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/projections/ledger/book"
)

// TestLedgerOnScreen checks the printed holds, entries and comparisons that no other test prints.
func TestLedgerOnScreen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	PrintHolds(terminal.NewScreen(&out), []book.HeldBy{
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
	PrintWhatIf(terminal.NewScreen(&out), book.WhatIf{
		Accounts: []book.Repriced{{AccountID: "acct_1", Comparison: more, RanOutAt: &now}}, Total: more, RanOut: 1,
	})
	require.Equal(t, `  ACCOUNT  SECONDS   THEN  CHANGE  CENTS   THEN  CHANGE  NOTE
  acct_1     1,000  1,100    +100    500  550.5   +50.5  runs out 2026-11-20 12:00:00
  total      1,000  1,100    +100    500  550.5   +50.5

  1 accounts would have run out of credits

  Nothing was written.
`, out.String())
}
