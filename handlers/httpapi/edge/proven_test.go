package edge

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/grant"
	"vqa/eventstore"
)

// oneKey has one API key, as a row and as a state.
type oneKey struct {
	Accounts
	row     account.Key
	state   account.State
	version int64
	loads   int
	// changed is called before each load.
	changed func()
}

func (o *oneKey) Key(context.Context, string) (account.Key, bool, error) { return o.row, true, nil }

func (o *oneKey) AccountState(context.Context, string) (account.State, int64, error) {
	if o.loads++; o.changed != nil {
		o.changed()
	}
	return o.state, o.version, nil
}

func (*oneKey) ClientTokenState(context.Context, string) (account.ClientToken, int64, error) {
	return account.ClientToken{}, 0, nil
}

func (*oneKey) SessionState(context.Context, string) (account.Session, int64, error) {
	return account.Session{}, 0, nil
}

func (*oneKey) GrantState(context.Context, string) (grant.State, int64, error) {
	return grant.State{}, 0, nil
}

func newOneKey() *oneKey {
	key := account.Key{ID: "key_1", AccountID: "acct_1", Mode: account.Live, Tier: account.Paid, Name: "n", SecretHash: "hash", Scopes: []string{"videos:read"}, IssuedAt: time.Unix(1, 0).UTC()}
	return &oneKey{row: key, state: account.State{ID: "acct_1", Keys: map[string]account.Key{"key_1": key}}}
}

func TestARowIsComparedOnceAMinute(t *testing.T) {
	t.Parallel()
	o, now, forged := newOneKey(), time.Unix(100, 0), 0
	p := Prove(o, o, func(*eventstore.ForgedError) { forged++ }, func() time.Time { return now })
	read := func() account.Key {
		k, found, err := p.Key(t.Context(), "hash")
		require.NoError(t, err)
		require.True(t, found)
		return k
	}
	for range 5 {
		require.Equal(t, o.row, read())
	}
	require.Equal(t, 1, o.loads)
	o.row.Name = "another name"
	require.Equal(t, "another name", read().Name)
	require.Equal(t, 1, o.loads, "a description is not compared")
	now = now.Add(2 * time.Minute)
	read()
	require.Equal(t, 2, o.loads)
	now = now.Add(-time.Hour)
	read()
	require.Equal(t, 3, o.loads, "a clock that is set back extends nothing")

	o.row.Scopes = append(o.row.Scopes, "keys:write")
	for range 3 {
		require.Equal(t, []string{"videos:read"}, read().Scopes)
	}
	require.Equal(t, 5, o.loads)
	require.Equal(t, 1, forged)

	// The row is always older than the events, which change between any two reads: no contradiction.
	o.changed = func() { o.version++ }
	o.row.Scopes = append(o.row.Scopes, "usage:read")
	require.Equal(t, []string{"videos:read"}, read().Scopes)
	require.Equal(t, 1, forged)
}

// TestAnOldRowIsNotRemembered: the row changed while it was compared. The old one must not pass for the new one.
func TestAnOldRowIsNotRemembered(t *testing.T) {
	t.Parallel()
	o, forged := newOneKey(), 0
	now := time.Unix(100, 0)
	p := Prove(o, o, func(*eventstore.ForgedError) { forged++ }, func() time.Time { return now })
	old := o.row
	revoked := old
	revoked.RevokedAt = &now
	o.state.Keys = map[string]account.Key{"key_1": revoked}
	o.changed = func() { o.row = revoked } // the row that was read first is older than the events
	for range 2 {
		k, found, err := p.Key(t.Context(), "hash")
		require.NoError(t, err)
		require.True(t, found)
		require.NotNil(t, k.RevokedAt)
	}
	require.Zero(t, forged)
	o.row, o.changed = old, nil
	k, _, err := p.Key(t.Context(), "hash")
	require.NoError(t, err)
	require.NotNil(t, k.RevokedAt)
	require.Equal(t, 1, forged)
}

func TestTheRememberedRowsAreBounded(t *testing.T) {
	t.Parallel()
	o := newOneKey()
	p := Prove(o, o, nil, time.Now).(*proven)
	for range 2 {
		for n := range mostProven + 10 {
			o.row.ID = "key_" + time.Unix(int64(n), 0).UTC().Format(time.RFC3339)
			o.state.Keys = map[string]account.Key{o.row.ID: o.row}
			_, _, err := p.Key(t.Context(), "hash")
			require.NoError(t, err)
		}
		require.LessOrEqual(t, len(p.keys.known), mostProven)
	}
}

// BenchmarkProvenKey measures the comparison of a remembered row.
func BenchmarkProvenKey(b *testing.B) {
	o := newOneKey()
	now := time.Now()
	p := Prove(o, o, nil, func() time.Time { return now })
	b.ReportAllocs()
	for b.Loop() {
		if _, found, err := p.Key(b.Context(), "hash"); err != nil || !found {
			b.Fatal(err)
		}
	}
}
