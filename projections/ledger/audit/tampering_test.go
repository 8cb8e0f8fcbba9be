package audit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// entries is the stream of the account that is tampered with. acct_b is never changed.
const entries = "credit/acct_a"

// The entries of acct_a by version.
const (
	firstGrant = iota + 1
	firstHold
	firstSettle
	secondGrant
	secondHold
	secondRelease
	openHold
	thirdGrant
	lastHold
	lastSettle
)

// tampering is a log under attack.
type tampering struct {
	*world
	*testing.T
}

func newTampering(t *testing.T) *tampering {
	w := newWorld(t)
	for _, id := range []string{"acct_a", "acct_b"} {
		w.do(t, id, w.grant(id, 1000), w.hold(id, "anl_1"+id, 100), w.settle("anl_1"+id, 60))
		w.do(t, id, w.grant(id, 500), w.hold(id, "anl_2"+id, 200), credit.Release{SourceID: "anl_2" + id})
		w.do(t, id, w.hold(id, "anl_3"+id, 50), w.grant(id, 20))
		w.do(t, id, w.hold(id, "anl_4"+id, 30), w.settle("anl_4"+id, 30))
	}
	return &tampering{world: w, T: t}
}

// event is a row of the log.
type event struct {
	position, version           int64
	stream, kind, account, data string
	meta                        string
	chain, mac                  []byte
}

func (x *tampering) events(ctx context.Context, where string) []event {
	rows, err := x.owner.Query(ctx, `select position, version, stream, type, account_id, data::text, meta::text, chain, mac
		from events where `+where+` order by stream, version`)
	require.NoError(x, err)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e event, err error) {
		err = row.Scan(&e.position, &e.version, &e.stream, &e.kind, &e.account, &e.data, &e.meta, &e.chain, &e.mac)
		return e, err
	})
	require.NoError(x, err)
	return all
}

// sql changes the log as its owner, with the triggers disabled.
func (x *tampering) sql(statement string, args ...any) {
	x.Helper()
	require.NoError(x, x.attempt(statement, args...), statement)
}

func (x *tampering) attempt(statement string, args ...any) error {
	return pgx.BeginFunc(x.Context(), x.owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(x.Context(), "alter table events disable trigger user"); err != nil {
			return err
		}
		tag, err := tx.Exec(x.Context(), statement, args...)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errors.New("the statement changed no row")
		}
		_, err = tx.Exec(x.Context(), "alter table events enable trigger user")
		return err
	})
}

// edit replaces text in the stored data of an entry.
func (x *tampering) edit(version int64, old, replacement string) {
	x.Helper()
	x.sql(`update events set data = replace(data::text, $3, $4)::json
		where stream = $1 and version = $2 and strpos(data::text, $3) > 0`, entries, version, old, replacement)
}

// rehash computes the hashes of entries from first to last again. When last is the last entry, the head gets its hash.
func (x *tampering) rehash(first, last int64) {
	x.Helper()
	var chain eventstore.Chain
	all := x.events(x.Context(), "stream = '"+entries+"'")
	for _, e := range all {
		if e.version < first || e.version > last {
			copy(chain[:], e.chain)
			continue
		}
		stream, err := codec.ParseStreamID(e.stream)
		require.NoError(x, err)
		chain = codec.Link(chain, codec.Encoded{
			Stream: stream, Version: e.version, Type: e.kind, AccountID: e.account, Data: []byte(e.data), Meta: []byte(e.meta),
		})
		x.sql("update events set chain = $1 where position = $2", chain[:], e.position)
	}
	if last == all[len(all)-1].version {
		x.sql("update streams set chain = $1, version = $2 where stream = $3", chain[:], last, entries)
	}
}

// cut removes the entries after a version, and sets the head and the account back.
func (x *tampering) cut(version int64) {
	x.Helper()
	a := &sim{id: "acct_a", version: version}
	for _, e := range x.events(x.Context(), "stream = '"+entries+"'")[:version] {
		decoded, err := codec.Events().Unmarshal(e.kind, []byte(e.data))
		require.NoError(x, err)
		a.state = credit.Evolve(a.state, decoded.(credit.Event))
		copy(a.chain[:], e.chain)
	}
	x.accounts[a.id] = a
	x.sql("delete from events where stream = $1 and version > $2", entries, version)
	x.sql(`update streams set version = $1, prior_version = 0, chain = (select chain from events where stream = $2 and version = $1)
		where stream = $2`, version, entries)
}

// appendGrant appends a copy of the first grant.
func (x *tampering) appendGrant() {
	x.Helper()
	x.sql(`insert into events (stream, version, type, account_id, data, meta, chain)
		select stream, $2, type, account_id, replace(data::text, '"balance_after":1000', '"balance_after":2430')::json, meta, sha256('x')
		  from events where stream = $1 and version = 1`, entries, lastSettle+1)
}
