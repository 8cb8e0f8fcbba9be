package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestByteCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ByteCount{
		"0": 0, "1": 1, "1500": 1500, "1KiB": 1 << 10, "500MiB": 500 << 20, "100GiB": 100 << 30, "2TiB": 2 << 40, " 3 GiB ": 3 << 30,
	} {
		var b, again ByteCount
		require.NoError(t, b.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, b, text)
		require.NoError(t, again.UnmarshalText([]byte(b.String())))
		require.Equal(t, b, again, "a printed size can be set")
	}
	for _, text := range []string{"", "GiB", "-1", "1.5GiB", "10GB", "x", "9999999999TiB", "9223372036854775808"} {
		var b ByteCount
		require.ErrorContains(t, b.UnmarshalText([]byte(text)), "is not a size", text)
	}
	require.Equal(t, "1GiB", ByteCount(1<<30).String())
}
