package audit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/projections/ledger/audit"
)

// TestBrokenLaws appends events that the domain never decides. Chains and read models are
// sound, but the laws are broken.
func TestBrokenLaws(t *testing.T) {
	t.Parallel()
	at := start
	tests := []struct {
		name   string
		forged func(id string) credit.Event
		kind   audit.Kind
	}{
		{"a hold released twice", func(id string) credit.Event {
			return credit.Released{AccountID: id, HoldID: "hold_1_" + id, SourceType: credit.SourceAnalysis, SourceID: "anl_1", Seconds: 100, Reason: credit.ByCommand, At: at}
		}, audit.Balance},
		{"a debit without a hold", func(id string) credit.Event {
			return credit.Settled{AccountID: id, HoldID: "hold_x", TransactionID: "txn_x_" + id, Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "anl_x", Seconds: 1, HeldSeconds: 1, BalanceAfter: 939, At: at}
		}, audit.Balance},
		{"a debit of more than held and available", func(id string) credit.Event {
			return credit.Settled{AccountID: id, HoldID: "hold_2_" + id, TransactionID: "txn_x_" + id, Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 941, HeldSeconds: 50, BalanceAfter: -1, At: at}
		}, audit.Balance},
		{"a debit of another hold", func(id string) credit.Event {
			return credit.Settled{AccountID: id, HoldID: "hold_x", TransactionID: "txn_x_" + id, Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 5, HeldSeconds: 50, BalanceAfter: 935, At: at}
		}, audit.Balance},
		{"a hold that ends with other seconds", func(id string) credit.Event {
			return credit.Released{AccountID: id, HoldID: "hold_2_" + id, SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 40, Reason: credit.ByCommand, At: at}
		}, audit.Balance},
		{"a second hold of a source", func(id string) credit.Event {
			return credit.Held{AccountID: id, HoldID: "hold_x", Seconds: 5, SourceType: credit.SourceAnalysis, SourceID: "anl_2", ExpiresAt: at, At: at}
		}, audit.Balance},
		{"a hold above the available balance", func(id string) credit.Event {
			return credit.Held{AccountID: id, HoldID: "hold_x", Seconds: 891, SourceType: credit.SourceAnalysis, SourceID: "anl_x", ExpiresAt: at, At: at}
		}, audit.Balance},
		{"a balance that does not follow", func(id string) credit.Event {
			return credit.Granted{AccountID: id, TransactionID: "txn_x_" + id, Kind: credit.Purchase, Seconds: 5, BalanceAfter: 950, At: at}
		}, audit.Balance},
		{"a refund of more than was moved", func(id string) credit.Event {
			return credit.Refunded{AccountID: id, TransactionID: "txn_x_" + id, Refunds: "txn_1_" + id, Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "anl_1", Seconds: 61, BalanceAfter: 1001, At: at}
		}, audit.Balance},
		{"a refund of nothing", func(id string) credit.Event {
			return credit.Refunded{AccountID: id, TransactionID: "txn_x_" + id, Refunds: "txn_none", Kind: credit.Purchase, Seconds: -1, BalanceAfter: 939, At: at}
		}, audit.Balance},
		{"an entry of another account", func(id string) credit.Event {
			return credit.Granted{AccountID: "acct_b", TransactionID: "txn_x_" + id, Kind: credit.Purchase, Seconds: 5, BalanceAfter: 945, At: at}
		}, audit.Balance},
		{"a negative purchase", func(id string) credit.Event {
			return credit.Granted{AccountID: id, TransactionID: "txn_x_" + id, Kind: credit.Purchase, Seconds: -5, BalanceAfter: 935, At: at}
		}, audit.Balance},
		{"an extension of a hold that is not open", func(id string) credit.Event {
			return credit.Extended{AccountID: id, HoldID: "hold_1_" + id, SourceType: credit.SourceAnalysis, SourceID: "anl_1", Seconds: 10, HeldSeconds: 110, ExpiresAt: at, At: at}
		}, audit.Balance},
		{"an extension of another hold", func(id string) credit.Event {
			return credit.Extended{AccountID: id, HoldID: "hold_1_" + id, SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 10, HeldSeconds: 60, ExpiresAt: at, At: at}
		}, audit.Balance},
		{"an extension to a wrong sum", func(id string) credit.Event {
			return credit.Extended{AccountID: id, HoldID: "hold_2_" + id, SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 10, HeldSeconds: 61, ExpiresAt: at, At: at}
		}, audit.Balance},
		{"an extension by nothing", func(id string) credit.Event {
			return credit.Extended{AccountID: id, HoldID: "hold_2_" + id, SourceType: credit.SourceAnalysis, SourceID: "anl_2", HeldSeconds: 50, ExpiresAt: at, At: at}
		}, audit.Balance},
		{"an extension beyond the balance", func(id string) credit.Event {
			return credit.Extended{AccountID: id, HoldID: "hold_2_" + id, SourceType: credit.SourceAnalysis, SourceID: "anl_2", Seconds: 891, HeldSeconds: 941, ExpiresAt: at, At: at}
		}, audit.Balance},
		{"a hold above the largest balance", func(id string) credit.Event {
			return credit.Held{AccountID: id, HoldID: "hold_x", Seconds: credit.MaxSeconds + 1, SourceType: credit.SourceAnalysis, SourceID: "anl_x", ExpiresAt: at, At: at}
		}, audit.Balance},
	}
	w := newWorld(t)
	// The checks of the read models would refuse some of these events.
	_, err := w.owner.Exec(t.Context(), `do $$ declare c text; begin
		for c in select conname from pg_constraint where conrelid = 'credit_balances'::regclass and contype = 'c' loop
			execute format('alter table credit_balances drop constraint %I', c);
		end loop; end $$`)
	require.NoError(t, err)
	for n, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := w.account(fmt.Sprintf("acct_%02d", n))
			w.do(t, a.id, w.grant(a.id, 1000),
				credit.Hold{AccountID: a.id, HoldID: "hold_1_" + a.id, Seconds: 100, SourceType: credit.SourceAnalysis, SourceID: "anl_1", ExpiresAt: at},
				credit.Settle{SourceID: "anl_1", TransactionID: "txn_1_" + a.id, Seconds: 60},
				credit.Hold{AccountID: a.id, HoldID: "hold_2_" + a.id, Seconds: 50, SourceType: credit.SourceAnalysis, SourceID: "anl_2", ExpiresAt: at},
			)
			forged := tt.forged(a.id)
			w.append(t.Context(), t, eventstore.Write{
				Stream: fold.Credit.Stream(a.id), Expected: a.version, Chain: a.chain, State: credit.Evolve(a.state, forged),
				Events: []eventstore.NewEvent{{Event: forged, Meta: w.meta(a.id)}},
			})
			got := w.audit(t, w.auditor(), audit.Scope{Accounts: []string{a.id}}).Mismatches
			require.Len(t, got, 1, "%+v", got)
			want := audit.Mismatch{
				AccountID: a.id, Kind: tt.kind, Stream: "credit/" + a.id, Version: 5, Position: got[0].Position, Detail: got[0].Detail,
			}
			require.Equal(t, want, got[0])
		})
	}
}
