package node_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/node"
)

// bucket is an object store in memory.
type bucket struct {
	mu      sync.Mutex
	id      string
	written int
	err     error
}

func (b *bucket) InstallationID(context.Context) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.id, b.err
}

func (b *bucket) SetInstallationID(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.id = id
	b.written++
	return b.err
}

// differing returns the parts of the mismatches in err.
func differing(t *testing.T, err error) (parts []node.Part) {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%v", err)
	for _, one := range joined.Unwrap() {
		if deeper, ok := one.(interface{ Unwrap() []error }); ok {
			parts = append(parts, differing(t, deeper.(error))...)
			continue
		}
		var mismatch *node.MismatchError
		require.ErrorAs(t, one, &mismatch)
		parts = append(parts, mismatch.Part)
	}
	return parts
}

func TestInstallation(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	key, store := []byte(strings.Repeat("a", 32)), &bucket{}
	first := node.Installation{Pool: pool, Key: key, Store: store, By: "node_1"}

	complete, err := node.Compare(t.Context(), pool, key, store)
	require.NoError(t, err)
	require.False(t, complete, "nothing is recorded before the first start")
	require.Zero(t, store.written)

	// Many nodes start at once.
	var starts sync.WaitGroup
	for range 8 {
		starts.Go(func() {
			if err := first.Confirm(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	require.Equal(t, 1, store.written)
	require.NoError(t, first.Confirm(t.Context()))
	var rows int
	require.NoError(t, pool.QueryRow(t.Context(), "select count(*) from installation_parts").Scan(&rows))
	require.Equal(t, 2, rows, "one row for each part")
	var known bool
	require.NoError(t, pool.QueryRow(t.Context(), "select exists (select from installation_parts where fingerprint like '%' || $1 || '%')", string(key)).Scan(&known))
	require.False(t, known, "the key itself is not in the database")

	otherKey := []byte(strings.Repeat("b", 32))
	tests := map[string]struct {
		key   []byte
		store *bucket
		want  []node.Part
		says  []string
	}{
		"the same":      {key, &bucket{id: store.id}, nil, nil},
		"another key":   {otherKey, store, []node.Part{node.SecretKey}, []string{"secret.key in VQA_DATA_DIR", "vqa nodes adopt --key"}},
		"no key":        {nil, store, []node.Part{node.SecretKey}, nil},
		"another store": {key, &bucket{id: "another"}, []node.Part{node.ObjectStore}, []string{"VQA_BLOB_URL", "has another id", "vqa nodes adopt --store"}},
		"empty store":   {key, &bucket{}, []node.Part{node.ObjectStore}, []string{"is missing"}},
		"both":          {otherKey, &bucket{}, []node.Part{node.SecretKey, node.ObjectStore}, nil},
	}
	for name, tt := range tests {
		before := tt.store.written
		err := node.Installation{Pool: pool, Key: tt.key, Store: tt.store, By: "node_2"}.Confirm(t.Context())
		require.Equal(t, tt.want, differing(t, err), name)
		for _, part := range tt.says {
			require.ErrorContains(t, err, part, name)
		}
		require.Equal(t, before, tt.store.written, "%s: a refused node writes nothing", name)
	}

	away := node.Installation{Pool: pool, Key: key, Store: &bucket{err: errors.New("the bucket is away")}, By: "node_2"}
	require.ErrorContains(t, away.Confirm(t.Context()), "the bucket is away")
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	pool := connect(t)
	key, store := []byte(strings.Repeat("a", 32)), &bucket{id: "of an earlier database"}
	first := node.Installation{Pool: pool, Key: key, Store: store, By: "node_1"}
	require.NoError(t, first.Confirm(t.Context()))
	require.Zero(t, store.written, "a store that has an id keeps it")

	moved := node.Installation{Pool: pool, Key: []byte(strings.Repeat("b", 32)), Store: &bucket{}, By: "ann"}
	require.Error(t, moved.Confirm(t.Context()))
	for _, part := range []node.Part{node.SecretKey, node.ObjectStore} {
		changed, err := moved.Adopt(t.Context(), part)
		require.NoError(t, err)
		require.True(t, changed)
		changed, err = moved.Adopt(t.Context(), part)
		require.NoError(t, err)
		require.False(t, changed, "it is adopted already")
	}
	require.NoError(t, moved.Confirm(t.Context()))
	require.Equal(t, []node.Part{node.SecretKey, node.ObjectStore}, differing(t, first.Confirm(t.Context())), "the old parts are refused")
	var by string
	require.NoError(t, pool.QueryRow(t.Context(), "select string_agg(recorded_by, ' ' order by id) from installation_parts").Scan(&by))
	require.Equal(t, "node_1 node_1 ann ann", by, "the table keeps each change with its operator")
	_, err := pool.Exec(t.Context(), "delete from installation_parts")
	require.ErrorContains(t, err, "permission denied")
}
