package audit_test

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/projections"
	"vqa/projections/ledger"
	"vqa/projections/ledger/audit"
)

// The log of the benchmark: holds and debits of many accounts, in the order of the work,
// and of one account with constant work.
const (
	benchAccounts = 10_000
	benchEntries  = 1_000_000
	benchHot      = 200_000
)

// BenchmarkVerify verifies a ledger of a million entries. It reports entries per second and
// the peak resident memory of this process, without Postgres.
func BenchmarkVerify(b *testing.B) {
	w := newWorld(b)
	fill(b, w)
	w.accounts = nil
	debug.FreeOSMemory()
	defer debug.SetGCPercent(debug.SetGCPercent(audit.GCPercent))
	peak := storetest.WatchMemory(b)
	var report audit.Report
	for b.Loop() {
		a := audit.Auditor{Pool: w.pool, Codec: codec.Events(), Models: ledger.Projections()}
		var err error
		report, err = a.Verify(b.Context(), audit.Scope{}, func(int64, int64) {})
		require.NoError(b, err)
	}
	require.Empty(b, report.Mismatches)
	require.GreaterOrEqual(b, report.Entries, int64(benchEntries))
	b.ReportMetric(float64(report.Entries)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(peak(), "peak-MB")
	b.ReportMetric(0, "ns/op")
}

// fill writes the log in rounds. In each round some accounts hold and settle once, and the
// hot account many times. It does not use the store, which would take a minute, and
// rebuilds the read models afterwards.
func fill(b *testing.B, w *world) {
	const rounds = 100
	const hot = benchHot / rounds / 2
	const others = (benchEntries - benchHot) / rounds / 2
	next := 0
	for round := range rounds {
		a := w.account("acct_hot")
		commands := []credit.Command{w.grant(a.id, 100_000)}
		for n := range hot {
			source := fmt.Sprintf("anl_%d_%d", round, n)
			commands = append(commands, w.hold(a.id, source, 60), w.settle(source, 45))
		}
		writes := []eventstore.Write{w.decide(b, a, commands...)}
		for range others {
			a := w.account(fmt.Sprintf("acct_%06d", next%benchAccounts))
			source := fmt.Sprintf("anl_%d", next)
			commands := []credit.Command{w.hold(a.id, source, 60), w.settle(source, 45)}
			if next < benchAccounts {
				commands = append([]credit.Command{w.grant(a.id, 100_000)}, commands...)
			}
			writes = append(writes, w.decide(b, a, commands...))
			next++
		}
		w.copyIn(b, writes)
	}
	var heads [][]any
	for _, a := range w.accounts {
		heads = append(heads, []any{fold.Credit.Stream(a.id).String(), a.version, a.version - 1, a.chain[:]})
	}
	_, err := w.owner.CopyFrom(b.Context(), pgx.Identifier{"streams"}, []string{"stream", "version", "prior_version", "chain"}, pgx.CopyFromRows(heads))
	require.NoError(b, err)
	models := projections.Rebuilder{Owner: w.owner, Decode: codec.Events().Unmarshal, Role: postgres.Role, Projections: ledger.Projections()}
	_, err = models.Rebuild(b.Context(), true)
	require.NoError(b, err)
	_, err = w.owner.Exec(b.Context(), "vacuum (analyze)")
	require.NoError(b, err)
}

// copyIn adds the events of writes to the log, taking one event of each stream in turn.
func (w *world) copyIn(b *testing.B, writes []eventstore.Write) {
	encoded, err := codec.Events().Encode(eventstore.Batch{Writes: writes})
	require.NoError(b, err)
	rows := make([][]any, len(encoded))
	for i, e := range encoded {
		rows[i] = []any{e.Stream.String(), e.Version, e.Type, e.AccountID, e.Data, e.Meta, e.Chain[:]}
		a := w.account(e.Stream.ID)
		a.version, a.chain = e.Version, e.Chain
	}
	_, err = w.owner.CopyFrom(b.Context(), pgx.Identifier{"events"},
		[]string{"stream", "version", "type", "account_id", "data", "meta", "chain"}, pgx.CopyFromRows(rows))
	require.NoError(b, err)
}
