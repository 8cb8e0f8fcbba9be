package main

import (
	"bytes"
	"crypto/ed25519"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/eventstore"
)

// manipulation is a change that somebody who controls the database makes.
type manipulation struct {
	name string
	do   func(f *forge)
	// wants are kinds of mismatches that verification must name.
	wants []string
	// refused is true when a purchase on the rich account must be refused.
	refused bool
	// credential is the hash of a secret that must not authenticate, or empty.
	credential string
	// harmless is why the change wins nothing. It is neither named nor refused.
	harmless string
}

// anchored are the kinds of a manipulation that only the checkpoints outside the database name: the rows that are left
// are what the service wrote, or a MAC does not cover what the database assigns.
var anchored = []string{"checkpoint"}

// forgedHash is the hash of a secret that the service never issued.
var forgedHash = account.HashSecret("the secret of the attacker")

// credits is the ledger of the rich account.
func (f *forge) credits() string { return "credit/" + f.rich }

// seals is the stream of the sealer, with the account tree of each pass.
const seals = "ledger_log/platform"

// rebuild makes the read models agree with the log, as a careful attacker does.
func (f *forge) rebuild() {
	f.Helper()
	f.Setenv("VQA_DATABASE_URL", f.db.Config().ConnString())
	defer f.Setenv("VQA_DATABASE_URL", f.config.DatabaseURL)
	_, complaint, err := f.run("projections", "rebuild", "--all", "--accept")
	require.NoError(f.T, err, complaint)
}

// removeStream removes a stream.
func (f *forge) removeStream(stream string) {
	f.Helper()
	f.sql("delete from events where stream = $1", stream)
	f.sql("delete from streams where stream = $1", stream)
}

// appendGrant appends a grant to the ledger of the rich account, with a right hash.
func (f *forge) appendGrant() {
	f.Helper()
	f.sql(`insert into events (stream, version, type, account_id, data, meta, chain)
		select stream, version + 1, type, account_id, replace(replace(data::text, '"seconds":30', '"seconds":9000'), 'txn_', 'txn_9')::json, meta, chain
		  from events where stream = $1 order by version desc limit 1`, f.credits())
	f.rechain(f.credits())
}

