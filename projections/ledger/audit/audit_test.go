package audit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/projections/ledger/audit"
)

func TestSoundLedgers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		a := w.account(fmt.Sprintf("acct_%d", r.IntN(9)))
		w.do(t, a.id, w.random(a, r))
	}
	report := w.audit(t, w.auditor(), audit.Scope{AllStreams: true})
	require.Empty(t, report.Mismatches)
	require.True(t, report.Sound())
	require.Zero(t, report.SumSeconds)
	var entries, available, held int64
	for _, a := range w.accounts {
		entries += a.version
		available += a.state.AvailableSeconds()
		held += a.state.HeldSeconds
	}
	require.Equal(t, entries, report.Entries)
	require.Equal(t, available, report.LedgerAccounts["customers:available"])
	require.Equal(t, held, report.LedgerAccounts["customers:held"])
	require.Contains(t, report.LedgerAccounts, credit.PlatformSales)
}
