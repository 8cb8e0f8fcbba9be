package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
)

// change returns an operator's change of an account.
func change(accountID string) CreditChange {
	return CreditChange{AccountID: accountID, Reason: "a mistake", Operator: "jo", RequestID: "req_9"}
}

func TestGrantCredits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(30)
	w.queued(caller, w.readyVideo(caller)) // holds 10
	posted, err := w.GrantCredits(t.Context(), GrantCredits{CreditChange: change(caller.AccountID), Kind: credit.Adjustment, Seconds: -20})
	require.NoError(t, err)
	require.Equal(t, int64(0), posted.Balance.AvailableSeconds())
	last := w.history()[len(w.history())-1]
	require.Equal(t, "operator:jo", last.Meta.Actor)
	require.Equal(t, "req_9", last.Meta.RequestID)
	require.Equal(t, "a mistake", last.Event.(credit.Granted).Reason)
	require.Equal(t, posted.TransactionID, last.Event.(credit.Granted).TransactionID)
	w.requireUnchanged(func() {
		grant := func(accountID string, kind credit.Kind, seconds int64) error {
			_, err := w.GrantCredits(t.Context(), GrantCredits{CreditChange: change(accountID), Kind: kind, Seconds: seconds})
			return err
		}
		requireFault(t, grant(caller.AccountID, credit.Adjustment, -1), fault.InsufficientCredits)
		requireFault(t, grant(caller.AccountID, credit.Purchase, 0), fault.ValidationFailed)
		requireFault(t, grant("acct_01JNQ3ZC8A0123456789ABCDEF", credit.Purchase, 1), fault.ResourceNotFound)
	})
}

func TestRefundCredits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, other := w.account(30), w.account(30)
	run := w.claimed(caller, w.readyVideo(caller))
	require.NoError(t, w.CompleteAnalysis(t.Context(), run, yes(), 9_400_000, 3, nil))
	var debit, grant string
	for _, r := range w.history() {
		switch e := r.Event.(type) {
		case credit.Settled:
			debit = e.TransactionID
		case credit.Granted:
			if e.AccountID == caller.AccountID {
				grant = e.TransactionID
			}
		}
	}
	refund := func(accountID, txn string, seconds int64) (Posted, error) {
		return w.RefundCredits(t.Context(), RefundCredits{CreditChange: change(accountID), TransactionID: txn, Seconds: seconds})
	}
	posted, err := refund(caller.AccountID, debit, 4)
	require.NoError(t, err)
	require.Equal(t, int64(24), posted.Balance.PostedSeconds)
	require.Equal(t, int64(6), posted.Balance.UsedSeconds)
	posted, err = refund(caller.AccountID, debit, 0)
	require.NoError(t, err)
	require.Equal(t, int64(30), posted.Balance.PostedSeconds, "0 is all that is left")
	last := w.history()[len(w.history())-1].Event.(credit.Refunded)
	require.Equal(t, run.AnalysisID, last.SourceID)
	require.Equal(t, debit, last.Refunds)
	w.requireUnchanged(func() {
		_, err := refund(caller.AccountID, debit, 0)
		requireFault(t, err, fault.ResourceConflict)
		_, err = refund(caller.AccountID, posted.TransactionID, 1)
		requireFault(t, err, fault.ValidationFailed) // a refund cannot be refunded
		_, err = refund(other.AccountID, debit, 1)
		requireFault(t, err, fault.ResourceNotFound)
		_, err = refund(caller.AccountID, "txn_01JNQ3ZC8A0123456789ABCDEF", 1)
		requireFault(t, err, fault.ResourceNotFound)
	})
	keyed := RefundCredits{CreditChange: change(caller.AccountID), TransactionID: grant, Seconds: 5}
	keyed.Idempotency = caller.keyed("k", "5").Idempotency
	for range 2 {
		posted, err = w.RefundCredits(t.Context(), keyed)
		require.NoError(t, err)
		require.Equal(t, int64(25), posted.Balance.PostedSeconds, "a repeated command takes effect once")
	}
	require.True(t, posted.Repeated)
}
