package ffmpegtest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/intake/ffmpeg"
)

// found is shared by the tests of a binary, because finding ffmpeg starts it four times.
var found = sync.OnceValues(func() (*ffmpeg.Runner, error) { return ffmpeg.New(context.Background()) })

// Runner returns the runner. It fails the test when no usable ffmpeg is in PATH.
func Runner(t testing.TB) *ffmpeg.Runner {
	t.Helper()
	r, err := found()
	require.NoError(t, err)
	return r
}
