package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
)

var (
	guardKey    = bytes.Repeat([]byte{1}, 32)
	nextKey     = bytes.Repeat([]byte{2}, 32)
	guardStream = eventstore.StreamID{Category: "test", ID: "a"}
)

// guarded is a store with a guard, and the connection of the database's owner.
type guarded struct {
	*postgres.Store
	guard *postgres.Guard
	pool  *pgxpool.Pool
	owner *pgx.Conn

	mu    sync.Mutex
	found []*eventstore.ForgedError
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	pool, url := connect(t)
	owner, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = owner.Close(context.Background()) })
	g := &guarded{pool: pool, owner: owner}
	g.open(t, guardKey)
	return g
}

// open opens the database with other keys, as a node that starts.
func (g *guarded) open(t *testing.T, newest []byte, older ...[]byte) {
	t.Helper()
	var err error
	g.guard, err = postgres.OpenGuard(t.Context(), g.pool, newest, older...)
	require.NoError(t, err)
	g.guard.Found = func(f *eventstore.ForgedError) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.found = append(g.found, f)
	}
	g.Store = postgres.New(g.pool, storetest.Codec(), postgres.WithGuard(g.guard))
}

// as runs SQL as the owner, who may switch off every trigger.
func (g *guarded) as(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := g.owner.Exec(t.Context(), "alter table events disable trigger events_append_only")
	require.NoError(t, err)
	_, err = g.owner.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// add appends n events to the stream a, with a snapshot after the last one.
func (g *guarded) add(t *testing.T, n int, snapshot string) {
	t.Helper()
	h, err := g.Load(t.Context(), guardStream)
	require.NoError(t, err)
	w := eventstore.Write{Stream: guardStream, Expected: h[guardStream].Version, Chain: h[guardStream].Chain}
	for i := range n {
		w.Events = append(w.Events, eventstore.NewEvent{Event: storetest.Noted{Text: "x", Number: i}, Meta: eventstore.Meta{AccountID: "acct_1"}})
	}
	if snapshot != "" {
		w.Snapshot = []byte(snapshot)
	}
	_, err = g.Append(t.Context(), eventstore.Batch{Writes: []eventstore.Write{w}})
	require.NoError(t, err)
}

// refused requires that a load names the stream as forged.
func (g *guarded) refused(t *testing.T, contains string) {
	t.Helper()
	_, err := g.Load(t.Context(), guardStream)
	var forged *eventstore.ForgedError
	require.ErrorAs(t, err, &forged)
	require.Equal(t, guardStream, forged.Stream)
	require.ErrorContains(t, err, contains)
	require.NotEmpty(t, g.found)
}

func TestContractWithMACs(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) eventstore.Store {
		g := newGuarded(t)
		return g
	})
}

// wellChained appends an event of the owner: its hash is right, and so are the head and all columns but
// the MAC.
const wellChained = `
with e as (
    select s.stream, s.version + 1 as version, '{"text":"forged","number":9}' as data, '{}' as meta, s.chain, 'storetest.noted' as type, 'acct_1' as account
      from streams s where stream = 'test/a'
), linked as (
    select *, sha256(chain || convert_to((select string_agg(octet_length(part) || ':' || part, '' order by n)
        from unnest(array['vqa-event-1', stream, version::text, type, account, data, meta]) with ordinality as p(part, n)), 'UTF8')) as link from e
), inserted as (
    insert into events (stream, version, type, account_id, data, meta, chain, mac)
    select stream, version, type, account, data::json, meta::json, link, %s from linked
)
update streams s set version = l.version, prior_version = s.version, chain = l.link from linked l where s.stream = l.stream`

// TestWhatTheOwnerWritesIsRefused makes changes of the database's owner, each to a log of its own.
func TestWhatTheOwnerWritesIsRefused(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]struct{ sql, problem string }{
		"a well-chained event":          {fmt.Sprintf(wellChained, "null"), "no MAC"},
		"a copied MAC":                  {fmt.Sprintf(wellChained, "(select mac from events where stream = 'test/a' and version = 1)"), "does not match"},
		"a made-up MAC":                 {fmt.Sprintf(wellChained, "decode(repeat('00', 40), 'hex')"), "unknown key"},
		"changed data":                  {`update events set data = '{"text":"x","number":7}' where version = 4`, "hash does not follow"},
		"a removed MAC":                 {"update events set mac = null where version = 4", "no MAC"},
		"another account":               {"update events set account_id = 'acct_2' where version = 4", "hash does not follow"},
		"a removed event":               {"delete from events where version = 4", "version 4 is missing"},
		"a removed last event":          {"delete from events where version = 5", "the events end with version 4"},
		"a removed head":                {"delete from streams where stream = 'test/a'", "no head"},
		"a raised head":                 {"update streams set version = 9", "the events end with version 5"},
		"a lowered head":                {"update streams set version = 4, prior_version = 3", "the events end with version 5"},
		"a head with another chain":     {"update streams set chain = sha256('')", "their own hash"},
		"swapped events":                {"update events set version = case version when 4 then 5 else 4 end + 100 where version in (4, 5); update events set version = version - 100 where version > 100", "hash does not follow"},
		"an event after the head":       {"insert into events (stream, version, type, account_id, data, meta, chain, mac) select stream, 6, type, account_id, data, meta, chain, mac from events where version = 5", "hash does not follow"},
		"a stream under another name":   {"update streams set stream = 'test/b'; update events set stream = 'test/b'; update events set stream = 'test/a'; update streams set stream = 'test/a', snapshot_mac = null, snapshot = null, snapshot_version = 0; update events set mac = null", "no MAC"},
		"only the events of the stream": {"delete from events", "the events end with version 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			g.add(t, 3, `{"sum":3}`)
			g.add(t, 2, "")
			g.as(t, attack.sql)
			g.refused(t, attack.problem)
		})
	}
}

