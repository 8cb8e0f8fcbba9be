package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
)

func TestGrantCredits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(30)
	w.queued(caller, w.readyVideo(caller)) // holds 10
	balance, err := w.GrantCredits(t.Context(), GrantCredits{
		AccountID: caller.AccountID, Kind: credit.Adjustment, Seconds: -20, Reason: "a mistake", Operator: "jo",
	})
	require.NoError(t, err)
	require.Equal(t, int64(0), balance.AvailableSeconds())
	last := w.history()[len(w.history())-1]
	require.Equal(t, "operator:jo", last.Meta.Actor)
	require.Equal(t, "a mistake", last.Event.(credit.Granted).Reason)
	w.requireUnchanged(func() {
		_, err := w.GrantCredits(t.Context(), GrantCredits{AccountID: caller.AccountID, Kind: credit.Adjustment, Seconds: -1})
		requireFault(t, err, fault.InsufficientCredits)
		_, err = w.GrantCredits(t.Context(), GrantCredits{AccountID: caller.AccountID, Kind: credit.Purchase, Seconds: 0})
		requireFault(t, err, fault.ValidationFailed)
		_, err = w.GrantCredits(t.Context(), GrantCredits{AccountID: "acct_01JNQ3ZC8A0123456789ABCDEF", Kind: credit.Purchase, Seconds: 1})
		requireFault(t, err, fault.ResourceNotFound)
	})
}
