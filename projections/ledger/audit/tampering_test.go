package audit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/projections/ledger/audit"
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
	// positions are the positions in the original log, by stream and version.
	positions map[string]map[int64]int64
}

func newTampering(t *testing.T) *tampering {
	w := newWorld(t)
	for _, id := range []string{"acct_a", "acct_b"} {
		w.do(t, id, w.grant(id, 1000), w.hold(id, "anl_1"+id, 100), w.settle("anl_1"+id, 60))
		w.do(t, id, w.grant(id, 500), w.hold(id, "anl_2"+id, 200), credit.Release{SourceID: "anl_2" + id})
		w.do(t, id, w.hold(id, "anl_3"+id, 50), w.grant(id, 20))
		w.do(t, id, w.hold(id, "anl_4"+id, 30), w.settle("anl_4"+id, 30))
	}
	x := &tampering{world: w, T: t, positions: map[string]map[int64]int64{}}
	for _, e := range x.events(t.Context(), "true") {
		if x.positions[e.stream] == nil {
			x.positions[e.stream] = map[int64]int64{}
		}
		x.positions[e.stream][e.version] = e.position
	}
	return x
}

// event is a row of the log.
type event struct {
	position, version           int64
	stream, kind, account, data string
	meta                        string
	chain                       []byte
}

func (x *tampering) events(ctx context.Context, where string) []event {
	rows, err := x.owner.Query(ctx, `select position, version, stream, type, account_id, data::text, meta::text, chain
		from events where `+where+` order by stream, version`)
	require.NoError(x, err)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e event, err error) {
		err = row.Scan(&e.position, &e.version, &e.stream, &e.kind, &e.account, &e.data, &e.meta, &e.chain)
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

// rehash computes the hashes of entries from first to last again. With head it also updates
// the hash of the head.
func (x *tampering) rehash(first, last int64, head bool) {
	x.Helper()
	var chain eventstore.Chain
	for _, e := range x.events(x.Context(), "stream = '"+entries+"'") {
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
	if head {
		x.sql("update streams set chain = $1, version = $2 where stream = $3", chain[:], last, entries)
	}
}

// behead sets the head of the entries back to a version.
func (x *tampering) behead(version int64) {
	x.Helper()
	x.sql(`update streams set version = $1, prior_version = 0, chain = (select chain from events where stream = $2 and version = $1)
		where stream = $2`, version, entries)
}

// at returns a mismatch of acct_a at an event.
func (x *tampering) at(kind audit.Kind, stream string, version int64) audit.Mismatch {
	return audit.Mismatch{AccountID: "acct_a", Kind: kind, Stream: stream, Version: version, Position: x.positions[stream][version]}
}

// gone returns a mismatch at missing versions of a stream, from first on.
func (x *tampering) gone(kind audit.Kind, stream string, first int64) audit.Mismatch {
	m := x.at(kind, stream, first)
	m.Position = x.positions[stream][first-1]
	return m
}

func (x *tampering) requireFound(want ...audit.Mismatch) {
	x.Helper()
	report := x.audit(x, audit.Scope{})
	if diff := cmp.Diff(want, report.Mismatches, cmpopts.IgnoreFields(audit.Mismatch{}, "Detail")); diff != "" {
		for _, m := range report.Mismatches {
			x.Log(m.Kind, m.Stream, m.Version, m.Detail)
		}
		x.Errorf("mismatches (-want +got):\n%s", diff)
	}
	require.Equal(x, len(want) == 0, report.Sound())
}

// one returns a function with a single mismatch at an event.
func one(kind audit.Kind, stream string, version int64) func(*tampering) []audit.Mismatch {
	return func(x *tampering) []audit.Mismatch { return []audit.Mismatch{x.at(kind, stream, version)} }
}

// stray returns the mismatch of an added event.
func (x *tampering) stray(version int64) audit.Mismatch {
	m := x.at(audit.Altered, entries, version)
	require.NoError(x, x.owner.QueryRow(x.Context(), "select coalesce(max(position), 0) from events where stream = $1 and version = $2",
		entries, version).Scan(&m.Position))
	return m
}

// swap exchanges the versions of two events, with their hashes.
func swap(a, b int64) func(*tampering) {
	return func(x *tampering) {
		x.Helper()
		x.sql("update events set version = 1000 where stream = $1 and version = $2", entries, a)
		x.sql("update events set version = $2 where stream = $1 and version = $3", entries, a, b)
		x.sql("update events set version = $2 where stream = $1 and version = 1000", entries, b)
	}
}

// swapped returns the mismatches of two events at each other's version.
func (x *tampering) swapped(a, b int64) []audit.Mismatch {
	first, second := x.at(audit.Reordered, entries, a), x.at(audit.Reordered, entries, b)
	first.Position, second.Position = second.Position, first.Position
	return []audit.Mismatch{first, second}
}