// reviewed are the manipulations of the review, and others that a row by itself does not show.
var reviewed = []manipulation{
	{name: "the ledger cut back to an older seal, with the later seals", wants: anchored, do: func(f *forge) {
		f.cut(f.credits(), f.count(`select max(version) from events where stream = $1
			and position < (select position from events where stream = $2 and version = 1)`, f.credits(), seals))
		f.cut(seals, 1)
		f.rebuild()
	}},
	{name: "the newest seal removed", wants: anchored, do: func(f *forge) {
		f.cut(seals, f.count("select version - 2 from streams where stream = $1", seals)) // the last one acknowledges the checkpoint
	}},
	{name: "a whole account removed", wants: anchored, do: func(f *forge) {
		for _, category := range []string{"account/", "credit/"} {
			f.removeStream(category + f.poor)
		}
		f.rebuild()
	}},
	{name: "one analysis removed", wants: anchored, do: func(f *forge) {
		f.sql(`with gone as (delete from events where stream = (select min(stream) from events where stream like 'analysis/%') returning stream)
			delete from streams where stream in (select stream from gone)`)
		f.rebuild()
	}},
	{name: "a grant raised by 9,000 s, the chain made again, the seals removed", wants: []string{"forged"}, refused: true, do: func(f *forge) {
		f.sql(`update events set data = replace(data::text, '"seconds":6000', '"seconds":15000')::json where stream = $1 and version = 1`, f.credits())
		f.rechain(f.credits())
		f.removeStream(seals)
		f.sql("update streams set snapshot = null, snapshot_version = 0 where stream = $1", f.credits())
		f.rebuild()
	}},
	{name: "all seals and the key removed, and signed again with the key of an empty data folder", wants: anchored, do: func(f *forge) {
		f.removeStream(seals)
		f.removeStream("ledger_keys/platform")
		f.Setenv("VQA_DATABASE_URL", f.db.Config().ConnString())
		f.Setenv("VQA_DATA_DIR", f.TempDir())
		_, _, err := f.run("ledger", "checkpoint")
		require.ErrorContains(f.T, err, "this tool cannot change the log", "a key of an empty data folder signs nothing")
		f.Setenv("VQA_DATABASE_URL", f.config.DatabaseURL)
		f.Setenv("VQA_DATA_DIR", f.config.DataDir)
	}},
	{name: "a seal changed, with a right hash", wants: []string{"forged"}, do: func(f *forge) {
		f.sql("update events set data = replace(data::text, '\"accounts\":2', '\"accounts\":1')::json where stream = $1 and version = 1", seals)
		f.rechain(seals)
	}},
	{name: "a snapshot raised by 900,000 s", wants: []string{"forged"}, do: func(f *forge) {
		f.sql(`update streams set snapshot = regexp_replace(snapshot::text, '"posted_seconds":[0-9]+', '"posted_seconds":906000')::json where stream = $1`, f.credits())
	}},
	{name: "`recorded_at` changed", wants: anchored, do: func(f *forge) {
		f.sql("update events set recorded_at = recorded_at - interval '40 days' where stream = $1 and version = 1", f.credits())
	}},
	{name: "the position of an event changed to that of a gap", wants: anchored, do: func(f *forge) {
		f.sql("update events set position = position + 100000 where stream like 'incident/%'")
		f.sql("select setval('events_position_seq', (select max(position) from events))")
	}},
	{name: "positions swapped within a stream", wants: []string{"position"}, do: func(f *forge) {
		f.sql("update events set position = -position where stream = $1 and version in (2, 3)", f.credits())
		f.sql(`update events e set position = -o.position from events o where e.stream = $1 and o.stream = $1
			and e.version in (2, 3) and o.version = 5 - e.version`, f.credits())
	}},
	{name: "events of a category without a head added", wants: []string{"forged", "missing"}, do: func(f *forge) {
		f.sql(`insert into events (stream, version, type, account_id, data, meta, chain)
			select 'secret/' || account_id, 1, type, account_id, data, meta, chain from events where stream = $1 and version = 1`, f.credits())
	}},
	{name: "a grant appended by SQL, with a right hash", wants: []string{"forged"}, refused: true, do: (*forge).appendGrant},
	{name: "a grant appended by SQL, with the MAC of another event", wants: []string{"forged"}, refused: true, do: func(f *forge) {
		f.appendGrant()
		f.sql("update events set mac = (select mac from events where stream = $1 and version = 1) where stream = $1 and version = (select version from streams where stream = $1)", f.credits())
	}},
	{name: "the ledger of another account copied to this one", wants: []string{"forged"}, refused: true, do: func(f *forge) {
		f.sql("update streams set snapshot = null, snapshot_version = 0 where stream = $1", f.credits())
		f.sql("delete from events where stream = $1", f.credits())
		f.sql("insert into events (stream, version, type, account_id, data, meta, chain, mac) select $1, version, type, account_id, data, meta, chain, mac from events where stream = $2",
			f.credits(), "credit/"+f.poor)
		f.rechain(f.credits())
	}},
	{name: "the MACs of a ledger removed", wants: []string{"forged"}, refused: true, do: func(f *forge) {
		f.sql("update streams set snapshot = null, snapshot_version = 0 where stream = $1", f.credits())
		f.sql("update events set mac = null where stream = $1", f.credits())
	}},
	{name: "the id of the database replaced", wants: []string{"forged"}, refused: true, do: func(f *forge) {
		f.sql("update log_identity set id = gen_random_uuid()")
	}},
	{name: "an API key with every scope added", wants: []string{"read_model"}, credential: forgedHash, do: func(f *forge) {
		f.sql(`insert into api_keys select 'key_forged', account_id, livemode, $2, created_at,
			(doc::jsonb - 'scopes' || jsonb_build_object('id', 'key_forged', 'secret_hash', $2::text))::json from api_keys where account_id = $1 limit 1`, f.rich, forgedHash)
	}},
	{name: "the secret of an API key replaced by that of the attacker", wants: []string{"read_model"}, credential: forgedHash, do: func(f *forge) {
		f.sql(`update api_keys set secret_hash = $2, doc = (doc::jsonb || jsonb_build_object('secret_hash', $2::text))::json
			where id = (select min(id) from api_keys where account_id = $1)`, f.rich, forgedHash)
	}},
	{name: "a balance raised in the read model", wants: []string{"balance"}, do: func(f *forge) {
		f.sql("update credit_balances set posted_seconds = posted_seconds + 9000, sales_seconds = sales_seconds + 9000 where id = $1", f.rich)
	}},
	{name: "a snapshot removed", harmless: "the state is folded from all events", do: func(f *forge) {
		f.sql("update streams set snapshot = null, snapshot_version = 0 where stream = $1", f.credits())
	}},
}

// manipulationsUpdate writes the table of docs/ledger.md.
var manipulationsUpdate = flag.Bool("manipulations.update", false, "write the table of manipulations to docs/ledger.md")

