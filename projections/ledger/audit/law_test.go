package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/projections/ledger/audit"
)

// TestBrokenLaws appends, through the store itself, what the domain would never decide:
// chains and read models are sound, and the laws are not.
func TestBrokenLaws(t *testing.T) {
	t.Parallel()
	const source, holdID, debit = "anl_1", "hold_000005", "txn_000007"
	at := start
	tests := []struct {
		name   string
		forged credit.Event
		kind   audit.Kind
	}{
		{"a hold released twice", credit.Released{AccountID: "acct_a", HoldID: holdID, SourceType: credit.SourceAnalysis, SourceID: source, Seconds: 100, Reason: credit.ByCommand, At: at}, audit.Hold},
		{"a debit without a hold", credit.Settled{AccountID: "acct_a", HoldID: "hold_x", TransactionID: "txn_x", Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "anl_x", Seconds: 1, HeldSeconds: 1, BalanceAfter: 939, At: at}, audit.Hold},
		{"a debit of more than held and available", credit.Settled{AccountID: "acct_a", HoldID: "hold_000012", TransactionID: "txn_x", Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 941, HeldSeconds: 50, BalanceAfter: -1, At: at}, audit.Hold},
		{"a debit of another hold", credit.Settled{AccountID: "acct_a", HoldID: "hold_x", TransactionID: "txn_x", Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 5, HeldSeconds: 50, BalanceAfter: 935, At: at}, audit.Hold},
		{"a hold that ends with other seconds", credit.Released{AccountID: "acct_a", HoldID: "hold_000012", SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 40, Reason: credit.ByCommand, At: at}, audit.Hold},
		{"a second hold of a source", credit.Held{AccountID: "acct_a", HoldID: "hold_x", Seconds: 5, SourceType: credit.SourceAnalysis, SourceID: "anl_2", ExpiresAt: at, At: at}, audit.Hold},
		{"a hold of more than is available", credit.Held{AccountID: "acct_a", HoldID: "hold_x", Seconds: 891, SourceType: credit.SourceAnalysis, SourceID: "anl_x", ExpiresAt: at, At: at}, audit.Balance},
		{"a balance that does not follow", credit.Granted{AccountID: "acct_a", TransactionID: "txn_x", Kind: credit.Purchase, Seconds: 5, BalanceAfter: 950, At: at}, audit.Balance},
		{"a refund of more than was moved", credit.Refunded{AccountID: "acct_a", TransactionID: "txn_x", Refunds: debit, Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: source, Seconds: 61, BalanceAfter: 1001, At: at}, audit.Balance},
		{"a refund of nothing", credit.Refunded{AccountID: "acct_a", TransactionID: "txn_x", Refunds: "txn_none", Kind: credit.Purchase, Seconds: -1, BalanceAfter: 939, At: at}, audit.Balance},
		{"an entry of another account", credit.Granted{AccountID: "acct_b", TransactionID: "txn_x", Kind: credit.Purchase, Seconds: 5, BalanceAfter: 945, At: at}, audit.Altered},
		{"a negative purchase", credit.Granted{AccountID: "acct_a", TransactionID: "txn_x", Kind: credit.Purchase, Seconds: -5, BalanceAfter: 935, At: at}, audit.Altered},
		{"a hold of more than an account can have", credit.Held{AccountID: "acct_a", HoldID: "hold_x", Seconds: credit.MaxSeconds + 1, SourceType: credit.SourceAnalysis, SourceID: "anl_x", ExpiresAt: at, At: at}, audit.Altered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			// The second guard of the laws would refuse some of these.
			_, err := w.owner.Exec(t.Context(), `do $$ declare c text; begin
				for c in select conname from pg_constraint where conrelid = 'credit_balances'::regclass and contype = 'c' loop
					execute format('alter table credit_balances drop constraint %I', c);
				end loop; end $$`)
			require.NoError(t, err)
			a := w.account("acct_a")
			w.do(t, a.id, w.grant(a.id, 1000))
			w.ids = 4
			w.do(t, a.id, w.hold(a.id, source, 100))
			w.ids = 6
			w.do(t, a.id, w.settle(source, 60))
			w.ids = 11
			w.do(t, a.id, w.hold(a.id, "anl_2", 50))
			write := eventstore.Write{
				Stream: fold.Credit.Stream(a.id), Expected: a.version, Chain: a.chain, State: credit.Evolve(a.state, tt.forged),
				Events: []eventstore.NewEvent{{Event: tt.forged, Meta: w.meta(a.id)}},
			}
			w.append(t.Context(), t, write)
			got := w.audit(t, audit.Scope{}).Mismatches
			want := []audit.Mismatch{{AccountID: a.id, Kind: tt.kind, Stream: "credit/acct_a", Version: 5, Position: 6}}
			if owner := transactionOwner(tt.forged); owner != "" && owner != a.id {
				want = append(want, audit.Mismatch{AccountID: owner, Kind: audit.Balance, Stream: "credit/" + owner, Version: 5})
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(audit.Mismatch{}, "Detail")); diff != "" {
				t.Errorf("mismatches (-want +got):\n%s\n%+v", diff, got)
			}
		})
	}
}

// transactionOwner is the account that the read models book a grant to.
func transactionOwner(event credit.Event) string {
	if e, ok := event.(credit.Granted); ok {
		return e.AccountID
	}
	return ""
}
