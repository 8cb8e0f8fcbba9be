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

// TestBrokenLaws appends events that the domain never decides, with valid MACs. Chains and read models are
// sound, but the laws are broken. TestExamine of domain/credit has each law of a single event.
func TestBrokenLaws(t *testing.T) {
	t.Parallel()
	at := start
	tests := []struct {
		name   string
		forged func(id string) credit.Event
	}{
		{"a balance that does not follow", func(id string) credit.Event {
			return credit.Granted{AccountID: id, TransactionID: "txn_x_" + id, Kind: credit.Purchase, Seconds: 5, BalanceAfter: 950, At: at}
		}},
		{"a negative purchase", func(id string) credit.Event {
			return credit.Granted{AccountID: id, TransactionID: "txn_x_" + id, Kind: credit.Purchase, Seconds: -5, BalanceAfter: 935, At: at}
		}},
		{"a refund of more than was moved", func(id string) credit.Event {
			return credit.Refunded{AccountID: id, TransactionID: "txn_x_" + id, Refunds: "txn_1_" + id, Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis, SourceID: "anl_1", Seconds: 61, BalanceAfter: 1001, At: at}
		}},
		{"a refund of nothing", func(id string) credit.Event {
			return credit.Refunded{AccountID: id, TransactionID: "txn_x_" + id, Refunds: "txn_none", Kind: credit.Purchase, Seconds: -1, BalanceAfter: 939, At: at}
		}},
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
				AccountID: a.id, Kind: audit.Balance, Stream: "credit/" + a.id, Version: 5, Position: got[0].Position, Detail: got[0].Detail,
			}
			require.Equal(t, want, got[0])
		})
	}
}
