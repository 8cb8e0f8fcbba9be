package streams

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/stream"
	"vqa/eventstore/codec"
	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/intake/fixture"
	"vqa/handlers/objects"
	"vqa/migrations"
	"vqa/projections"
	"vqa/projections/ledger"
	"vqa/projections/resources"
	"vqa/streaming/peer"
	"vqa/streaming/signal"
)

// patience bounds the wait for anything, on a slow machine.
const patience = 30 * time.Second

// world is the service without HTTP, on its own database.
type world struct {
	t        *testing.T
	url      string
	commands *command.Service
	read     *resources.Reader
	store    *postgres.Store
	pool     *pgxpool.Pool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, url: storetest.Database(t, migrations.Up, migrations.Version())}
	pool, err := postgres.Connect(t.Context(), w.url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w.pool = pool
	var inline []postgres.Projection
	for _, p := range append(resources.Projections(), ledger.Projections()...) {
		inline = append(inline, p)
	}
	w.store = postgres.New(pool, codec.Events(), postgres.WithProjections(inline...))
	w.read = resources.NewReader(pool)
	pipeline := command.NewPipeline(w.store, time.Now, slog.New(slog.DiscardHandler))
	w.commands = command.NewService(command.Dependencies{
		Store: w.store, Pipeline: pipeline, IDs: id.NewSource(time.Now, rand.Reader), Entropy: rand.Reader, Now: time.Now,
		Catalog: model.Catalog{{ID: "sight-1", Status: model.Stable, Default: true}}, Fixture: fixture.Fixture{}, Streams: w.read,
		Limits: command.Limits{StreamQueueCap: 100, StreamMaxSessionSeconds: 3600, StreamWarnAtSeconds: 60},
	})
	w.run(pipeline.Run)
	return w
}

// run runs a part until the test ends, or until stop is called.
func (w *world) run(part func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { part(ctx) })
	stop = func() { cancel(); running.Wait() }
	w.t.Cleanup(stop)
	return stop
}

// node starts a node with so many slots. stop ends it cleanly, and vanish ends only its lease.
func (w *world) node(name string, slots int) (n *Node, stop, vanish func()) {
	w.t.Helper()
	pool, err := postgres.Connect(w.t.Context(), w.url)
	require.NoError(w.t, err)
	w.t.Cleanup(pool.Close)
	log := slog.New(slog.DiscardHandler)
	presence, err := node.Join(w.t.Context(), pool, name, "host", 1, log)
	require.NoError(w.t, err)
	require.NoError(w.t, presence.Announce(w.t.Context(), "http://"+name, []byte("of all nodes")))
	vanish = w.run(presence.Run)
	media, err := peer.Listen(peer.Options{Address: netip.MustParseAddrPort("127.0.0.1:0"), External: []peer.External{
		{ICEServer: peer.ICEServer{URLs: []string{"stun:a"}}},
		{ICEServer: peer.ICEServer{URLs: []string{"turn:static"}, Username: new("jo"), Credential: new("password")}},
		{ICEServer: peer.ICEServer{URLs: []string{"turn:expires"}}, Secret: []byte("shared")},
	}})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = media.Close() })
	bucket, err := objects.Open(w.t.Context(), objects.Options{Dir: w.t.TempDir(), PublicURL: "http://x", SigningKey: make([]byte, 32), Now: time.Now, Log: log, WriteError: edge.WriteError})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, bucket.Close()) })
	n = New(Options{
		Commands: w.commands, Read: w.read, Presence: presence, Slots: slots, Media: media, FFmpeg: ffmpegtest.Runner(w.t),
		Recordings: Recordings{Limits: w.commands, Objects: bucket, History: w.store, Now: time.Now}, MaxSession: time.Hour,
		Sign:     func(out http.Header, _ *http.Request, _, _ string) error { out.Set(signal.PassedOn, "1"); return nil },
		CheckKey: func(k account.Key) error { return k.Check(time.Now()) },
		Windows:  stream.Windows{Join: time.Hour, ICE: time.Hour, FirstFrame: time.Hour}, Now: time.Now, Log: log,
	})
	return n, w.run(n.Run), vanish
}

