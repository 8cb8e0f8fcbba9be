package streams

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/objects"
	"vqa/streaming/assemble"
	"vqa/streaming/record"
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

// TestARecordingWithoutAnMP4: while the MP4 may still come, the recording is not ready. Later it is shown without one.
func TestARecordingWithoutAnMP4(t *testing.T) {
	t.Parallel()
	now := time.Now()
	bucket, err := objects.Open(t.Context(), objects.Options{Dir: t.TempDir(), PublicURL: "http://x", SigningKey: make([]byte, 32), Now: time.Now, Log: slog.New(slog.DiscardHandler), WriteError: edge.WriteError})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	r := Recordings{Objects: bucket, Now: func() time.Time { return now }}
	ended := now
	st := stream.State{ID: "st_1", EndedAt: &ended}
	put := func(key string) {
		require.NoError(t, bucket.Put(t.Context(), key, "video/h264", strings.NewReader("x"), 1))
	}
	soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	put(record.H264Key(folder(st.ID)))
	_, err = r.await(soon, st)
	require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)
	now = now.Add(mp4Patience + time.Second)
	mp4, err := r.await(t.Context(), st)
	require.NoError(t, err)
	require.False(t, mp4)
	put(record.MP4Key(folder(st.ID)))
	mp4, err = r.await(t.Context(), st)
	require.NoError(t, err)
	require.True(t, mp4)
}
