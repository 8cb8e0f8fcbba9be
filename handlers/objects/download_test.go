package objects

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDownload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.Equal(t, 200, put(t, s.uploadURL(t, 100), strings.NewReader("0123456789")).status)
	u, err := s.DownloadURL(t.Context(), UploadKey(videoID), `../Fête "1".mp4`, mp4, SignedURLLife)
	require.NoError(t, err)

	whole := do(t, http.MethodGet, u.URL, nil, nil)
	require.Equal(t, 200, whole.status)
	require.Equal(t, "0123456789", whole.body)
	require.Equal(t, mp4, whole.header.Get("Content-Type"))
	require.Equal(t, "nosniff", whole.header.Get("X-Content-Type-Options"))
	require.Equal(t, "bytes", whole.header.Get("Accept-Ranges"))
	require.Equal(t, "*", whole.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "inline; filename*=utf-8''F%C3%AAte%201.mp4", whole.header.Get("Content-Disposition"))
	etag := whole.header.Get("ETag")
	require.NotEmpty(t, etag)

	cases := []struct {
		name   string
		method string
		header map[string]string
		status int
		body   string
		rng    string
	}{
		{"head", http.MethodHead, nil, 200, "", ""},
		{"range", http.MethodGet, map[string]string{"Range": "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		{"last bytes", http.MethodGet, map[string]string{"Range": "bytes=-2"}, 206, "89", "bytes 8-9/10"},
		{"range while unchanged", http.MethodGet, map[string]string{"Range": "bytes=0-0", "If-Range": etag}, 206, "0", "bytes 0-0/10"},
		{"range of another version", http.MethodGet, map[string]string{"Range": "bytes=0-0", "If-Range": `"old"`}, 200, "0123456789", ""},
		{"unchanged", http.MethodGet, map[string]string{"If-None-Match": etag}, 304, "", ""},
		{"range outside", http.MethodGet, map[string]string{"Range": "bytes=50-60"}, 416, "invalid range: failed to overlap\n", "bytes */10"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := do(t, c.method, u.URL, c.header, nil)
			require.Equal(t, c.status, got.status)
			require.Equal(t, c.body, got.body)
			require.Equal(t, c.rng, got.header.Get("Content-Range"))
		})
	}

	t.Run("replaced bytes have another ETag", func(t *testing.T) {
		require.Equal(t, 200, put(t, s.uploadURL(t, 100), strings.NewReader("9876543210")).status)
		again := do(t, http.MethodGet, u.URL, map[string]string{"If-None-Match": etag}, nil)
		require.Equal(t, 200, again.status)
		require.Equal(t, "9876543210", again.body)
	})
	t.Run("absent", func(t *testing.T) {
		gone, err := s.DownloadURL(t.Context(), VideoKey(videoID), "", mp4, time.Hour)
		require.NoError(t, err)
		got := do(t, http.MethodGet, gone.URL, nil, nil)
		require.Equal(t, "resource_not_found", got.code)
		require.Equal(t, 404, got.status)
	})
	t.Run("a folder", func(t *testing.T) {
		folder, err := s.DownloadURL(t.Context(), "uploads", "", mp4, time.Hour)
		require.NoError(t, err)
		require.Equal(t, 404, do(t, http.MethodGet, folder.URL, nil, nil).status)
	})
}

// TestPreflight: a browser sends OPTIONS before its PUT, although the URL is signed for PUT.
func TestPreflight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	got := do(t, http.MethodOptions, s.uploadURL(t, 10).URL, map[string]string{
		"Origin": "https://app.example", "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type",
	}, nil)
	require.Equal(t, 204, got.status)
	require.Equal(t, "*", got.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, got.header.Get("Access-Control-Allow-Methods"), "PUT")
	require.Contains(t, got.header.Get("Access-Control-Allow-Headers"), "Content-Type")
	require.Contains(t, got.header.Get("Access-Control-Expose-Headers"), "ETag")
}