// create creates a stream of a new account.
func (w *world) create() stream.State {
	w.t.Helper()
	key, err := w.commands.IssueKey(w.t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: 100, Operator: "test"})
	require.NoError(w.t, err)
	prompt := "Is there a dog?"
	st, err := w.commands.CreateStream(w.t.Context(), command.Caller{AccountID: key.AccountID, Livemode: true}, command.CreateStream{Prompt: &prompt})
	require.NoError(w.t, err)
	return st
}

// await reads a stream until it fulfills a condition.
func (w *world) await(id string, fulfilled func(stream.State) bool) (st stream.State) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		var err error
		st, err = w.read.StreamByID(context.Background(), id)
		return err == nil && fulfilled(st)
	}, patience, 20*time.Millisecond)
	return st
}

func TestSlotsAreFilledInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, _, _ := w.node("a", 2)
	var all []stream.State
	for range 4 {
		all = append(all, w.create())
	}
	owned := func(st stream.State) bool { return st.Node != "" }
	first := w.await(all[0].ID, owned)
	w.await(all[1].ID, owned)
	place, err := places{n}.Place(t.Context(), all[2].ID)
	require.NoError(t, err)
	require.Equal(t, 1, place.Queued.Position)
	place, err = places{n}.Place(t.Context(), first.ID)
	require.NoError(t, err)
	require.NotNil(t, place.Session)
	require.NoError(t, place.Session.End(t.Context()))
	w.await(all[2].ID, owned)
	place, err = places{n}.Place(t.Context(), all[3].ID)
	require.NoError(t, err)
	require.Equal(t, 1, place.Queued.Position)
	place, err = places{n}.Place(t.Context(), first.ID)
	require.NoError(t, err)
	require.Equal(t, stream.Canceled, place.Ended)
	require.NoError(t, places{n}.End(t.Context(), all[3].ID))
	require.Equal(t, stream.Canceled, w.await(all[3].ID, func(st stream.State) bool { return st.EndedAt != nil }).Reason)
}

// TestAnotherNodeTakesOver: a ready stream of a node whose lease is over moves, and a live one ends.
func TestAnotherNodeTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, _, vanish := w.node("a", 2)
	ready, live := w.create(), w.create()
	owner := w.await(ready.ID, func(st stream.State) bool { return st.Node != "" }).Node
	w.await(live.ID, func(st stream.State) bool { return st.Node != "" })
	run := command.StreamRun{AccountID: live.AccountID, StreamID: live.ID, Actor: "live"}
	for _, c := range []stream.Command{stream.Offer{Node: owner}, stream.GoLive{Node: owner}} {
		_, _, err := w.commands.ChangeStream(t.Context(), run, c)
		require.NoError(t, err)
	}
	b, _, _ := w.node("b", 2)
	place, err := places{b}.Place(t.Context(), ready.ID)
	require.NoError(t, err)
	require.Equal(t, "http://a", place.Node)
	w.redirect(b, ready.ID)
	vanish()
	moved := w.await(ready.ID, func(st stream.State) bool { return st.Node != owner })
	require.Equal(t, stream.Ready, moved.Status)
	ended := w.await(live.ID, func(st stream.State) bool { return st.EndedAt != nil })
	require.Equal(t, stream.Failed, ended.Reason)
	require.Equal(t, int64(0), ended.Usage.BilledSeconds, "it had no heartbeat")
}

