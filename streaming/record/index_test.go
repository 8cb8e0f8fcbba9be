package record_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/streaming/record"
)

func TestIndexKeepsTimesAndSizes(t *testing.T) {
	t.Parallel()
	entries := []record.Entry{{Time: 900_000, Size: 4 << 20}, {Time: 903_000, Size: 1}, {Time: 901_500, Size: 300}, {Time: 90_000 * 86_400, Size: 17}}
	b := record.FormatIndex(entries)
	got, err := record.ParseIndex(b)
	require.NoError(t, err)
	require.Equal(t, entries, got)
	for i := range b {
		got, err := record.ParseIndex(b[:i])
		require.True(t, err != nil || len(got) < len(entries), "cut after %d bytes", i)
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add(record.FormatIndex([]record.Entry{{Time: 0, Size: 1}, {Time: 3000, Size: 4 << 20}, {Time: 1500, Size: 2}}))
	f.Add([]byte("VQAIDX1\n"))
	f.Add([]byte("VQAIDX1\n\x00\x00"))
	f.Add(append([]byte("VQAIDX1\n\x01"), bytes.Repeat([]byte{0xff}, 9)...))
	f.Add([]byte("VQAIDX2\n\x01\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := record.ParseIndex(b)
		if err != nil {
			return
		}
		require.NotEmpty(t, entries)
		require.LessOrEqual(t, len(entries), 4096)
		for _, e := range entries {
			require.True(t, e.Size > 0 && e.Size <= 4<<20 && e.Time >= 0, "%+v", e)
		}
		again, err := record.ParseIndex(record.FormatIndex(entries))
		require.NoError(t, err)
		require.Equal(t, entries, again)
	})
}
