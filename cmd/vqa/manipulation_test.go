package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/translog"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/seal"
	"vqa/projections/ledger/audit"
)

// genuine is a database of the service that nobody has manipulated. Each manipulation gets a copy.
type genuine struct {
	toolbench
	// before is a copy from before the last entries: yesterday's dump.
	before string
	// rich has more entries than a snapshot needs; poor has few.
	rich, poor string
	// sealed is the size of the newest checkpoint. It covers every event.
	sealed int64
	// copies counts the copies.
	copies atomic.Int64
}

func newGenuine(t *testing.T) *genuine {
	t.Helper()
	g := &genuine{toolbench: newToolbench(t)}
	g.rich = g.key.AccountID
	var other, test issuedKey
	g.json(&other, "keys", "create", "--mode", "live", "--grant-seconds", "50", "--json")
	g.json(&test, "keys", "create", "--mode", "test", "--json")
	g.poor = other.AccountID
	caller := command.Caller{AccountID: g.rich, KeyID: g.key.KeyID, Livemode: true, RequestID: "req_1"}
	tester := command.Caller{AccountID: test.AccountID, KeyID: test.KeyID, RequestID: "req_2"}
	g.with(t, g.config, func(a *app) {
		for range 60 {
			g.buy(a, g.rich, 10)
		}
		for range 3 {
			_, err := a.commands.CreateVideo(t.Context(), caller, command.CreateVideo{ContentType: "video/mp4"})
			require.NoError(t, err)
			prompt := "Is there a dog?"
			_, err = a.commands.CreateAnalysis(t.Context(), tester, command.CreateAnalysis{VideoID: test.FixtureVideoID, Prompt: &prompt})
			require.NoError(t, err)
		}
		_, err := a.commands.OpenIncident(t.Context(), "the engine was away", "ann")
		require.NoError(t, err)
		g.seal(a)
		g.buy(a, g.rich, 20)
		g.seal(a)
	})
	g.before = g.copy(t, g.config.DatabaseURL)
	g.with(t, g.config, func(a *app) {
		for range 5 {
			g.buy(a, g.rich, 30)
			g.buy(a, g.poor, 30)
		}
		g.seal(a)
	})
	o := g.judge(t, g.copy(t, g.config.DatabaseURL), "")
	require.NoError(t, o.err, "nobody has manipulated it: %v", o.report.Mismatches)
	return g
}

// roomy accepts every upload. Nothing is uploaded.
type roomy struct{ command.Uploads }

func (roomy) Room(int64) error { return nil }

// with opens the program on a database and closes it.
func (g *genuine) with(t *testing.T, c config, do func(a *app)) {
	t.Helper()
	a, err := openApp(t.Context(), c, slog.New(slog.DiscardHandler), adapters{uploads: roomy{}})
	require.NoError(t, err)
	do(a)
	require.NoError(t, a.Close())
}

func (g *genuine) buy(a *app, account string, seconds int64) {
	g.Helper()
	_, err := a.commands.GrantCredits(g.Context(), command.GrantCredits{
		CreditChange: command.CreditChange{AccountID: account, Reason: "invoice", Operator: "ann"}, Kind: credit.Purchase, Seconds: seconds,
	})
	require.NoError(g, err)
}

func (g *genuine) seal(a *app) {
	g.Helper()
	h, err := a.sealLog(g.Context())
	require.NoError(g, err)
	g.sealed = h.Checkpoint.Size
}

