package seal_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/eventstore/translog"
	"vqa/handlers/anchor"
	"vqa/handlers/command"
	"vqa/handlers/seal"
	"vqa/migrations"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// world is a real database with the commands of the service, and a folder of anchors.
type world struct {
	testing.TB
	*command.Service
	store   *postgres.Store
	pool    *pgxpool.Pool
	owner   *pgx.Conn
	files   *anchor.Place
	dir     string
	account string

	mu    sync.Mutex
	ahead time.Duration
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t}
	url := storetest.Database(t, migrations.Up, migrations.Version())
	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w.pool = pool
	w.owner, err = pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.owner.Close(context.Background()) })
	var inline []postgres.Projection
	for _, p := range append(resources.Projections(), ledger.Projections()...) {
		inline = append(inline, p)
	}
	log := slog.New(slog.DiscardHandler)
	w.store = postgres.New(pool, codec.Events(), postgres.WithProjections(inline...), postgres.WithLogger(log), postgres.WithNonces(rand.Reader), postgres.WithMemory())
	pipeline := command.NewPipeline(w.store, w.now, log)
	w.Service = command.NewService(command.Dependencies{
		Store: w.store, Pipeline: pipeline, IDs: id.NewSource(w.now, rand.Reader), Entropy: rand.Reader, Now: w.now,
		Catalog: model.Catalog{{ID: "sight-1", Status: model.Stable, Default: true}},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { pipeline.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	w.dir = t.TempDir()
	w.files, err = anchor.Open(t.Context(), anchor.Options{Dir: w.dir})
	require.NoError(t, err)
	w.account = w.newAccount()
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead).UTC().Truncate(time.Microsecond)
}

func (w *world) skip(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

// newAccount opens an account with a grant of 100 s.
func (w *world) newAccount() string {
	w.Helper()
	key, err := w.IssueKey(w.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: 100, Operator: "test"})
	require.NoError(w, err)
	return key.AccountID
}

// buy adds seconds to the balance of an account.
func (w *world) buy(account string, seconds int64) {
	w.Helper()
	change := grantOf(account)
	change.Seconds = seconds
	_, err := w.GrantCredits(w.Context(), change)
	require.NoError(w, err)
}

// grantOf returns a purchase of 1 s.
func grantOf(account string) command.GrantCredits {
	return command.GrantCredits{
		CreditChange: command.CreditChange{AccountID: account, Reason: "test", Operator: "test"}, Kind: credit.Purchase, Seconds: 1,
	}
}

// keyOf returns a key that depends on a name alone.
func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// sealer returns a sealer of a node that has just started.
func (w *world) sealer(change ...func(*seal.Options)) *seal.Sealer {
	opt := seal.Options{
		Events: w.store, Commands: w.Service, Codec: codec.Events(), Anchors: seal.Anchors{Files: w.files}, Tiles: w.files,
		Key: keyOf("a"), Origin: "vqa.example/ledger", Now: w.now, Log: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&opt)
	}
	return seal.New(opt)
}

// seals makes a pass that anchors a checkpoint, and returns the new head.
func (w *world) seals(s *seal.Sealer) seal.Head {
	w.Helper()
	sealed, err := s.Pass(w.Context())
	require.NoError(w, err)
	require.True(w, sealed)
	return s.Newest()
}

// checkpoints returns all checkpoints of a log, oldest first.
func (w *world) checkpoints(log int64) []translog.Checkpoint {
	w.Helper()
	a := seal.Anchors{Files: w.files}
	keys, err := a.Keys(w.Context())
	require.NoError(w, err)
	openings, err := a.Openings(w.Context(), keys)
	require.NoError(w, err)
	var all []translog.Checkpoint
	for _, size := range seal.Sizes(w, w.files, log) {
		_, c, err := a.Checkpoint(w.Context(), keys, openings[log-1], size)
		require.NoError(w, err)
		all = append(all, c)
	}
	return all
}

// requireOneHistory proves that each checkpoint of a log extends the one before it.
func (w *world) requireOneHistory(log int64) []translog.Checkpoint {
	w.Helper()
	all := w.checkpoints(log)
	require.NotEmpty(w, all)
	newest := all[len(all)-1].Tree
	read := seal.Tree{Files: w.files, Log: log}.Read(w.Context())
	for _, c := range all {
		proof, err := translog.ProveConsistency(newest, read, c.Size)
		require.NoError(w, err)
		require.NoError(w, translog.VerifyConsistency(c.Tree, newest, proof))
	}
	return all
}

// sql runs statements as the owner of the database, who can disable triggers.
func (w *world) sql(statements ...string) {
	w.Helper()
	_, err := w.owner.Exec(w.Context(), "alter table events disable trigger events_append_only")
	require.NoError(w, err)
	for _, s := range statements {
		tag, err := w.owner.Exec(w.Context(), s)
		require.NoError(w, err, s)
		require.True(w, tag.RowsAffected() > 0 || !tag.Update() && !tag.Delete() && !tag.Insert(), "%s: it changed nothing", s)
	}
}
