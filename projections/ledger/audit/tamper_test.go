package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/projections/ledger/audit"
)

// at returns a mismatch of acct_a at an event of its ledger. Its position is that of the original event.
func at(kind audit.Kind, version int64) audit.Mismatch {
	return audit.Mismatch{AccountID: "acct_a", Kind: kind, Stream: entries, Version: version}
}

func TestTampering(t *testing.T) {
	t.Parallel()
	unexplained := audit.Mismatch{AccountID: "acct_a", Kind: audit.Balance}
	tests := []struct {
		name   string
		tamper func(x *tampering)
		want   []audit.Mismatch
		// keyless is what an auditor without the key finds, if that differs.
		keyless []audit.Mismatch
	}{
		{"nothing", func(*tampering) {}, nil, nil},
		{
			"the seconds of a grant", func(x *tampering) { x.edit(secondGrant, `"seconds":500`, `"seconds":900`) },
			[]audit.Mismatch{at(audit.Forged, secondGrant)}, []audit.Mismatch{at(audit.Altered, secondGrant)},
		},
		{
			"the account column", func(x *tampering) {
				x.sql(`update events set account_id = 'acct_b' where stream = $1 and version = $2`, entries, firstSettle)
			},
			[]audit.Mismatch{at(audit.Forged, firstSettle)}, []audit.Mismatch{at(audit.Altered, firstSettle)},
		},
		{
			"only the hash of an event", func(x *tampering) {
				x.sql(`update events set chain = sha256('x') where stream = $1 and version = $2`, entries, secondHold)
			},
			[]audit.Mismatch{at(audit.Forged, secondHold)},
			[]audit.Mismatch{at(audit.Altered, secondHold), at(audit.Altered, secondRelease)},
		},
		{
			"two neighbors", func(x *tampering) {
				x.edit(firstHold, `"seconds":100`, `"seconds":10`)
				x.edit(firstSettle, `"seconds":60`, `"seconds":6`)
			},
			[]audit.Mismatch{at(audit.Forged, firstHold), at(audit.Forged, firstSettle)},
			[]audit.Mismatch{at(audit.Altered, firstHold), at(audit.Altered, firstSettle)},
		},
		{
			"an event altered and hashed again", func(x *tampering) {
				x.edit(thirdGrant, "invoice", "present")
				x.rehash(thirdGrant, thirdGrant)
			},
			[]audit.Mismatch{at(audit.Forged, thirdGrant)}, []audit.Mismatch{at(audit.Altered, lastHold)},
		},
		{
			"new hashes for all events after changed seconds", func(x *tampering) {
				x.edit(secondGrant, `"seconds":500`, `"seconds":900`)
				x.rehash(secondGrant, lastSettle)
			},
			[]audit.Mismatch{
				at(audit.Forged, secondGrant), at(audit.Forged, secondHold), at(audit.Forged, secondRelease), at(audit.Forged, openHold),
				at(audit.Forged, thirdGrant), at(audit.Forged, lastHold), at(audit.Forged, lastSettle),
			},
			[]audit.Mismatch{at(audit.Balance, secondGrant)},
		},
		{
			"a kind that does not exist", func(x *tampering) {
				x.edit(lastSettle, `"kind":"analysis_debit"`, `"kind":"present"`)
				x.rehash(lastSettle, lastSettle)
			},
			[]audit.Mismatch{at(audit.Forged, lastSettle)}, []audit.Mismatch{at(audit.Balance, lastSettle)},
		},
		{
			"a row of an older history of the service", func(x *tampering) {
				kept := x.events(x.Context(), "stream = '"+entries+"'")
				x.cut(secondGrant)
				x.do(x.T, "acct_a", x.grant("acct_a", 7), x.grant("acct_a", 8))
				e := kept[secondRelease-1]
				x.sql("update events set data = $3::json, meta = $4::json, type = $5, chain = $6, mac = $7 where stream = $1 and version = $2",
					entries, secondRelease, e.data, e.meta, e.kind, e.chain, e.mac)
				x.sql("update streams set chain = $2 where stream = $1", entries, e.chain)
			},
			[]audit.Mismatch{at(audit.Altered, secondRelease)}, nil,
		},
		{
			"a middle event deleted", func(x *tampering) {
				x.sql("delete from events where stream = $1 and version = $2", entries, secondGrant)
			},
			[]audit.Mismatch{at(audit.Missing, secondGrant)}, nil,
		},
		{
			"the first event deleted", func(x *tampering) { x.sql("delete from events where stream = $1 and version = 1", entries) },
			[]audit.Mismatch{at(audit.Missing, firstGrant)}, nil,
		},
		{
			"the last events deleted", func(x *tampering) {
				x.sql("delete from events where stream = $1 and version >= $2", entries, thirdGrant)
			},
			[]audit.Mismatch{at(audit.Missing, thirdGrant)}, nil,
		},
		{
			"the last events deleted, and the head set back", func(x *tampering) { x.cut(thirdGrant) },
			[]audit.Mismatch{unexplained, at(audit.Balance, thirdGrant)}, nil,
		},
		{
			"all events deleted, and the head", func(x *tampering) {
				x.sql("delete from events where stream = $1", entries)
				x.sql("delete from streams where stream = $1", entries)
			},
			[]audit.Mismatch{unexplained, unexplained, unexplained, unexplained, unexplained, unexplained}, nil,
		},
		{
			"only the head deleted", func(x *tampering) { x.sql("delete from streams where stream = $1", entries) },
			[]audit.Mismatch{at(audit.Missing, lastSettle)}, nil,
		},
		{
			"only the hash of the head", func(x *tampering) { x.sql("update streams set chain = sha256('x') where stream = $1", entries) },
			[]audit.Mismatch{at(audit.Altered, lastSettle)}, nil,
		},
		{
			"two neighbors swapped", func(x *tampering) {
				x.sql("update events set version = 1000 where stream = $1 and version = $2", entries, secondHold)
				x.sql("update events set version = $2 where stream = $1 and version = $3", entries, secondHold, secondRelease)
				x.sql("update events set version = $2 where stream = $1 and version = 1000", entries, secondRelease)
			},
			[]audit.Mismatch{at(audit.Forged, secondHold), at(audit.Forged, secondRelease)},
			[]audit.Mismatch{at(audit.Altered, secondHold), at(audit.Altered, secondRelease), at(audit.Altered, openHold)},
		},
		{
			"a forged grant at the end", func(x *tampering) { x.appendGrant() },
			[]audit.Mismatch{at(audit.Altered, lastSettle+1), at(audit.Forged, lastSettle+1)},
			[]audit.Mismatch{at(audit.Altered, lastSettle+1), at(audit.Altered, lastSettle+1)},
		},
		{
			"a forged grant at the end that fits the chain and the head", func(x *tampering) {
				x.appendGrant()
				x.rehash(lastSettle+1, lastSettle+1)
			},
			[]audit.Mismatch{at(audit.Forged, lastSettle+1)},
			[]audit.Mismatch{at(audit.Balance, lastSettle+1), at(audit.Balance, lastSettle+1)}, // the balance and the transaction
		},
		{
			"a balance", func(x *tampering) {
				x.sql("update credit_balances set posted_seconds = 5000, sales_seconds = 5000 + analysis_usage_seconds where id = 'acct_a'")
			},
			[]audit.Mismatch{at(audit.Balance, lastSettle)}, nil,
		},
		{
			"a balance deleted", func(x *tampering) { x.sql("delete from credit_balances where id = 'acct_a'") },
			[]audit.Mismatch{at(audit.Balance, lastSettle)}, nil,
		},
		{
			"a transaction changed, and a later event altered", func(x *tampering) {
				x.sql(`update credit_transactions set doc = replace(doc::text, '500', '501')::json where account_id = 'acct_a' and version = $1`, secondGrant)
				x.edit(lastHold, `"seconds":30`, `"seconds":3`)
			},
			[]audit.Mismatch{at(audit.Balance, secondGrant), at(audit.Forged, lastHold)},
			[]audit.Mismatch{at(audit.Balance, secondGrant), at(audit.Altered, lastHold)},
		},
		{
			"a transaction deleted", func(x *tampering) {
				x.sql(`delete from credit_transactions where account_id = 'acct_a' and version = $1`, firstSettle)
			},
			[]audit.Mismatch{at(audit.Balance, firstSettle)}, nil,
		},
		{
			"an open hold removed", func(x *tampering) {
				x.sql(`update credit_balances set doc = (doc::jsonb - 'holds')::json where id = 'acct_a'`)
			},
			[]audit.Mismatch{at(audit.Balance, lastSettle)}, nil,
		},
		{
			"rows of an account that never existed", func(x *tampering) {
				x.sql(`insert into credit_transactions select 'txn_ghost', 'acct_ghost', kind, created_at, version, doc
					from credit_transactions where account_id = 'acct_a' and version = 1`)
			},
			[]audit.Mismatch{{AccountID: "acct_ghost", Kind: audit.Balance}}, nil,
		},
		{
			"the keys of the log", func(x *tampering) {
				x.sql("update events set meta = replace(meta::text, 'system:test', 'system:evil')::json where stream = 'ledger_keys/platform'")
			},
			[]audit.Mismatch{{AccountID: credit.LedgerKeysID, Kind: audit.Forged, Stream: "ledger_keys/platform", Version: 1}},
			[]audit.Mismatch{{AccountID: credit.LedgerKeysID, Kind: audit.Altered, Stream: "ledger_keys/platform", Version: 1}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := newTampering(t)
			tt.tamper(x)
			x.requireFound(x.auditor(), tt.want)
			if tt.keyless == nil {
				tt.keyless = tt.want
			}
			keyless := x.auditor()
			keyless.MACs = nil
			x.requireFound(keyless, tt.keyless)
		})
	}
}

// requireFound requires mismatches. An existing event is named with its position.
func (x *tampering) requireFound(a audit.Auditor, want []audit.Mismatch) {
	x.Helper()
	report := x.audit(x, a, audit.Scope{})
	diff := cmp.Diff(want, report.Mismatches, cmpopts.IgnoreFields(audit.Mismatch{}, "Detail", "Position"), cmpopts.EquateEmpty())
	require.Empty(x, diff, "mismatches (-want +got), key: %v, %v", a.MACs != nil, report.Mismatches)
	require.Equal(x, len(want) == 0, report.Sound())
	for _, m := range report.Mismatches {
		var position int64
		err := x.owner.QueryRow(x.Context(), "select coalesce(max(position), 0) from events where stream = $1 and version = $2", m.Stream, m.Version).Scan(&position)
		require.NoError(x, err)
		if position > 0 {
			require.Equal(x, position, m.Position, "%v", m)
		}
	}
}
