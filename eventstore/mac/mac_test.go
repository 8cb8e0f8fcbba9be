package mac_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/mac"
)

var (
	oldKey = bytes.Repeat([]byte{1}, mac.KeyBytes)
	newKey = bytes.Repeat([]byte{2}, mac.KeyBytes)
)

func keys(t *testing.T, installation string, newest []byte, older ...[]byte) *mac.Keys {
	t.Helper()
	k, err := mac.New(installation, newest, older...)
	require.NoError(t, err)
	return k
}

func event() codec.Encoded {
	return codec.Encoded{
		Stream: eventstore.StreamID{Category: "credit", ID: "acct_1"}, Version: 7, Type: "credit.granted",
		Data: []byte(`{"seconds":60}`), AccountID: "acct_1", Meta: []byte(`{"actor":"x"}`), Chain: eventstore.Chain{9},
	}
}

// TestEachFieldIsCovered changes one field after another.
func TestEachFieldIsCovered(t *testing.T) {
	t.Parallel()
	k := keys(t, "one", newKey)
	sum := k.Event(event())
	require.Len(t, sum, mac.Size)
	require.NoError(t, k.CheckEvent(event(), sum))
	for name, change := range map[string]func(*codec.Encoded){
		"category": func(e *codec.Encoded) { e.Stream.Category = "video" },
		"id":       func(e *codec.Encoded) { e.Stream.ID = "acct_2" },
		"version":  func(e *codec.Encoded) { e.Version++ },
		"type":     func(e *codec.Encoded) { e.Type = "credit.held" },
		"data":     func(e *codec.Encoded) { e.Data = []byte(`{"seconds":61}`) },
		"account":  func(e *codec.Encoded) { e.AccountID = "acct_2" },
		"meta":     func(e *codec.Encoded) { e.Meta = []byte(`{}`) },
		"chain":    func(e *codec.Encoded) { e.Chain[31]++ },
		"borders":  func(e *codec.Encoded) { e.Type, e.AccountID = "credit.granteda", "cct_1" },
	} {
		e := event()
		change(&e)
		require.ErrorIs(t, k.CheckEvent(e, sum), mac.ErrInvalid, name)
	}
	for i := range sum {
		altered := bytes.Clone(sum)
		altered[i] ^= 1
		require.Error(t, k.CheckEvent(event(), altered), "byte %d", i)
	}
	require.ErrorIs(t, k.CheckEvent(event(), nil), mac.ErrMissing)
	require.ErrorIs(t, k.CheckEvent(event(), sum[1:]), mac.ErrInvalid)
}

func TestARowOfAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	sum := keys(t, "one", newKey).Event(event())
	require.ErrorIs(t, keys(t, "two", newKey).CheckEvent(event(), sum), mac.ErrUnknownKey)
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	before := keys(t, "one", oldKey)
	sum := before.Event(event())
	both := keys(t, "one", newKey, oldKey)
	require.NoError(t, both.CheckEvent(event(), sum))
	again := both.Event(event())
	require.NotEqual(t, sum, again)
	require.ErrorIs(t, before.CheckEvent(event(), again), mac.ErrUnknownKey, "the newest key computes")
	require.ErrorIs(t, keys(t, "one", newKey).CheckEvent(event(), sum), mac.ErrUnknownKey)
}

func TestSnapshotsAreCovered(t *testing.T) {
	t.Parallel()
	k, e := keys(t, "one", newKey), event()
	state := k.Snapshot(e.Stream, e.Version, e.Chain, []byte(`{"posted":1}`))
	require.NoError(t, k.CheckSnapshot(e.Stream, e.Version, e.Chain, []byte(`{"posted":1}`), state))
	require.ErrorIs(t, k.CheckSnapshot(e.Stream, e.Version, e.Chain, []byte(`{"posted":9}`), state), mac.ErrInvalid)
	require.ErrorIs(t, k.CheckSnapshot(e.Stream, e.Version-1, e.Chain, []byte(`{"posted":1}`), state), mac.ErrInvalid)
	require.ErrorIs(t, k.CheckSnapshot(e.Stream, e.Version, e.Chain, e.Data, k.Event(e)), mac.ErrInvalid, "the MAC of another kind of row")
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := mac.New("", newKey)
	require.Error(t, err)
	_, err = mac.New("one", newKey[1:])
	require.Error(t, err)
	_, err = mac.New("one", newKey, nil)
	require.Error(t, err)
}

func BenchmarkEvent(b *testing.B) {
	k, err := mac.New("one", newKey)
	require.NoError(b, err)
	e := event()
	e.Data = bytes.Repeat([]byte("x"), 500)
	for b.Loop() {
		k.Event(e)
	}
}
