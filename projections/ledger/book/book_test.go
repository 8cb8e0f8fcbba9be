package book_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/internal/history"
)

func open(t *testing.T, w *history.World) *book.Snapshot {
	t.Helper()
	s, err := book.Open(t.Context(), w.Pool, w.Codec)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func day(month time.Month, d, hour int) time.Time {
	return time.Date(2026, month, d, hour, 0, 0, 0, time.UTC)
}

// autumn returns an account with a history of two months.
func autumn(t *testing.T) (*history.World, string) {
	t.Helper()
	w, id := history.New(t), "acct_01K9A"
	source := func(n string) credit.Hold {
		return credit.Hold{AccountID: id, HoldID: "hold_" + n, Seconds: 100, SourceType: credit.SourceAnalysis, SourceID: "an_" + n, ExpiresAt: day(12, 24, 0)}
	}
	w.Must(t, id, day(10, 30, 9), credit.Grant{AccountID: id, TransactionID: "txn_1", Kind: credit.SignupGrant, Seconds: 6000})
	w.Must(t, id, day(10, 31, 23), source("1"))
	w.Must(t, id, day(11, 1, 0), credit.Settle{SourceID: "an_1", TransactionID: "txn_2", Seconds: 80})
	w.Must(t, id, day(11, 5, 8), credit.Grant{AccountID: id, TransactionID: "txn_3", Kind: credit.Purchase, Seconds: 500, Reason: "invoice 7"}, source("2"))
	w.Must(t, id, day(11, 6, 8), credit.Release{SourceID: "an_2"}, source("3"))
	// The clock was set back, but the entry still belongs to November.
	w.Must(t, id, day(10, 29, 8), credit.Refund{
		TransactionID: "txn_4", Seconds: 30, Reason: "too dark",
		Original: credit.Original{TransactionID: "txn_2", Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "an_1", Seconds: 80},
	})
	w.Must(t, id, day(12, 2, 8), credit.Settle{SourceID: "an_3", TransactionID: "txn_5", Seconds: 100})
	return w, id
}

func TestStatement(t *testing.T) {
	t.Parallel()
	w, id := autumn(t)
	statement := func(month string) book.Statement {
		p, err := book.Month(month)
		require.NoError(t, err)
		s, err := open(t, w).Statement(t.Context(), id, p)
		require.NoError(t, err)
		return s
	}
	from, to := day(11, 1, 0), day(12, 1, 0)
	got := statement("2026-11")
	require.Len(t, got.Chain, 64)
	got.Chain = ""
	want := book.Statement{
		AccountID: id, From: &from, To: &to,
		Opening: book.Account{AccountID: id, PostedSeconds: 6000, AvailableSeconds: 5900, HeldSeconds: 100, Totals: credit.Totals{Grants: 6000}},
		Transactions: []book.Line{
			{Version: 3, At: day(11, 1, 0), ID: "txn_2", Kind: "analysis_debit", SecondsDelta: -80, BalanceAfter: 5920, SourceType: "analysis", SourceID: "an_1"},
			{Version: 4, At: day(11, 5, 8), ID: "txn_3", Kind: "purchase", SecondsDelta: 500, BalanceAfter: 6420, Reason: "invoice 7"},
			{Version: 8, At: day(10, 29, 8), ID: "txn_4", Kind: "refund", SecondsDelta: 30, BalanceAfter: 6450, SourceType: "analysis", SourceID: "an_1", Refunds: "txn_2", Reason: "too dark"},
		},
		Totals: []book.KindTotal{{"analysis_debit", 1, -80}, {"purchase", 1, 500}, {"refund", 1, 30}},
		Closing: book.Account{
			AccountID: id, PostedSeconds: 6450, AvailableSeconds: 6350, HeldSeconds: 100,
			Totals: credit.Totals{Grants: 6000, Sales: 500, AnalysisUsage: 50},
		},
		Holds:   []credit.OpenHold{{ID: "hold_3", Seconds: 100, SourceType: "analysis", SourceID: "an_3", CreatedAt: day(11, 6, 8), ExpiresAt: day(12, 24, 0)}},
		Version: 8,
	}
	require.Empty(t, cmp.Diff(want, got))
	require.Equal(t, got.Opening, statement("2026-10").Closing, "months join")
	require.Equal(t, got.Closing, statement("2026-12").Opening)
	empty := statement("2027-01")
	require.Equal(t, empty.Opening, empty.Closing)
	require.Empty(t, empty.Transactions)
	require.EqualValues(t, 6350, empty.Closing.PostedSeconds)
}

func TestBalances(t *testing.T) {
	t.Parallel()
	w, id := autumn(t)
	s := open(t, w)
	now, err := s.Balances(t.Context())
	require.NoError(t, err)
	folded, err := s.Fold(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(now, folded))
	require.Empty(t, book.Differences(now, folded))
	require.Zero(t, now.SumSeconds)
	require.Equal(t, []credit.Posting{
		{Account: "platform:grants", Seconds: -6000}, {Account: "platform:card_grants"}, {Account: "platform:sales", Seconds: -500},
		{Account: "platform:adjustments"}, {Account: "platform:analysis_usage", Seconds: 150}, {Account: "platform:stream_usage"},
	}, now.Platform)

	for at, want := range map[time.Time][2]int64{
		day(10, 30, 8): {0, 0}, day(10, 30, 9): {6000, 0}, day(10, 31, 23): {5900, 100}, day(11, 5, 8): {6320, 100}, day(11, 6, 8): {6350, 100},
	} {
		b, err := s.Fold(t.Context(), &at, nil, id, "acct_none")
		require.NoError(t, err)
		require.Zero(t, b.SumSeconds)
		require.Len(t, b.Accounts, 2, "an account without an entry has a balance of 0")
		require.Equal(t, want, [2]int64{b.Accounts[0].AvailableSeconds, b.Accounts[0].HeldSeconds}, at)
	}

	require.NoError(t, s.Known(t.Context(), id))
	require.True(t, fault.Has(s.Known(t.Context(), id, "acct_none"), fault.ResourceNotFound))
}

// TestDifferences checks that a wrong read model is found.
func TestDifferences(t *testing.T) {
	t.Parallel()
	w, id := autumn(t)
	w.Must(t, "acct_01K9B", day(11, 1, 0), credit.Grant{AccountID: "acct_01K9B", TransactionID: "txn_b", Kind: credit.CardGrant, Seconds: 10})
	_, err := w.Pool.Exec(t.Context(), "update credit_balances set posted_seconds = posted_seconds + 1, sales_seconds = sales_seconds + 1 where id = $1", id)
	require.NoError(t, err)
	_, err = w.Pool.Exec(t.Context(), "delete from credit_balances where id = 'acct_01K9B'")
	require.NoError(t, err)
	s := open(t, w)
	now, err := s.Balances(t.Context())
	require.NoError(t, err)
	folded, err := s.Fold(t.Context(), nil, nil)
	require.NoError(t, err)
	got := book.Differences(now, folded)
	require.Len(t, got, 2)
	require.Equal(t, got[0].Log.PostedSeconds+1, got[0].ReadModel.PostedSeconds)
	require.Equal(t, "acct_01K9B", got[1].AccountID)
	require.Nil(t, got[1].ReadModel)
	require.Len(t, book.Differences(folded, now), 2)
}

// TestSnapshot checks that one snapshot is consistent while events are appended, and that
// it cannot write.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	w, id := autumn(t)
	s := open(t, w)
	before, err := s.Fold(t.Context(), nil, nil)
	require.NoError(t, err)
	w.Must(t, id, day(12, 3, 0), credit.Grant{AccountID: id, TransactionID: "txn_6", Kind: credit.CardGrant, Seconds: 9})
	after, err := s.Balances(t.Context())
	require.NoError(t, err)
	require.Empty(t, book.Differences(after, before))
	n, err := s.Count(t.Context(), id)
	require.NoError(t, err)
	require.EqualValues(t, 9, n)
	all, err := open(t, w).Count(t.Context(), "")
	require.NoError(t, err)
	require.EqualValues(t, 10, all)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Entries(ctx, "") {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// TestOrders reads the same entries in both orders, across accounts and pages.
func TestOrders(t *testing.T) {
	t.Parallel()
	w := history.New(t)
	ids := w.Live(t, 11, 4, 60)
	s := open(t, w)
	byPosition := map[int64]string{}
	last := int64(0)
	for e, err := range s.InOrder(t.Context()) {
		require.NoError(t, err)
		require.Greater(t, e.Position, last)
		last, byPosition[e.Position] = e.Position, e.Chain
	}
	account, version, sum := "", int64(0), int64(0)
	for e, err := range s.Entries(t.Context(), "") {
		require.NoError(t, err)
		if e.AccountID != account {
			account, version = e.AccountID, 0
		}
		version++
		require.Equal(t, version, e.Version)
		require.Equal(t, byPosition[e.Position], e.Chain)
		delete(byPosition, e.Position)
		for _, p := range e.Postings {
			sum += p.Seconds
		}
	}
	require.Empty(t, byPosition)
	require.Zero(t, sum)

	holds, err := s.Holds(t.Context(), "")
	require.NoError(t, err)
	require.NotEmpty(t, holds)
	var held int64
	for _, id := range ids {
		own, err := s.Holds(t.Context(), id)
		require.NoError(t, err)
		for _, h := range own {
			require.Equal(t, id, h.AccountID)
			held += h.Seconds
		}
	}
	b, err := s.Balances(t.Context())
	require.NoError(t, err)
	for _, a := range b.Accounts {
		held -= a.HeldSeconds
	}
	require.Zero(t, held)
}

func TestMonth(t *testing.T) {
	t.Parallel()
	p, err := book.Month("2026-12")
	require.NoError(t, err)
	require.Equal(t, book.Period{From: day(12, 1, 0), To: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}, p)
	for _, bad := range []string{"", "2026", "2026-13", "2026-1", "2026-01-01", " 2026-01", "November"} {
		_, err := book.Month(bad)
		require.Error(t, err, bad)
	}
}