// copy copies a database that nobody is connected to. The copy is dropped at the end of the test.
func (g *genuine) copy(t *testing.T, of string) string {
	t.Helper()
	u, err := url.Parse(of)
	require.NoError(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	base := strings.TrimPrefix(mustParse(t, g.config.DatabaseURL).Path, "/")
	made := fmt.Sprintf("%s_m%d", base, g.copies.Add(1)) // at most 63 bytes
	admin := *u
	admin.Path = "/postgres"
	exec := func(ctx context.Context, sql string) {
		db, err := pgx.Connect(ctx, admin.String())
		require.NoError(t, err)
		defer func() { _ = db.Close(ctx) }()
		_, err = db.Exec(ctx, sql)
		require.NoError(t, err)
	}
	exec(t.Context(), "create database "+pgx.Identifier{made}.Sanitize()+" template "+pgx.Identifier{name}.Sanitize()+"")
	t.Cleanup(func() {
		exec(context.Background(), "drop database "+pgx.Identifier{made}.Sanitize()+" with (force)")
	})
	u.Path = "/" + made
	return u.String()
}

func mustParse(t *testing.T, of string) *url.URL {
	t.Helper()
	u, err := url.Parse(of)
	require.NoError(t, err)
	return u
}

// forge manipulates a database as its owner.
type forge struct {
	*testing.T
	*genuine
	db     *pgx.Conn
	random *rand.Rand
}

func (g *genuine) forge(t *testing.T, of string) *forge {
	t.Helper()
	db, err := pgx.Connect(t.Context(), of)
	require.NoError(t, err)
	return &forge{T: t, genuine: g, db: db}
}

// sql changes the database with all triggers switched off.
func (f *forge) sql(statement string, args ...any) {
	f.Helper()
	changed, err := f.try(statement, args...)
	require.NoError(f.T, err, statement)
	require.Positive(f.T, changed, "no row was changed by %s", statement)
}

// try is sql for a statement that may fail. It returns how many rows it changed.
func (f *forge) try(statement string, args ...any) (changed int64, err error) {
	err = pgx.BeginFunc(f.Context(), f.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(f.Context(), "set local session_replication_role = replica; alter table events disable trigger user; alter table events alter position set generated by default"); err != nil {
			return err
		}
		tag, err := tx.Exec(f.Context(), statement, args...)
		if err != nil {
			return err
		}
		changed = tag.RowsAffected()
		_, err = tx.Exec(f.Context(), "alter table events enable trigger user; alter table events enable always trigger events_fence; alter table events enable always trigger events_append_only; alter table events alter position set generated always")
		return err
	})
	return changed, err
}

// forgedEvent is a row of the log.
type forgedEvent struct {
	version                           int64
	stream, kind, account, data, meta string
	chain                             eventstore.Chain
}

func (f *forge) events(where string, args ...any) []forgedEvent {
	f.Helper()
	rows, err := f.db.Query(f.Context(), "select version, stream, type, account_id, data::text, meta::text, chain from events where "+where+" order by stream, version", args...)
	require.NoError(f.T, err)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e forgedEvent, err error) {
		var chain []byte
		err = row.Scan(&e.version, &e.stream, &e.kind, &e.account, &e.data, &e.meta, &chain)
		copy(e.chain[:], chain)
		return e, err
	})
	require.NoError(f.T, err)
	return all
}

// rechain computes the hashes of a stream again, with its head.
func (f *forge) rechain(stream string) {
	f.Helper()
	id, err := codec.ParseStreamID(stream)
	require.NoError(f.T, err)
	var chain eventstore.Chain
	var version int64
	for _, e := range f.events("stream = $1", stream) {
		version = e.version
		chain = codec.Link(chain, codec.Encoded{Stream: id, Version: e.version, Type: e.kind, AccountID: e.account, Data: []byte(e.data), Meta: []byte(e.meta)})
		f.sql("update events set chain = $1 where stream = $2 and version = $3", chain[:], stream, e.version)
	}
	f.sql("update streams set chain = $1, version = $2::bigint, prior_version = $2::bigint - 1 where stream = $3", chain[:], version, stream)
}

// cut removes the events of a stream after a version, with the head of then.
func (f *forge) cut(stream string, version int64) {
	f.Helper()
	f.sql("update streams set snapshot = null, snapshot_version = 0 where stream = $1", stream)
	f.sql("delete from events where stream = $1 and version > $2", stream, version)
	f.sql("update streams set version = $2::bigint, prior_version = $2::bigint - 1, chain = (select chain from events where stream = $1 and version = $2::bigint) where stream = $1", stream, version)
}

// count is a number of the database.
func (f *forge) count(sql string, args ...any) (n int64) {
	f.Helper()
	require.NoError(f.T, f.db.QueryRow(f.T.Context(), sql, args...).Scan(&n))
	return n
}

