package objects

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func TestPutStoresAWholeObjectOrNone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := RecordingKey("st_1", "part-000001.h264")
	read := func() string {
		r, err := s.Reader(t.Context(), key)
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		return string(b)
	}
	require.NoError(t, s.Put(t.Context(), key, "video/h264", strings.NewReader("first"), 5))
	require.Equal(t, "first", read())

	broken := io.MultiReader(strings.NewReader("sec"), failing{})
	require.ErrorIs(t, s.Put(t.Context(), key, "video/h264", broken, 6), errBroken)
	require.Error(t, s.Put(t.Context(), key, "video/h264", strings.NewReader("sec"), 6), "too short")
	require.Error(t, s.Put(t.Context(), key, "video/h264", strings.NewReader("second"), 5), "too long")
	require.Equal(t, "first", read())

	require.NoError(t, s.Put(t.Context(), key, "video/h264", strings.NewReader("second"), 6))
	require.Equal(t, "second", read())
}

func TestDeleteRecordingRemovesEveryObjectOfTheStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	keys := []string{RecordingKey("st_1", "part-000001.h264"), RecordingKey("st_1", "video.mp4"), RecordingKey("st_10", "video.mp4"), VideoKey("st_1")}
	for _, key := range keys {
		require.NoError(t, s.Put(t.Context(), key, "video/h264", strings.NewReader("bytes"), 5))
	}
	for range 2 { // the second time there is nothing to delete
		require.NoError(t, s.DeleteRecording(t.Context(), "st_1"))
	}
	for i, key := range keys {
		_, err := s.Stat(t.Context(), key)
		require.Equal(t, i < 2, fault.Has(err, fault.ResourceNotFound), key)
	}
	path, _ := s.LocalPath(strings.TrimSuffix(RecordingKey("st_1", ""), "/"))
	require.NoDirExists(t, path)
	for _, id := range []string{"", "../videos", "st_1/../st_10"} {
		require.True(t, fault.Has(s.DeleteRecording(t.Context(), id), fault.ResourceNotFound), "%q", id)
	}
	// A folder that is not mounted is not an empty store.
	require.NoError(t, os.RemoveAll(s.dir))
	require.True(t, fault.Has(s.DeleteRecording(t.Context(), "st_10"), fault.CapacityExhausted))
}

var errBroken = errors.New("broken")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }
