package codec_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/credit"
	"vqa/eventstore/codec"
)

// held returns the event of a hold of 1 second.
func held(source string) credit.Held {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	return credit.Held{
		AccountID: "acct_1", HoldID: "hold_" + source, Seconds: 1, SourceType: credit.SourceAnalysis, SourceID: source,
		ExpiresAt: at.Add(time.Hour), At: at,
	}
}

// TestMarshalState compares with encoding/json while holds come and go.
func TestMarshalState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := credit.Evolve(credit.State{}, credit.Granted{AccountID: "acct_1", Kind: credit.SignupGrant, Seconds: 100})
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			source := rapid.SampledFrom([]string{"an_1", "an_2", "<an>", "an_\"4"}).Draw(t, "source")
			if _, open := s.Holds.Get(source); open {
				s = credit.Evolve(s, credit.Released{SourceID: source, Seconds: 1})
			} else {
				s = credit.Evolve(s, held(source))
			}
			want, err := json.Marshal(s)
			require.NoError(t, err)
			got, err := codec.MarshalState(s)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		}
	})
	other, err := codec.MarshalState(struct {
		A int `json:"a"`
	}{1})
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(other))
}

// TestMarshalStateOfManyHolds encodes more holds than the cache keeps, from several
// goroutines.
func TestMarshalStateOfManyHolds(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for account := range 40 {
				var s credit.State
				for i := range 256 {
					s = credit.Evolve(s, held(fmt.Sprintf("an_%d_%d_%03d", g, account, i)))
				}
				for range 2 {
					got, err := codec.MarshalState(s)
					if err != nil {
						t.Error(err)
						return
					}
					var read credit.State
					if err := json.Unmarshal(got, &read); err != nil || !read.Holds.Equal(s.Holds) {
						t.Errorf("read %v, error %v", read.Holds.Len(), err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