// TestARaisedSnapshotIsNotUsed: the state comes from the events, and the finding is named.
func TestARaisedSnapshotIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"raised":         `update streams set snapshot = '{"sum":900000}'`,
		"without a MAC":  `update streams set snapshot_mac = null`,
		"later":          `update streams set snapshot_version = 4 where stream = 'test/a'`,
		"another chain":  `update streams set snapshot_chain = sha256('')`,
		"without chain":  `update streams set snapshot_chain = null`,
		"of another one": `update streams s set snapshot = o.snapshot, snapshot_mac = o.snapshot_mac, snapshot_chain = o.snapshot_chain from streams o where o.stream = 'test/other' and s.stream = 'test/a'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			g.add(t, 3, `{"sum":3}`)
			other := eventstore.StreamID{Category: "test", ID: "other"}
			_, err := g.Append(t.Context(), eventstore.Batch{Writes: []eventstore.Write{{Stream: other, Snapshot: []byte(`{"sum":900}`), Events: []eventstore.NewEvent{
				{Event: storetest.Noted{}}, {Event: storetest.Noted{}}, {Event: storetest.Noted{}},
			}}}})
			require.NoError(t, err)
			g.add(t, 2, "")
			g.as(t, sql)
			all, err := g.Load(t.Context(), guardStream)
			require.NoError(t, err)
			h := all[guardStream]
			require.Nil(t, h.Snapshot)
			require.Len(t, h.Events, 5)
			require.Equal(t, int64(5), h.Version)
			require.Len(t, g.found, 1)
			require.ErrorContains(t, g.found[0], "the snapshot is not used")
		})
	}
}

// TestAnOlderSnapshotLeadsToTheSameState: a snapshot that the service wrote earlier is valid for ever,
// and the events after it are read and checked.
func TestAnOlderSnapshotLeadsToTheSameState(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.add(t, 3, `{"sum":3}`)
	g.as(t, "create table kept as select * from streams")
	g.add(t, 2, `{"sum":5}`)
	g.as(t, `update streams s set snapshot = k.snapshot, snapshot_version = k.snapshot_version, snapshot_chain = k.snapshot_chain, snapshot_mac = k.snapshot_mac from kept k`)
	all, err := g.Load(t.Context(), guardStream)
	require.NoError(t, err)
	require.Equal(t, int64(3), all[guardStream].SnapshotVersion)
	require.Len(t, all[guardStream].Events, 2)
	require.Empty(t, g.found)

	g.as(t, "delete from events where version = 5; update streams s set version = k.version + 1, chain = (select chain from events where version = 4) from kept k")
	// The newest events were removed, with the head. Only a checkpoint outside the database shows it.
	all, err = g.Load(t.Context(), guardStream)
	require.NoError(t, err)
	require.Equal(t, int64(4), all[guardStream].Version)
}

// TestOtherReadersRefuse: each way to read events checks them.
func TestOtherReadersRefuse(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.add(t, 3, "")
	g.as(t, fmt.Sprintf(wellChained, "null"))
	var forged *eventstore.ForgedError
	_, err := g.LoadAll(t.Context(), guardStream)
	require.ErrorAs(t, err, &forged)
	require.Equal(t, int64(4), forged.Version)
	require.Positive(t, forged.Position)
	_, err = g.Read(t.Context(), 0, 10)
	require.ErrorAs(t, err, &forged)
	_, err = g.ReadStream(t.Context(), guardStream, 0, 10)
	require.ErrorAs(t, err, &forged)
	_, err = g.Histories(t.Context(), map[eventstore.StreamID]int64{guardStream: 4})
	require.ErrorAs(t, err, &forged)
	before, err := g.ReadStream(t.Context(), guardStream, 0, 3)
	require.NoError(t, err)
	require.Len(t, before, 3)
}

// TestKeysAreReplaced: rows of the old key stay valid as long as it is given.
func TestKeysAreReplaced(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.add(t, 3, `{"sum":3}`)
	var forged *eventstore.ForgedError
	_, err := postgres.OpenGuard(t.Context(), g.pool, nextKey)
	require.ErrorAs(t, err, &forged, "the log has a key that this node does not have")
	require.Equal(t, int64(1), forged.Version)

	g.open(t, nextKey, guardKey)
	g.add(t, 2, "")
	_, err = g.Read(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Empty(t, g.found)
	_, err = postgres.OpenGuard(t.Context(), g.pool, guardKey)
	require.ErrorAs(t, err, &forged, "a node that was started with the old key alone")
	require.Equal(t, int64(5), forged.Version)
}

// TestARowOfAnotherDatabase: two databases with one key have different ids.
func TestARowOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	one, two := newGuarded(t), newGuarded(t)
	// The databases of tests are copies of one that was migrated.
	two.as(t, "update log_identity set id = gen_random_uuid()")
	two.open(t, guardKey)
	require.NotEqual(t, one.guard.Installation(), two.guard.Installation())
	for _, g := range []*guarded{one, two} {
		g.add(t, 1, "")
	}
	var mac []byte
	require.NoError(t, one.owner.QueryRow(t.Context(), "select mac from events").Scan(&mac))
	two.as(t, "update events set mac = $1", mac)
	two.refused(t, "unknown key")
}
