package credit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

var (
	debit    = credit.Original{TransactionID: "txn_1", Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "an_1", Seconds: 6}
	purchase = credit.Original{TransactionID: "txn_0", Kind: credit.Purchase, Seconds: 10}
)

func refund(original credit.Original, seconds int64) credit.Refund {
	return credit.Refund{TransactionID: "txn_2", Original: original, Seconds: seconds, Reason: "a bad answer"}
}

func refunded(original credit.Original, seconds, balance int64) credit.Event {
	return credit.Refunded{
		AccountID: "acct_1", TransactionID: "txn_2", Refunds: original.TransactionID, Kind: original.Kind,
		SourceType: original.SourceType, SourceID: original.SourceID, Seconds: seconds, BalanceAfter: balance,
		Reason: "a bad answer", At: scenario.Now,
	}
}

func TestRefund(t *testing.T) {
	t.Parallel()
	used := events{granted(10), held("an_1", 6), settled("an_1", 6, 6, 4)}
	with := func(given events, more ...credit.Event) events { return append(given[:len(given):len(given)], more...) }
	of := func(kind credit.Kind) credit.Original {
		return credit.Original{TransactionID: "txn_0", Kind: kind, Seconds: 10}
	}
	full := events{granted(credit.MaxSeconds)}
	aggregate.Run(t, cases{
		{Name: "a debit", Given: used, When: refund(debit, 6), Then: events{refunded(debit, 6, 10)}},
		{Name: "a part of it", Given: used, When: refund(debit, 1), Then: events{refunded(debit, 1, 5)}},
		{Name: "the other part", Given: with(used, refunded(debit, 1, 5)), When: refund(debit, 5), Then: events{refunded(debit, 5, 10)}},
		{Name: "more than was debited", Given: used, When: refund(debit, 7), Refused: fault.ValidationFailed},
		{Name: "more than is left", Given: with(used, refunded(debit, 2, 6)), When: refund(debit, 5), Refused: fault.ValidationFailed},
		{Name: "nothing is left", Given: with(used, refunded(debit, 6, 10)), When: refund(debit, 1), Refused: fault.ResourceConflict},
		{Name: "0 seconds", Given: used, When: refund(debit, 0), Refused: fault.ValidationFailed},
		{Name: "negative", Given: used, When: refund(debit, -1), Refused: fault.ValidationFailed},
		{Name: "beyond the largest balance", Given: full, When: refund(debit, 1), Refused: fault.ValidationFailed},
		{Name: "a purchase", Given: events{granted(10)}, When: refund(purchase, 10), Then: events{refunded(purchase, -10, 0)}},
		{Name: "a purchase that was used", Given: used, When: refund(purchase, 5), Refused: fault.InsufficientCredits},
		{Name: "the rest of it", Given: used, When: refund(purchase, 4), Then: events{refunded(purchase, -4, 0)}},
		{
			Name: "a purchase that is held", Given: events{granted(10), held("an_1", 6)}, When: refund(purchase, 5),
			Refused: fault.InsufficientCredits,
		},
		{Name: "a signup grant", Given: events{granted(10)}, When: refund(of(credit.SignupGrant), 1), Then: events{refunded(of(credit.SignupGrant), -1, 9)}},
		{Name: "a card grant", Given: events{granted(10)}, When: refund(of(credit.CardGrant), 1), Then: events{refunded(of(credit.CardGrant), -1, 9)}},
		{Name: "an adjustment", Given: events{granted(10)}, When: refund(of(credit.Adjustment), 1), Refused: fault.ValidationFailed},
		{Name: "an unknown kind", Given: events{granted(10)}, When: refund(of("gift"), 1), Refused: fault.ValidationFailed},
	})
}

func TestRefundLowersUsedSeconds(t *testing.T) {
	t.Parallel()
	s := aggregate.Fold(granted(10), held("an_1", 6), settled("an_1", 6, 6, 4), refunded(debit, 2, 6))
	require.Equal(t, int64(4), s.UsedSeconds)
	require.Equal(t, credit.Totals{Grants: 10, AnalysisUsage: 4}, s.Totals)
	require.Equal(t, int64(4), s.RefundableSeconds(debit))
	require.Equal(t, int64(10), s.SignupGrantSeconds)
}
