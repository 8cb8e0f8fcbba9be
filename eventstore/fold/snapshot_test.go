package fold

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/eventstore"
)

// TestASnapshotOfAnotherShapeIsNotUsed: a snapshot with other fields, or without a shape, may lack what
// this program needs.
func TestASnapshotOfAnotherShapeIsNotUsed(t *testing.T) {
	t.Parallel()
	state := account.State{ID: "acct_1"}
	stored, err := Account.Snapshot(state)
	require.NoError(t, err)
	require.True(t, json.Valid(stored), "%s", stored)
	restored, err := Account.Restore(eventstore.History{Version: 50, Snapshot: stored, SnapshotVersion: 50})
	require.NoError(t, err)
	require.Equal(t, state.ID, restored.ID)

	plain, err := json.Marshal(state)
	require.NoError(t, err)
	other := Of[account.State, account.Event]{"account", account.Evolve, mark(reflect.TypeFor[account.State](), 2)}
	fromOther, err := other.Snapshot(state)
	require.NoError(t, err)
	for _, foreign := range [][]byte{plain, fromOther} {
		_, err := Account.Restore(eventstore.History{Version: 50, Snapshot: foreign, SnapshotVersion: 50})
		require.ErrorIs(t, err, ErrOtherShape)
	}
}

type (
	shape      struct{ A []inner }
	inner      struct{ B map[string]*leaf }
	leaf       struct{ C int }
	renamed    struct{ A []innerOther }
	innerOther struct{ B map[string]*leafMore }
	leafMore   struct {
		C int
		D *time.Time `json:"d,omitempty"`
	}
	itself struct{ Next []itself }
)

// TestMarkFollowsTheFields: a new field at any depth changes the shape.
func TestMarkFollowsTheFields(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, mark(reflect.TypeFor[shape](), 1), mark(reflect.TypeFor[renamed](), 1))
	require.NotEqual(t, mark(reflect.TypeFor[shape](), 1), mark(reflect.TypeFor[shape](), 2))
	require.Equal(t, mark(reflect.TypeFor[itself](), 1), mark(reflect.TypeFor[itself](), 1))
	require.Equal(t, `{"snapshot_of":"`, mark(reflect.TypeFor[leaf](), 1)[:16])
}
