package seal_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
)

func TestPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.sealer()
	first := w.seals(s)
	require.Equal(t, "vqa.example/ledger", first.Checkpoint.Origin)
	sealed, err := s.Pass(t.Context())
	require.NoError(t, err)
	require.False(t, sealed, "a pass without a business event seals nothing")
	w.buy(w.account, 50)
	second := w.seals(s)
	third := w.newAccount()
	w.buy(third, 1)
	w.seals(w.sealer()) // another node, which has just started
	w.buy(third, 2)
	w.seals(s) // it follows the other node
	all := w.requireOneHistory(1)
	require.Len(t, all, 4)
	require.Equal(t, []translog.Checkpoint{first.Checkpoint, second.Checkpoint}, all[:2])
	require.NoError(t, s.FullAudit(t.Context()))

	// The newest seal names the newest checkpoint, and each event has its leaf.
	log, err := w.LedgerLog(t.Context())
	require.NoError(t, err)
	require.Equal(t, all[3].Digest(), log.Last.Previous, "the seal after the checkpoint names it")
	require.EqualValues(t, 2, log.Last.Accounts)
	newest, tree := all[3], seal.Tree{Files: w.files, Log: 1}
	events, err := w.store.LoadAll(t.Context(), fold.Credit.Stream(third))
	require.NoError(t, err)
	for _, e := range events {
		index, leaf, found, err := tree.Locate(t.Context(), newest.Tree, e.Position)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, translog.Leaf{Position: e.Position, RecordedAt: e.RecordedAt, Stream: e.Stream.String(), Version: e.Version, Chain: e.Chain}, leaf)
		proof, err := translog.ProveInclusion(newest.Tree, tree.Read(t.Context()), index)
		require.NoError(t, err)
		require.NoError(t, translog.VerifyInclusion(newest.Tree, index, leaf.Hash(), proof))
	}
	_, _, found, err := tree.Locate(t.Context(), newest.Tree, 1_000_000)
	require.NoError(t, err)
	require.False(t, found)
}

// TestManyEvents seals a log with more events than one page and one bundle.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.sealer()
	for range 3 {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 40 {
					w.buy(w.account, 1)
				}
			})
		}
		all.Wait()
		w.seals(s)
		w.seals2(w.sealer())
	}
	require.NoError(t, s.FullAudit(t.Context()))
	require.Greater(t, w.requireOneHistory(1)[2].Size, int64(900))
}

// seals2 makes a pass of a new node, which folds everything and finds nothing to seal.
func (w *world) seals2(s *seal.Sealer) {
	w.Helper()
	sealed, err := s.Pass(w.Context())
	require.NoError(w, err)
	require.False(w, sealed)
}

// TestTwoSealersAtOnce lets nodes with the same key seal while customers buy.
func TestTwoSealersAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	var buying, sealing sync.WaitGroup
	buying.Go(func() {
		for n := 0; n < 150 || len(w.sizes()) < 3 && !t.Failed(); n++ {
			w.buy(w.account, 1)
		}
	})
	for range 3 {
		sealing.Go(func() {
			s := w.sealer()
			for n := 0; ctx.Err() == nil; n++ {
				if n%5 == 1 {
					if err := s.FullAudit(t.Context()); err != nil {
						t.Errorf("an audit failed: %v", err)
						return
					}
				}
				_, err := s.Pass(t.Context())
				if err != nil && !errors.Is(err, seal.ErrRival) {
					t.Errorf("a pass failed: %v", err)
					return
				}
			}
		})
	}
	buying.Wait()
	stop()
	sealing.Wait()
	_, err := w.sealer().Pass(t.Context())
	require.NoError(t, err)
	all := w.requireOneHistory(1)
	require.Greater(t, len(all), 2)
	require.NoError(t, w.sealer().FullAudit(t.Context()))
	var last int64
	require.NoError(t, w.owner.QueryRow(t.Context(), "select max(position) from events where stream like 'credit/%'").Scan(&last))
	_, _, found, err := seal.Tree{Files: w.files, Log: 1}.Locate(t.Context(), all[len(all)-1].Tree, last)
	require.NoError(t, err)
	require.True(t, found, "the last purchase is sealed")
}

