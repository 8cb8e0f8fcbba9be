package audit_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/projections/ledger/audit"
)

func TestTampering(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		tamper func(x *tampering)
		want   func(x *tampering) []audit.Mismatch
	}{
		{
			"nothing", func(*tampering) {}, nil,
		},
		{
			"the seconds of a grant", func(x *tampering) { x.edit(secondGrant, `"seconds":500`, `"seconds":900`) },
			one(audit.Altered, entries, secondGrant),
		},
		{
			"the seconds of a hold", func(x *tampering) { x.edit(secondHold, `"seconds":200`, `"seconds":2`) },
			one(audit.Altered, entries, secondHold),
		},
		{
			"the reason of a grant", func(x *tampering) { x.edit(firstGrant, "invoice", "present") },
			one(audit.Altered, entries, firstGrant),
		},
		{
			"the actor of the last event", func(x *tampering) {
				x.sql(`update events set meta = replace(meta::text, 'key_test', 'key_else')::json where stream = $1 and version = $2`, entries, lastSettle)
			},
			one(audit.Altered, entries, lastSettle),
		},
		{
			"the account column", func(x *tampering) {
				x.sql(`update events set account_id = 'acct_b' where stream = $1 and version = $2`, entries, firstSettle)
			},
			one(audit.Altered, entries, firstSettle),
		},
		{
			"the type of an event", func(x *tampering) {
				x.sql(`update events set type = 'video.deleted' where stream = $1 and version = $2`, entries, firstSettle)
			},
			one(audit.Altered, entries, firstSettle),
		},
		{
			"only the hash of an event", func(x *tampering) {
				x.sql(`update events set chain = sha256('x') where stream = $1 and version = $2`, entries, secondHold)
			},
			one(audit.Altered, entries, secondHold),
		},
		{
			"two events, far apart", func(x *tampering) {
				x.edit(firstGrant, "invoice", "present")
				x.edit(lastHold, `"seconds":30`, `"seconds":3`)
			},
			func(x *tampering) []audit.Mismatch {
				return []audit.Mismatch{x.at(audit.Altered, entries, firstGrant), x.at(audit.Altered, entries, lastHold)}
			},
		},
		{
			"two neighbors", func(x *tampering) {
				x.edit(firstHold, `"seconds":100`, `"seconds":10`)
				x.edit(firstSettle, `"seconds":60`, `"seconds":6`)
			},
			func(x *tampering) []audit.Mismatch {
				return []audit.Mismatch{x.at(audit.Altered, entries, firstHold), x.at(audit.Altered, entries, firstSettle)}
			},
		},
		{
			"a kind that does not exist", func(x *tampering) {
				x.edit(secondGrant, `"kind":"purchase"`, `"kind":"present"`)
				x.rehash(secondGrant, lastSettle, true)
			},
			func(x *tampering) []audit.Mismatch {
				return []audit.Mismatch{x.at(audit.Altered, entries, secondGrant)}
			},
		},
		{
			"a middle event deleted", func(x *tampering) {
				x.sql("delete from events where stream = $1 and version = $2", entries, secondGrant)
			},
			func(x *tampering) []audit.Mismatch {
				return []audit.Mismatch{x.gone(audit.Missing, entries, secondGrant)}
			},
		},
		{
			"the first event deleted", func(x *tampering) {
				x.sql("delete from events where stream = $1 and version = 1", entries)
			},
			func(x *tampering) []audit.Mismatch { return []audit.Mismatch{x.gone(audit.Missing, entries, 1)} },
		},
		{
			"the last events deleted", func(x *tampering) {
				x.sql("delete from events where stream = $1 and version >= $2", entries, thirdGrant)
			},
			func(x *tampering) []audit.Mismatch {
				return []audit.Mismatch{x.gone(audit.Missing, entries, thirdGrant)}
			},
		},
		{
			"the last events deleted, and the head set back", func(x *tampering) {
				x.sql("delete from events where stream = $1 and version > $2", entries, thirdGrant)
				x.behead(thirdGrant)
			},
			func(x *tampering) []audit.Mismatch {
				lost := x.at(audit.Balance, entries, lastSettle)
				lost.Position = x.positions[entries][thirdGrant]
				return []audit.Mismatch{x.at(audit.Balance, entries, thirdGrant), lost}
			},
		},
		{
			"all events deleted, and the head", func(x *tampering) {
				x.sql("delete from events where stream = $1", entries)
				x.sql("delete from streams where stream = $1", entries)
			},
			func(*tampering) []audit.Mismatch {
				var unexplained []audit.Mismatch // the balance, and each transaction
				for _, version := range []int64{0, firstGrant, firstSettle, secondGrant, thirdGrant, lastSettle} {
					unexplained = append(unexplained, audit.Mismatch{AccountID: "acct_a", Kind: audit.Balance, Stream: entries, Version: version})
				}
				return unexplained
			},
		},
		{
			"only the head deleted", func(x *tampering) { x.sql("delete from streams where stream = $1", entries) },
			one(audit.Missing, entries, lastSettle),
		},
		{
			"only the hash of the head", func(x *tampering) { x.sql("update streams set chain = sha256('x') where stream = $1", entries) },
			one(audit.Altered, entries, lastSettle),
		},
		{
			"two events swapped", swap(firstGrant, secondGrant),
			func(x *tampering) []audit.Mismatch {
				return x.swapped(firstGrant, secondGrant)
			},
		},
		{
			"two neighbors swapped", swap(secondHold, secondRelease),
			func(x *tampering) []audit.Mismatch {
				return x.swapped(secondHold, secondRelease)
			},
		},
		{
			"the last two swapped", swap(lastHold, lastSettle),
			func(x *tampering) []audit.Mismatch {
				return x.swapped(lastHold, lastSettle)
			},
		},
		{
			"the contents of two events swapped", func(x *tampering) {
				x.sql(`update events e set data = o.data, meta = o.meta, type = o.type from events o
					where e.stream = $1 and o.stream = $1 and (e.version, o.version) in (($2, $3), ($3, $2))`, entries, firstGrant, thirdGrant)
			},
			func(x *tampering) []audit.Mismatch {
				return []audit.Mismatch{x.at(audit.Reordered, entries, firstGrant), x.at(audit.Reordered, entries, thirdGrant)}
			},
		},
		{
			"a new hash for a grant only", func(x *tampering) {
				x.edit(secondGrant, `"seconds":500`, `"seconds":900`)
				x.rehash(secondGrant, secondGrant, false)
			},
			one(audit.Altered, entries, secondGrant),
		},
		{
			"a new hash for the reason of a grant", func(x *tampering) {
				x.edit(thirdGrant, "invoice", "present")
				x.rehash(thirdGrant, thirdGrant, false)
			},
			one(audit.Altered, entries, lastHold), // nothing else shows which of the two was altered
		},
		{
			"new hashes for all events after changed seconds", func(x *tampering) {
				x.edit(secondGrant, `"seconds":500`, `"seconds":900`)
				x.rehash(secondGrant, lastSettle, true)
			},
			func(x *tampering) []audit.Mismatch {
				return []audit.Mismatch{x.at(audit.Balance, entries, secondGrant), x.at(audit.Balance, entries, lastSettle)}
			},
		},
		{
			"a forged grant at the end", func(x *tampering) {
				x.sql(`insert into events (stream, version, type, account_id, data, meta, chain)
					select stream, 11, type, account_id, data, meta, sha256('x') from events where stream = $1 and version = 1`, entries)
			},
			func(x *tampering) []audit.Mismatch { return []audit.Mismatch{x.stray(lastSettle + 1)} },
		},
		{
			"two forged events at the end that fit the chain", func(x *tampering) {
				for n := range 2 {
					x.sql(`insert into events (stream, version, type, account_id, data, meta, chain)
						select stream, $2, type, account_id, data, meta, sha256('x') from events where stream = $1 and version = $3`,
						entries, lastSettle+1+n, firstGrant+n)
				}
				x.rehash(lastSettle+1, lastSettle+2, false)
			},
			func(x *tampering) []audit.Mismatch { return []audit.Mismatch{x.stray(lastSettle + 1)} },
		},
		{
			"a forged grant at the end that fits the chain and the head", func(x *tampering) {
				x.sql(`insert into events (stream, version, type, account_id, data, meta, chain)
					select stream, 11, type, account_id, replace(data::text, '"balance_after":1000', '"balance_after":2430')::json, meta, sha256('x')
					from events where stream = $1 and version = 1`, entries)
				x.rehash(11, 11, true)
			},
			func(x *tampering) []audit.Mismatch {
				m := x.stray(lastSettle + 1)
				m.Kind = audit.Balance
				return []audit.Mismatch{m}
			},
		},
		{
			"a balance", func(x *tampering) {
				x.sql("update credit_balances set posted_seconds = 5000, sales_seconds = 5000 + analysis_usage_seconds where id = 'acct_a'")
			},
			one(audit.Balance, entries, lastSettle),
		},
		{
			"a balance deleted", func(x *tampering) { x.sql("delete from credit_balances where id = 'acct_a'") },
			one(audit.Balance, entries, lastSettle),
		},
		{
			"a transaction changed", func(x *tampering) {
				x.sql(`update credit_transactions set doc = replace(doc::text, '500', '501')::json where account_id = 'acct_a' and version = $1`, secondGrant)
			},
			one(audit.Balance, entries, secondGrant),
		},
		{
			"a transaction deleted", func(x *tampering) {
				x.sql(`delete from credit_transactions where account_id = 'acct_a' and version = $1`, firstSettle)
			},
			one(audit.Balance, entries, firstSettle),
		},
		{
			"an open hold removed", func(x *tampering) {
				x.sql(`update credit_balances set doc = (doc::jsonb - 'holds')::json where id = 'acct_a'`)
			},
			one(audit.Hold, entries, openHold),
		},
		{
			"rows of an account that never existed", func(x *tampering) {
				x.sql(`insert into credit_transactions select 'txn_ghost', 'acct_ghost', kind, created_at, version, doc
					from credit_transactions where account_id = 'acct_a' and version = 1`)
			},
			func(*tampering) []audit.Mismatch {
				return []audit.Mismatch{{AccountID: "acct_ghost", Kind: audit.Balance, Stream: "credit/acct_ghost", Version: 1}}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := newTampering(t)
			tt.tamper(x)
			want := []audit.Mismatch{}
			if tt.want != nil {
				want = tt.want(x)
			}
			x.requireFound(want...)
		})
	}
}

func TestDamageElsewhereIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := &tampering{world: w, T: t}
	x.sql("update events set meta = replace(meta::text, 'system:test', 'system:evil')::json where stream = 'ledger_keys/platform'")
	want := []audit.Mismatch{{AccountID: credit.LedgerKeysID, Kind: audit.Altered, Stream: "ledger_keys/platform", Version: 1, Position: 1}}
	diff := cmp.Diff(want, w.audit(t, audit.Scope{}).Mismatches, cmpopts.IgnoreFields(audit.Mismatch{}, "Detail"))
	require.Empty(t, diff, fmt.Sprint("mismatches (-want +got):\n", diff))
}
