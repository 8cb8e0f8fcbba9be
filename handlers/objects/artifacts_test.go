package objects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func TestArtifactsGoWithTheirVideo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	keys := []string{ArtifactKey("vid_1", "an_1.1.mp4"), ArtifactKey("vid_1", "an_2.1.png"), ArtifactKey("vid_10", "an_3.1.mp4"), VideoKey("vid_1")}
	for _, key := range keys {
		w, err := s.Writer(t.Context(), key, "video/mp4", 10)
		require.NoError(t, err)
		_, err = w.Write([]byte("drawn"))
		require.NoError(t, err)
		require.NoError(t, w.Commit())
	}
	for range 2 { // the second time there is nothing to delete
		require.NoError(t, s.deleteArtifacts(t.Context(), "vid_1"))
	}
	for i, key := range keys {
		_, err := s.Stat(t.Context(), key)
		if i < 2 {
			require.True(t, fault.Has(err, fault.ResourceNotFound), key)
		} else {
			require.NoError(t, err, key)
		}
	}
	for _, id := range []string{"", "../videos", "vid_1/../vid_10"} {
		require.True(t, fault.Has(s.deleteArtifacts(t.Context(), id), fault.ResourceNotFound), "%q", id)
	}
	_, err := s.Stat(t.Context(), keys[2])
	require.NoError(t, err)
}
