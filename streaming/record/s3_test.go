package record_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"vqa/handlers/objects"
	"vqa/streaming/record"
)

// TestRecordsIntoS3 is not parallel, because the S3 client reads its credentials from the environment.
func TestRecordsIntoS3(t *testing.T) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("videos"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "test-id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	store, err := objects.Open(t.Context(), objects.Options{
		URL: "s3://videos?region=us-east-1&use_path_style=true&response_checksum_validation=when_required&endpoint=" + url.QueryEscape(server.URL),
		Now: time.Now, PublicURL: "http://localhost", SigningKey: make([]byte, 32), WriteError: func(http.ResponseWriter, *http.Request, error) {},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	b := &bucket{Store: store, before: func(context.Context, string, string) error { return nil }}
	s := newSession(t, b, record.Options{PartBytes: 20_000})
	pictures := scene(t)
	for _, p := range pictures {
		s.Push(p)
	}
	require.NoError(t, s.Close(t.Context()))
	for range 2 { // the second time, there is nothing left to do
		require.NoError(t, s.finish(t))
		requireFinished(t, s, pictures)
	}
	require.NoError(t, b.DeleteRecording(t.Context(), "st_1"))
	require.False(t, b.has(t, record.H264Key(s.folder)))
	require.False(t, b.has(t, record.MP4Key(s.folder)))
}
