package objects

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// testAwaited reads an object that is made while its reader waits, an object that is never
// made, and one that exists.
func testAwaited(t *testing.T, s *Store) {
	key := ArtifactKey(videoID, "an_1.1.mp4")
	make10 := func() {
		w, err := s.Writer(t.Context(), key, mp4, 10)
		require.NoError(t, err)
		_, err = w.Write([]byte("0123456789"))
		require.NoError(t, err)
		require.NoError(t, w.Commit())
	}
	signed, err := s.AwaitedURL(key, "annotated.mp4", mp4, SignedURLLife)
	require.NoError(t, err)
	require.Contains(t, signed.URL, s.opt.PublicURL+Path+key)
	waits := 0
	s.opt.Await = func(_ context.Context, awaited string) error {
		waits++
		require.Equal(t, key, awaited)
		return nil
	}
	require.Equal(t, http.StatusNotFound, do(t, http.MethodGet, signed.URL, nil, nil).status, "the object is never made")

	s.opt.Await = func(context.Context, string) error { return fault.New(fault.CapacityExhausted, "").WithRetryAfter(5) }
	require.Equal(t, http.StatusServiceUnavailable, do(t, http.MethodGet, signed.URL, nil, nil).status)

	s.opt.Await = func(context.Context, string) error { waits++; make10(); return nil }
	got := do(t, http.MethodGet, signed.URL, map[string]string{"Range": "bytes=2-4"}, nil)
	require.Equal(t, http.StatusPartialContent, got.status)
	require.Equal(t, "234", got.body)
	require.Equal(t, 2, waits)

	whole := do(t, http.MethodGet, signed.URL, nil, nil)
	require.Equal(t, http.StatusOK, whole.status)
	require.Equal(t, "0123456789", whole.body)
	head := do(t, http.MethodHead, signed.URL, nil, nil)
	require.Equal(t, http.StatusOK, head.status)
	require.Equal(t, "10", head.header.Get("Content-Length"))
	require.Equal(t, mp4, head.header.Get("Content-Type"))
	require.Empty(t, head.body)
	require.Equal(t, 2, waits, "a reader of an existing object does not wait")

	u, err := url.Parse(signed.URL)
	require.NoError(t, err)
	args := u.Query()
	args.Del(argAwaited)
	u.RawQuery = args.Encode()
	require.Equal(t, fault.Lookup(fault.InsufficientScope).Status, do(t, http.MethodGet, u.String(), nil, nil).status, "the signature covers it")
	late, err := s.AwaitedURL(key, "", mp4, -time.Second)
	require.NoError(t, err)
	require.Equal(t, fault.Lookup(fault.TokenExpired).Status, do(t, http.MethodGet, late.URL, nil, nil).status)
	_, err = s.AwaitedURL("../etc/passwd", "", mp4, time.Hour)
	require.True(t, fault.Has(err, fault.ResourceNotFound))
}