// dying fails from a write on, as if the process had been killed.
type dying struct {
	seal.Files
	left int
}

var errKilled = errors.New("killed")

func (d *dying) write() error {
	if d.left == 0 {
		return errKilled
	}
	d.left--
	return nil
}

func (d *dying) Create(ctx context.Context, name string, data []byte) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.Files.Create(ctx, name, data)
}

func (d *dying) Put(ctx context.Context, name string, data []byte) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.Files.Put(ctx, name, data)
}

// TestKilledAtEachStep ends a pass before each of its writes. The next node continues, and no two
// checkpoints contradict each other.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{false, true} {
		for step := 0; ; step++ {
			w := newWorld(t)
			if started {
				w.seals(w.sealer())
				w.buy(w.account, 5)
			}
			files := &dying{w.files, step}
			victim := w.sealer(func(o *seal.Options) { o.Anchors.Files, o.Tiles = files, files })
			_, err := victim.Pass(t.Context())
			if err == nil {
				require.GreaterOrEqual(t, step, 5, "a pass has several writes")
				break
			}
			require.ErrorIs(t, err, errKilled, "step %d", step)
			w.buy(w.account, 7)
			next := w.sealer()
			w.seals(next)
			w.requireOneHistory(1)
			require.NoError(t, next.FullAudit(t.Context()))
			// The victim was only slow: it goes on and must not fork the log.
			files.left = 1000
			_, err = victim.Pass(t.Context())
			require.NoError(t, err, "step %d", step)
			w.requireOneHistory(1)
		}
	}
}

func TestOnlyTheApprovedKeySeals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.sealer()
	w.seals(s)
	foreign := w.sealer(func(o *seal.Options) { o.Key = keyOf("an empty data folder") })
	w.buy(w.account, 1)
	sealed, err := foreign.Pass(t.Context())
	require.NoError(t, err, "another node may still seal")
	require.False(t, sealed)
	w.skip(10 * time.Minute)
	_, err = foreign.Pass(t.Context())
	require.ErrorIs(t, err, seal.ErrNotApproved)
	require.Len(t, w.checkpoints(1), 1)

	pinned := newWorld(t)
	_, err = pinned.sealer(func(o *seal.Options) { o.Anchors.Pins = append(o.Anchors.Pins, public(keyOf("another"))) }).Pass(t.Context())
	require.ErrorIs(t, err, seal.ErrNotApproved, "the pin names another key")
}

func TestRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.sealer()
	w.seals(old)
	_, err := old.Rotate(t.Context(), keyOf("b"), seal.Operator{Name: "ada"})
	require.Error(t, err, "a reason is required")
	_, err = old.Replace(t.Context(), seal.Operator{Name: "ada", Reason: "x"})
	require.ErrorContains(t, err, "nothing was lost")
	_, err = old.Revoke(t.Context(), public(keyOf("a")), 1, seal.Operator{Name: "ada", Reason: "x"})
	require.ErrorContains(t, err, "Rotate it first.")
	_, err = old.Rotate(t.Context(), keyOf("b"), seal.Operator{Name: "ada", Reason: "yearly"})
	require.NoError(t, err)
	next := w.sealer(func(o *seal.Options) { o.Key = keyOf("b") })
	w.buy(w.account, 1)
	w.seals(next)
	_, err = next.Revoke(t.Context(), public(keyOf("a")), 1, seal.Operator{Name: "ada", Reason: "leaked"})
	require.NoError(t, err)
	_, err = old.Rotate(t.Context(), keyOf("c"), seal.Operator{Name: "eve", Reason: "x"})
	require.Error(t, err, "an old key approves nothing")
	w.buy(w.account, 1)
	w.seals(next)
	require.NoError(t, next.FullAudit(t.Context()), "a revocation replaces no file")
	for _, size := range []int64{-18, 0} {
		none, err := next.ReadCheckpoint(t.Context(), 1, size)
		require.NoError(t, err)
		require.Nil(t, none)
	}
	none, err := next.ReadCheckpoint(t.Context(), -1, 18)
	require.NoError(t, err)
	require.Nil(t, none)
	for _, size := range seal.Sizes(t, w.files, 1) {
		served, err := next.ReadCheckpoint(t.Context(), 1, size)
		require.NoError(t, err)
		require.NotEmpty(t, served)
	}

	thief := w.sealer(func(o *seal.Options) { o.Key = keyOf("c") })
	_, err = thief.Replace(t.Context(), seal.Operator{Name: "ada", Reason: "the disk died"})
	require.NoError(t, err)
	keys, err := seal.Anchors{Files: w.files}.Keys(t.Context())
	require.NoError(t, err)
	require.True(t, keys.Lost(), "the replacement is shown always")
	_, err = seal.Anchors{Files: w.files, Pins: []ed25519.PublicKey{public(keyOf("a"))}}.Keys(t.Context())
	var found *seal.Finding
	require.ErrorAs(t, err, &found, "a pin refuses it")
}

