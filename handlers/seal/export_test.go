package seal

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sizes returns the sizes of the anchored checkpoints of a log.
func Sizes(t testing.TB, files Files, log int64) []int64 {
	t.Helper()
	names, err := files.List(t.Context(), logName(checkpointsFolder, log), "")
	require.NoError(t, err)
	var sizes []int64
	for _, name := range names {
		size, err := strconv.ParseInt(name, 10, 64)
		require.NoError(t, err)
		sizes = append(sizes, size)
	}
	return sizes
}
