package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goneWithin bounds the time until deleted content is removed (docs/architecture.md).
const goneWithin = time.Minute

// TestDeletedContentGoes deletes videos in all the ways that once failed, and checks the files of the
// object store. The parts share one service. Each part has its own account.
func TestDeletedContentGoes(t *testing.T) {
	t.Parallel()
	s := ownService(t, "VQA_ARTIFACTS=false", "VQA_DEMO=false")
	t.Run("object folder gone", func(t *testing.T) { loseObjects(t, s) })
	t.Run("killed", func(t *testing.T) { killInDelete(t, s) })
	t.Run("leftovers of a kill between any two steps", func(t *testing.T) { plantLeftovers(t, s) })
}

// requireNoFiles waits until no file of these videos is left. The empty mark of a closed upload may
// stay.
func requireNoFiles(t *testing.T, s *service, ids ...string) {
	t.Helper()
	began := time.Now()
	var left []string
	gone := poll(goneWithin, func() bool {
		left = nil
		err := filepath.WalkDir(filepath.Join(s.dir, "objects"), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".closed") {
				return nil //nolint:nilerr // the file may be deleted meanwhile
			}
			for _, id := range ids {
				if strings.Contains(path, id) {
					left = append(left, path)
				}
			}
			return nil
		})
		return err == nil && len(left) == 0
	})
	require.True(t, gone, "still there after %s: %v", goneWithin, left)
	t.Logf("gone after %s", time.Since(began).Round(10*time.Millisecond))
}

// killInDelete kills at random moments of completing and deleting.
func killInDelete(t *testing.T, s *service) {
	c := s.account(t, 100)
	data := clipBytes(t, signsClip)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	var ids []string
	for range 5 {
		id, put := c.upload(t, data)
		require.Equal(t, http.StatusOK, put.status, "%s", put.raw)
		ids = append(ids, id)
		request := func(method, path string) {
			req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.addr+path, nil)
			if err == nil {
				req.Header.Set("Authorization", "Bearer "+c.key.APIKey)
				_, _ = exchange(req) // the service is killed during the request
			}
		}
		var both sync.WaitGroup
		both.Go(func() { request(http.MethodPost, "/v1/videos/"+id+"/complete") })
		pause := time.Duration(r.Int64N(int64(200 * time.Millisecond)))
		both.Go(func() { <-time.After(pause); request(http.MethodDelete, "/v1/videos/"+id) })
		<-time.After(time.Duration(r.Int64N(int64(400 * time.Millisecond))))
		s.kill()
		both.Wait()
		require.NoError(t, s.start())
		again := c.call(t, http.MethodDelete, "/v1/videos/"+id, nil)
		require.Contains(t, []int{http.StatusOK, http.StatusNotFound}, again.status, "%s", again.raw)
	}
	requireNoFiles(t, s, ids...)
	requirePurged(t, s, ids...)
}

// requirePurged waits until the log says that the bytes of these videos are gone.
func requirePurged(t *testing.T, s *service, ids ...string) {
	t.Helper()
	require.True(t, pollEvery(time.Second, goneWithin, func() bool {
		for _, id := range ids {
			if !strings.Contains(string(s.tool(t, "events", "list", "--stream", "video/"+id)), "video.purged") {
				return false
			}
		}
		return true
	}))
}

// loseObjects moves the folder of the object store away. The service says which part is down, keeps a
// deletion, and carries it out when the folder is back.
func loseObjects(t *testing.T, s *service) {
	c := s.account(t, 100)
	id := c.readyVideo(t, clip(t, signsClip))
	folder := filepath.Join(s.dir, "objects")
	require.NoError(t, os.Rename(folder, folder+".away"))
	health := &apiClient{service: s}
	var down answer
	require.True(t, poll(time.Minute, func() bool {
		down = health.call(t, http.MethodGet, "/readyz", nil)
		return down.status == http.StatusServiceUnavailable
	}))
	require.Equal(t, "failed", down.text("error.details.checks.objects"), "%s", down.raw)
	require.Equal(t, "failed", down.text("error.details.checks.storage"), "%s", down.raw)
	require.Equal(t, "ok", down.text("error.details.checks.database"), "%s", down.raw)
	require.Equal(t, http.StatusOK, c.call(t, http.MethodDelete, "/v1/videos/"+id, nil).status)
	require.NoError(t, os.Rename(folder+".away", folder))
	require.True(t, poll(time.Minute, func() bool { return health.call(t, http.MethodGet, "/readyz", nil).status == http.StatusOK }))
	requireNoFiles(t, s, id)
	requirePurged(t, s, id)
}

// plantLeftovers creates the files that a killed process leaves behind, for a deleted video and for
// an existing one.
func plantLeftovers(t *testing.T, s *service) {
	c := s.account(t, 100)
	deleted, kept := c.readyVideo(t, clip(t, signsClip)), c.readyVideo(t, clip(t, signsClip))
	require.Equal(t, http.StatusOK, c.call(t, http.MethodDelete, "/v1/videos/"+deleted, nil).status)
	requireNoFiles(t, s, deleted)
	s.kill()
	for _, name := range []string{
		"uploads/%s", "uploads/%s.1a2b.tmp", "videos/%s", "videos/%s.0123456789abcdef", "videos/%s.1", "videos/%s.2.1a2b.tmp",
		"surveys/%s", "surveys/%s.1a2b.tmp", "artifacts/%s/an_1.1.mp4", "artifacts/%s/an_1.1.png.1a2b.tmp",
	} {
		path := filepath.Join(s.dir, "objects", filepath.FromSlash(fmt.Sprintf(name, deleted)))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("left behind"), 0o600))
	}
	waste := filepath.Join(s.dir, "objects", "videos", kept+".7")
	require.NoError(t, os.WriteFile(waste, []byte("a late attempt"), 0o600))
	require.NoError(t, s.start())
	requireNoFiles(t, s, deleted)
	require.True(t, poll(goneWithin, func() bool { _, err := os.Stat(waste); return os.IsNotExist(err) }))
	media, err := http.Get(c.call(t, http.MethodGet, "/v1/videos/"+kept, nil).text("media.url"))
	require.NoError(t, err)
	require.NoError(t, media.Body.Close())
	require.Equal(t, http.StatusOK, media.StatusCode, "an existing video stays")
}
