package translog_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/translog"
)

// BenchmarkProofSize reports the bytes of the proof of a charge in logs of several sizes. The ids have the form of those
// that the service makes, and the origin is that of a service at video.example.
func BenchmarkProofSize(b *testing.B) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	began := time.Date(2026, 11, 23, 9, 0, 0, 123456000, time.UTC)
	charge := func(n int64) translog.Leaf {
		return translog.Leaf{
			Position: n + 1, RecordedAt: began.Add(time.Duration(n) * 37 * time.Microsecond), Version: n/5000 + 1,
			Stream: fmt.Sprintf("credit/acct_01JZ8Y5C3Q7R9T2V4W6X8Y%04d", n%5000), Chain: sha256.Sum256(fmt.Append(nil, n)),
		}
	}
	for _, size := range []int64{700, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d-leaves", size), func(b *testing.B) {
			hashes := make([]translog.Hash, size)
			for n := range size {
				hashes[n] = charge(n).Hash()
			}
			stored := files{}
			tree, tiles, err := translog.Grow(translog.EmptyTree(), stored.read, hashes)
			require.NoError(b, err)
			stored.write(tiles)
			signed, err := translog.Checkpoint{Origin: "video.example/ledger/lk_0123456789abcdef", Tree: tree}.Sign(key)
			require.NoError(b, err)
			index := size / 2
			proof := translog.Proof{Record: charge(index).Record(), Index: index, Checkpoint: signed}
			for b.Loop() {
				proof.Hashes, err = translog.ProveInclusion(tree, stored.read, index)
				require.NoError(b, err)
			}
			_, err = proof.Verify(nil, key.Public().(ed25519.PublicKey))
			require.NoError(b, err)
			b.ReportMetric(float64(len(proof.Format())), "bytes")
			b.ReportMetric(float64(len(proof.Hashes)), "hashes")
		})
	}
}