// outcome is what happens after a manipulation.
type outcome struct {
	// report is that of vqa ledger verify, and err how it ended: nil, an exit status, or a refusal.
	report audit.Report
	err    error
	// signed are the streams of the new events that a checkpoint now covers. Only the manipulation added any.
	signed []string
	// refused is the error of a purchase on the rich account.
	refused error
	// authenticated says that the credential of the manipulation works, and alarms are raised by its use.
	authenticated bool
	alarms        []alarm
}

// named reports whether verification named the manipulation.
func (o outcome) named() bool { return o.err != nil && !errors.Is(o.err, exitUncompared) }

// how describes who named it.
func (o outcome) how() string {
	if !o.report.Sound() {
		var kinds []string
		for _, k := range o.report.Kinds() {
			kinds = append(kinds, "`"+string(k)+"`")
		}
		return strings.Join(kinds, ", ")
	}
	return "verification refuses the database"
}

// judge opens the service again on a manipulated database, and its sealer works on it. Then vqa ledger verify judges the
// database alone. At last, somebody buys credits and uses a credential, unless its hash is empty: these commands replace
// a forged snapshot and a forged row of a read model.
func (g *genuine) judge(t *testing.T, of, credential string) (o outcome) {
	t.Helper()
	c := g.apart(t, of)
	a, err := openApp(t.Context(), c, slog.New(slog.DiscardHandler), adapters{})
	if o.refused = err; err == nil {
		_, _ = a.sealLog(t.Context()) // the checkpoint counts, not the error
		o.signed = g.newlySigned(t, a)
	}
	o.report, o.err = g.verified(t, c)
	if err == nil {
		g.use(t, a, credential, &o)
		require.NoError(t, a.Close())
	}
	return o
}

// verified returns the report of vqa ledger verify, and how the command ends. The environment of the tests that run at
// the same time is one, so this is not the command itself.
func (g *genuine) verified(t *testing.T, c config) (report audit.Report, err error) {
	t.Helper()
	reader, err := openReader(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		return report, err
	}
	report, log, err := reader.verify(t.Context(), io.Discard, audit.Scope{AllStreams: true})
	if err == nil {
		err = audited{report.Sound() && log.Compared, report, log}.verdict()
	}
	require.NoError(t, reader.Close())
	return report, err
}

// use buys credits and uses a credential.
func (g *genuine) use(t *testing.T, a *app, credential string, o *outcome) {
	t.Helper()
	_, o.refused = a.commands.GrantCredits(t.Context(), command.GrantCredits{
		CreditChange: command.CreditChange{AccountID: g.rich, Reason: "invoice", Operator: "ann"}, Kind: credit.Purchase, Seconds: 1,
	})
	if credential != "" {
		rows := edge.Prove(a.resources, a.commands, a.forged.note, a.clock.Now)
		key, found, err := rows.Key(t.Context(), credential)
		require.NoError(t, err)
		o.authenticated, o.alarms = found && key.SecretHash == credential, a.forged.alarms()
	}
}

// apart returns the configuration of a database with a copy of the data folder, which has the checkpoints.
func (g *genuine) apart(t *testing.T, of string) config {
	t.Helper()
	c := g.config
	c.DatabaseURL, c.DataDir = of, filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.CopyFS(c.DataDir, os.DirFS(g.config.DataDir)))
	return c
}

// newlySigned returns the streams of the events that only checkpoints after the manipulation cover, without
// those of the sealer.
func (g *genuine) newlySigned(t *testing.T, a *app) (streams []string) {
	t.Helper()
	tiles, anchors, end, err := a.ledgerPlaces(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, end()) }()
	h, err := anchors.Head(t.Context(), seal.Head{})
	require.NoError(t, err)
	files := seal.Tree{Files: tiles, Log: h.Opening.Number}
	for index := g.sealed; index < h.Checkpoint.Size; {
		first, records, err := translog.ReadRecords(h.Checkpoint.Tree, files.Read(t.Context()), index)
		require.NoError(t, err)
		for _, r := range records[index-first:] {
			leaf, err := translog.ParseLeaf(r)
			require.NoError(t, err)
			if !strings.HasPrefix(leaf.Stream, "ledger_") {
				streams = append(streams, leaf.Stream)
			}
			index++
		}
	}
	return streams
}
