package translog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/translog"
)

func TestAccountRecord(t *testing.T) {
	t.Parallel()
	a := translog.Account{ID: "acct_1", Version: 4, Chain: [32]byte{9}, PostedSeconds: 30, HeldSeconds: 10, Totals: [6]int64{40, 0, 0, -5, 5, 0}}
	back, err := translog.ParseAccount(a.Record())
	require.NoError(t, err)
	require.Equal(t, a, back)
	_, err = translog.ParseAccount(leaf(1).Record())
	require.Error(t, err)
}

// TestAccountTree compares the tree with the definition after random changes.
func TestAccountTree(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var tree translog.AccountTree
	require.Equal(t, translog.EmptyTree(), tree.Tree())
	model := map[string]translog.Account{}
	for round := range 300 {
		var batch []translog.Account
		for range 1 + r.IntN(4) {
			id := fmt.Sprintf("acct_%04d", r.IntN(10+round))
			if !slices.ContainsFunc(batch, func(a translog.Account) bool { return a.ID == id }) {
				batch = append(batch, translog.Account{ID: id, Version: int64(round + 1), PostedSeconds: r.Int64N(1000)})
			}
		}
		tree.Put(batch...)
		for _, a := range batch {
			model[a.ID] = a
		}
		var ids []string
		for id := range model {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		var leaves []translog.Hash
		for _, id := range ids {
			leaves = append(leaves, model[id].Hash())
		}
		require.Equal(t, translog.Tree{Size: int64(len(ids)), Root: root(leaves)}, tree.Tree(), "round %d", round)
	}
	now := tree.Tree()
	for n := range 310 {
		id := fmt.Sprintf("acct_%04d", n)
		if a, ok := model[id]; ok {
			proof, err := tree.Prove(id)
			require.NoError(t, err)
			require.Equal(t, a, proof.Account)
			require.NoError(t, proof.Verify(now))
			proof.Account.PostedSeconds++
			require.Error(t, proof.Verify(now))
			_, err = tree.ProveAbsence(id)
			require.Error(t, err)
			continue
		}
		_, err := tree.Prove(id)
		require.Error(t, err)
		requireAbsent(t, &tree, id)
	}
	requireAbsent(t, &tree, "acct_")
	requireAbsent(t, &tree, "b")
}

func requireAbsent(t *testing.T, tree *translog.AccountTree, id string) {
	t.Helper()
	neighbors, err := tree.ProveAbsence(id)
	require.NoError(t, err)
	require.NoError(t, translog.VerifyAbsence(tree.Tree(), id, neighbors))
	for _, n := range neighbors {
		require.Error(t, translog.VerifyAbsence(tree.Tree(), n.Account.ID, neighbors), "an account that exists")
	}
	if len(neighbors) == 2 {
		require.Error(t, translog.VerifyAbsence(tree.Tree(), id, neighbors[:1]), "a neighbor in the middle alone")
	}
	require.Error(t, translog.VerifyAbsence(tree.Tree(), id, nil))
}

func TestAbsenceInAnEmptyTree(t *testing.T) {
	t.Parallel()
	var tree translog.AccountTree
	neighbors, err := tree.ProveAbsence("acct_1")
	require.NoError(t, err)
	require.Empty(t, neighbors)
	require.NoError(t, translog.VerifyAbsence(tree.Tree(), "acct_1", nil))
}