// TestRestore restores an older state of the database. Sealing stops until a restart.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.sealer()
	w.seals(s)
	w.buy(w.account, 10)
	w.seals(s)
	tables := []string{"streams", "credit_balances", "credit_transactions"}
	var last int64
	require.NoError(t, w.owner.QueryRow(t.Context(), "select max(position) from events").Scan(&last))
	for _, table := range tables {
		w.sql(fmt.Sprintf("create table old_%[1]s as select * from %[1]s", table))
	}
	w.buy(w.account, 20)
	w.buy(w.account, 30)
	w.seals(s)
	w.sql(fmt.Sprintf("delete from events where position > %d", last), fmt.Sprintf("select setval('events_position_seq', %d)", last))
	for _, table := range tables {
		w.sql("delete from "+table, fmt.Sprintf("insert into %[1]s select * from old_%[1]s", table))
	}
	for round, node := range []*seal.Sealer{s, w.sealer()} {
		w.buy(w.account, 40) // the service goes on
		_, err := node.Pass(t.Context())
		var found *seal.Finding
		require.ErrorAs(t, err, &found, "round %d", round)
		require.Equal(t, last+1, found.Position, "the first lost event is named: %v", found)
		require.Equal(t, found.Error(), node.Found().Error())
	}
	require.Len(t, w.checkpoints(1), 3)
	_, err := s.Restart(t.Context(), seal.Operator{Name: "ada"})
	require.Error(t, err, "a reason is required")
	opening, err := s.Restart(t.Context(), seal.Operator{Name: "ada", Reason: "restored yesterday's dump"})
	require.NoError(t, err)
	require.Equal(t, "vqa.example/ledger/2", opening.Origin)
	require.Contains(t, opening.Restart.Lost, fmt.Sprintf("position %d", last+1))
	w.seals(s)
	require.Nil(t, s.Found())
	w.buy(w.account, 1)
	w.seals(w.sealer())
	w.requireOneHistory(2)
	first, records, err := translog.ReadRecords(w.checkpoints(2)[0].Tree, seal.Tree{Files: w.files, Log: 2}.Read(t.Context()), 0)
	require.NoError(t, err)
	require.Zero(t, first)
	r, err := translog.ParseRestart(records[0])
	require.NoError(t, err)
	require.Equal(t, "restored yesterday's dump", r.Reason)
	require.Len(t, w.checkpoints(1), 3, "the old log stays as it is")
}

func TestUnsealedIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := &dying{w.files, 0}
	s := w.sealer(func(o *seal.Options) { o.Anchors.Files = files })
	_, err := s.Pass(t.Context())
	require.ErrorIs(t, err, errKilled)
	require.NoError(t, s.Unsealed())
	w.skip(6 * time.Minute)
	require.ErrorIs(t, s.Unsealed(), errKilled)
	files.left = 1000
	w.seals(s)
	require.NoError(t, s.Unsealed())
	w.skip(15 * time.Minute)
	require.ErrorIs(t, s.Unsealed(), seal.ErrSlow, "a pass that does not end raises the alarm, too")
	_, err = s.Pass(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Unsealed())
	require.Contains(t, codec.Events().Names(), "ledger.sealed")
}