// redirect tries, with SQL, to make node n send the requests of a stream of node a to another address.
func (w *world) redirect(n *Node, streamID string) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), `insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until, address, address_mac)
		select 'evil', 'evil', 1, started_at, renewed_at, lease_until + interval '1 hour', 'http://evil', address_mac from nodes where name = 'a'`)
	require.NoError(w.t, err)
	const owner = `update live_streams set node = $2, doc = jsonb_set(doc::jsonb, '{node}', to_jsonb($2::text))::json where id = $1`
	_, err = w.pool.Exec(w.t.Context(), owner, streamID, "evil@1")
	require.NoError(w.t, err)
	place, err := places{n}.Place(w.t.Context(), streamID)
	require.NoError(w.t, err)
	require.Equal(w.t, "http://a", place.Node, "the owner of the log, not of the read model")
	_, err = w.pool.Exec(w.t.Context(), owner, streamID, "a@1")
	require.NoError(w.t, err)
	_, err = w.pool.Exec(w.t.Context(), "update nodes set address = 'http://evil' where name = 'a'")
	require.NoError(w.t, err)
	place, err = places{n}.Place(w.t.Context(), streamID)
	require.ErrorContains(w.t, err, "no valid MAC")
	require.Empty(w.t, place.Node)
	address, err := n.Presence.Address(w.t.Context(), "evil@1")
	require.ErrorContains(w.t, err, "no valid MAC", "the MAC is that of another node")
	require.Empty(w.t, address)
}

// TestAStoppedNodeEndsItsSessions: Run returns only when the sessions have ended, and a ready stream waits for another
// node.
func TestAStoppedNodeEndsItsSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, stop, _ := w.node("a", 1)
	st := w.create()
	owner := w.await(st.ID, func(st stream.State) bool { return st.Node != "" }).Node
	stop()
	require.Nil(t, n.current())
	require.Equal(t, owner, w.await(st.ID, func(st stream.State) bool { return st.Status == stream.Ready }).Node)
}

// TestTestModeKeepsNoLiveStreamWaiting: streams of test mode cost nothing, so they get a quarter of the slots, and live
// ones go first.
func TestTestModeKeepsNoLiveStreamWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var test []stream.State
	for range 3 {
		key, err := w.commands.IssueKey(t.Context(), command.NewKey{Mode: account.Test, Tier: account.Sandbox, Operator: "test"})
		require.NoError(t, err)
		prompt := "Is there a ball?"
		st, err := w.commands.CreateStream(t.Context(), command.Caller{AccountID: key.AccountID}, command.CreateStream{Prompt: &prompt})
		require.NoError(t, err)
		test = append(test, st)
	}
	var live []stream.State
	for range 4 {
		live = append(live, w.create())
	}
	line, _, err := w.read.Streams(t.Context(), resources.Tenant{AccountID: live[0].AccountID, Livemode: true}, "", projections.Page{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, 1, *line[0].QueuePosition, "before the older ones of test mode")
	line, _, err = w.read.Streams(t.Context(), resources.Tenant{AccountID: test[2].AccountID}, "", projections.Page{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, 3, *line[0].QueuePosition, "live streams wait in a line of their own")
	_, _, _ = w.node("a", 4)
	owned := func(st stream.State) bool { return st.Node != "" }
	for _, st := range live {
		w.await(st.ID, owned)
	}
	_, _, _ = w.node("b", 4)
	w.await(test[0].ID, owned)
	time.Sleep(2 * lookEvery)
	for _, st := range test[1:] {
		got, err := w.read.StreamByID(t.Context(), st.ID)
		require.NoError(t, err)
		require.Equal(t, stream.Queued, got.Status, "three of four slots are free, for live streams")
	}
}

// TestStreamsOfAnAccountShareTheRelay: the credentials of a stream outlive it, so the relay counts allocations by
// account. A client does not see the id of the account.
func TestStreamsOfAnAccountShareTheRelay(t *testing.T) {
	t.Parallel()
	media, err := peer.Listen(peer.Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"),
		Relay:   &peer.RelayOptions{Address: netip.MustParseAddrPort("127.0.0.1:0"), Secret: []byte("secret")},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = media.Close() })
	n := New(Options{Media: media, PreflightKey: []byte("key"), MaxSession: time.Hour, Now: time.Now})
	client := func(account, id string) string {
		servers := n.Media.ICEServers(n.relayOf(stream.State{ID: id, AccountID: account}), time.Hour, false)
		require.Len(t, servers, 1)
		_, client, _ := strings.Cut(*servers[0].Username, ":")
		return client
	}
	require.Equal(t, client("acct_1", "st_1"), client("acct_1", "st_2"))
	require.NotEqual(t, client("acct_1", "st_1"), client("acct_2", "st_1"))
	require.NotContains(t, client("acct_1", "st_1"), "acct_1")
}
