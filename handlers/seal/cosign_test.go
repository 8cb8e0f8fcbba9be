package seal_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/translog"
	"vqa/handlers/seal"
	"vqa/handlers/witness"
	"vqa/handlers/witness/witnesstest"
)

// witnessed configures witnesses by their settings.
func witnessed(t testing.TB, quorum int, settings ...string) func(*seal.Options) {
	t.Helper()
	return func(o *seal.Options) {
		for _, text := range settings {
			setting, err := witness.ParseSetting(text)
			require.NoError(t, err)
			o.Witnesses = append(o.Witnesses, witness.New(setting, http.DefaultTransport))
			o.Anchors.Witnesses = append(o.Anchors.Witnesses, setting.Key)
		}
		o.Quorum = quorum
	}
}

// newWitness starts a witness of the logs of key a.
func newWitness(t testing.TB, name string) (w *witnesstest.Witness, setting string) {
	t.Helper()
	w = witnesstest.New(name, public(keyOf("a")))
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	return w, w.VerifierKey() + "@" + server.URL
}

func keyOfWitness(t testing.TB, setting string) translog.Witness {
	t.Helper()
	s, err := witness.ParseSetting(setting)
	require.NoError(t, err)
	return s.Key
}

func TestWitnessesCosign(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, one := newWitness(t, "one.example")
	two, second := newWitness(t, "two.example")
	options := witnessed(t, 2, one, second)
	s := w.sealer(options)
	w.seals(s)
	w.buy(w.account, 1)
	head := w.seals(w.sealer(options)) // a node that does not know what the witnesses know
	w.buy(w.account, 1)
	w.seals(s)
	require.EqualValues(t, s.Newest().Checkpoint.Size, two.Size("vqa.example/ledger"))

	// The served checkpoints have the cosignatures, also on a node that did not ask.
	other := w.sealer(options)
	w.seals2(other)
	older, err := other.ReadCheckpoint(t.Context(), 1, head.Checkpoint.Size)
	require.NoError(t, err)
	for _, setting := range []string{one, second} {
		for _, served := range [][]byte{older, other.NewestCheckpoint(), s.NewestCheckpoint()} {
			at, err := keyOfWitness(t, setting).Cosigned(served)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), at, time.Minute)
			_, _, err = translog.OpenCheckpoint(served, public(keyOf("a")))
			require.NoError(t, err)
		}
	}
	before := two.Asked()
	w.seals2(other)
	require.Equal(t, before, two.Asked(), "a cosigned checkpoint is not sent again")
	none, err := other.ReadCheckpoint(t.Context(), 1, 2)
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, other.FullAudit(t.Context()))
	w.requireOneHistory(1)
}

// TestAWitnessIsAway: sealing goes on without a quorum, and waits with one.
func TestAWitnessIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	away, setting := newWitness(t, "away.example")
	away.Fail(http.StatusServiceUnavailable)
	s := w.sealer(witnessed(t, 0, setting))
	w.seals(s)
	w.buy(w.account, 1)
	w.seals(s)
	require.NoError(t, s.Unwitnessed(), "a short outage is no alarm")
	w.skip(6 * time.Minute)
	w.seals2(s)
	require.ErrorContains(t, s.Unwitnessed(), "1 of 1 witnesses do not cosign: away.example")
	require.Empty(t, s.Newest().Cosigned)

	strict := w.sealer(witnessed(t, 1, setting))
	w.buy(w.account, 1)
	sealed, err := strict.Pass(t.Context())
	require.ErrorIs(t, err, seal.ErrUnwitnessed)
	require.False(t, sealed)
	require.Len(t, w.checkpoints(1), 2, "nothing is signed without the quorum")
	w.skip(6 * time.Minute)
	require.ErrorIs(t, strict.Unsealed(), seal.ErrUnwitnessed)

	asked := away.Asked()
	_, err = strict.Pass(t.Context())
	require.ErrorIs(t, err, seal.ErrUnwitnessed)
	_, err = strict.Pass(t.Context())
	require.ErrorIs(t, err, seal.ErrUnwitnessed)
	require.Equal(t, asked+1, away.Asked(), "a witness that failed is asked again after a pause")
	away.Fail(0)
	w.skip(time.Minute)
	w.seals(strict)
	require.NoError(t, strict.Unwitnessed())
	require.NoError(t, strict.Unsealed())
	w.skip(time.Minute)
	w.seals2(s)
	require.NoError(t, s.Unwitnessed(), "the other node reads the cosignature")
	require.Len(t, s.Newest().Cosigned, 1)
}

// TestWitnessRefusesAnotherHistory: somebody with the key, the database and the object store begins the same log
// again. Its first checkpoint is signed before a witness is asked, and then nothing more.
func TestWitnessRefusesAnotherHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, setting := newWitness(t, "witness.example")
	for range 10 {
		w.buy(w.account, 1)
	}
	genuine := w.seals(w.sealer(witnessed(t, 0, setting)))
	for name, events := range map[string]int{"shortened": 1, "forked": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := newWorld(t)
			for range events {
				again.buy(again.account, 1)
			}
			s := again.sealer(witnessed(t, 0, setting))
			for range 2 {
				_, err := s.Pass(t.Context())
				var found *seal.Finding
				require.ErrorAs(t, err, &found)
				require.Contains(t, found.Problem, "the log was "+name)
				require.Equal(t, found, s.Found())
				again.buy(again.account, 1)
			}
			_, err := again.sealer(witnessed(t, 0, setting)).Pass(t.Context())
			require.ErrorAs(t, err, new(*seal.Finding), "a node that starts asks, too")
			require.Len(t, again.checkpoints(1), 1)
		})
	}
	t.Run("a restart has another origin", func(t *testing.T) {
		s := w.sealer(witnessed(t, 1, setting))
		w.seals2(s)
		_, err := s.Restart(t.Context(), seal.Operator{Name: "ada", Reason: "a test"})
		require.NoError(t, err)
		restarted := w.seals(s)
		require.Equal(t, "vqa.example/ledger/2", restarted.Checkpoint.Origin)
		require.Len(t, s.Newest().Cosigned, 1)
		require.NotEqual(t, genuine.Checkpoint, restarted.Checkpoint)
	})
}

// TestSealersShareWitnesses lets nodes seal at the same time. None takes the progress of another for a fork.
func TestSealersShareWitnesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, setting := newWitness(t, "witness.example")
	options := witnessed(t, 0, setting)
	ctx, stop := context.WithCancel(t.Context())
	var sealing sync.WaitGroup
	for range 3 {
		sealing.Go(func() {
			for s := w.sealer(options); ctx.Err() == nil; {
				if _, err := s.Pass(t.Context()); err != nil && !errors.Is(err, seal.ErrRival) {
					t.Errorf("a pass failed: %v", err)
					return
				}
			}
		})
	}
	for range 60 {
		w.buy(w.account, 1)
	}
	stop()
	sealing.Wait()
	last := w.sealer(options)
	_, err := last.Pass(t.Context())
	require.NoError(t, err)
	require.Len(t, last.Newest().Cosigned, 1)
	w.requireOneHistory(1)
}
