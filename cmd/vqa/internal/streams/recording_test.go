package streams

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/streaming/assemble"
)

// tape counts the bytes that it gets.
type tape struct{ got []int }

func (t *tape) Push(p assemble.Picture)   { t.got = append(t.got, len(p.Data)) }
func (*tape) Close(context.Context) error { return nil }

// TestARecordingEndsAtItsQuota: the pictures after the first one without room are left out.
func TestARecordingEndsAtItsQuota(t *testing.T) {
	t.Parallel()
	kept := &tape{}
	told := 0
	b := &boundedRecorder{kept, 10, func(f *fault.Fault) {
		require.Equal(t, fault.QuotaExceeded, f.Code)
		told++
	}}
	for _, size := range []int{4, 6, 1, 0} {
		b.Push(assemble.Picture{Data: make([]byte, size)})
	}
	require.Equal(t, []int{4, 6}, kept.got)
	require.Equal(t, 1, told)
}