// check requires the outcome of a manipulation, and returns its row of the table.
func (m manipulation) check(t *testing.T, o outcome) (row string) {
	t.Helper()
	require.Empty(t, o.signed, "a checkpoint covers the false history")
	signed, commands := "no", "accepted"
	if o.refused != nil {
		commands = "refused"
	}
	if m.credential != "" {
		require.False(t, o.authenticated, "the forged credential authenticates")
		require.NotEmpty(t, o.alarms, "the alarm forged_rows")
		commands += "; its requests refused"
	}
	if m.harmless != "" {
		require.NoError(t, o.err)
		return fmt.Sprintf("| %s | nothing to name: %s | accepted | – |", m.name, m.harmless)
	}
	require.True(t, o.named())
	for _, kind := range m.wants {
		require.Contains(t, o.how(), "`"+kind+"`", "%v", o.report.Mismatches)
	}
	if m.refused {
		require.Error(t, o.refused)
	} else {
		require.NoError(t, o.refused)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", m.name, o.how(), commands, signed)
}

// TestManipulationsAreNamed makes the manipulations of the review and 200 random ones, each in a database of
// its own. It is not parallel, because the commands read the environment.
func TestManipulationsAreNamed(t *testing.T) {
	g := newGenuine(t)
	table := "| manipulation | named by verification | commands on it | signed |\n|---|---|---|---|\n"
	for _, m := range reviewed {
		t.Run(m.name, func(t *testing.T) {
			made := g.copy(t, g.config.DatabaseURL)
			f := g.forge(t, made)
			m.do(f)
			require.NoError(t, f.db.Close(t.Context()))
			table += g.outcomeOf(t, m, made) + "\n"
		})
	}
	t.Run("yesterday's dump restored", func(t *testing.T) {
		m := manipulation{name: "yesterday's dump restored", wants: anchored}
		table += g.outcomeOf(t, m, g.copy(t, g.before)) + "\n"
	})
	t.Run("another secret key", func(t *testing.T) { g.anotherKey(t) })
	t.Run("random", func(t *testing.T) { table += g.random(t) })
	if !t.Failed() && *manipulationCount == tableCount {
		requireTable(t, table)
	}
}

// outcomeOf judges a manipulated database and returns the row of the table.
func (g *genuine) outcomeOf(t *testing.T, m manipulation, of string) string {
	t.Helper()
	t.Setenv("VQA_DATABASE_URL", of)
	_, _, err := g.run("ledger", "verify")
	o := g.judge(t, of, m.credential)
	require.Equal(t, o.err == nil, err == nil, "the command, before a sealer has seen it: %v", err)
	require.NotErrorIs(t, err, exitUncompared)
	return m.check(t, o)
}

// anotherKey starts with the secret key of somebody else: nothing is served, appended or signed with it.
func (g *genuine) anotherKey(t *testing.T) {
	made := g.copy(t, g.config.DatabaseURL)
	c := g.config
	c.DatabaseURL, c.DataDir = made, t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(c.DataDir, secretKeyFile), bytes.Repeat([]byte{7}, keyBytes), 0o600))
	for _, adopted := range []bool{false, true} {
		if adopted { // the attacker also replaces the recorded key
			f := g.forge(t, made)
			f.sql("delete from installation_parts")
			require.NoError(t, f.db.Close(t.Context()))
		}
		g.with(t, c, func(a *app) {
			require.Nil(t, a.guard)
			err := a.commands.AddLedgerKey(t.Context(), make(ed25519.PublicKey, ed25519.PublicKeySize))
			require.ErrorContains(t, err, "this tool cannot change the log")
		})
	}
}

// TestAForgedGrantCannotBeSpent: neither a grant appended by SQL nor a raised snapshot buys anything, and
// the caller learns nothing of the finding.
func TestAForgedGrantCannotBeSpent(t *testing.T) {
	g := newGenuine(t)
	spend := func(t *testing.T, of string, seconds int64) error {
		c := g.config
		c.DatabaseURL = of
		var refused error
		g.with(t, c, func(a *app) {
			change := adjustment(g.rich, -seconds)
			_, refused = a.commands.GrantCredits(t.Context(), change)
			require.NotEmpty(t, a.forged.alarms())
			require.Contains(t, a.forged.alarms()[0].detail, "credit/"+g.rich)
		})
		return refused
	}
	appended := g.copy(t, g.config.DatabaseURL)
	f := g.forge(t, appended)
	f.appendGrant()
	require.NoError(t, f.db.Close(t.Context()))
	err := spend(t, appended, 7000)
	var forged *eventstore.ForgedError
	require.ErrorAs(t, err, &forged)
	require.Equal(t, fault.InternalError, fault.Of(err).Code)
	require.Equal(t, "The stored history of this resource failed an integrity check, so nothing was changed. Report the request id.", fault.Of(err).Message)

	raised := g.copy(t, g.config.DatabaseURL)
	f = g.forge(t, raised)
	f.sql(`update streams set snapshot = regexp_replace(snapshot::text, '"posted_seconds":[0-9]+', '"posted_seconds":906000')::json where stream = $1`, f.credits())
	require.NoError(t, f.db.Close(t.Context()))
	err = spend(t, raised, 100_000)
	require.True(t, fault.Has(err, fault.InsufficientCredits), "%v", err)
}

// The table of manipulations in docs/ledger.md.
const (
	tableBegin = "<!-- The table is written by: go test ./cmd/vqa -run TestManipulationsAreNamed -manipulations.update -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

func requireTable(t *testing.T, table string) {
	path := filepath.Join("..", "..", "docs", "ledger.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), tableBegin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, tableEnd)
	require.True(t, found)
	want := before + tableBegin + table + tableEnd + after
	if *manipulationsUpdate {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run the test with -manipulations.update")
}
