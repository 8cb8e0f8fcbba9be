package objects

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

const (
	mp4     = "video/mp4"
	videoID = "video_01HZZZZZZZZZZZZZZZZZZZZZZZ"
)

// site is a folder store behind a real server, with a clock that the test sets.
type site struct {
	*Store
	server *httptest.Server
	dir    string
	offset atomic.Int64 // nanoseconds added to the wall clock
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{dir: t.TempDir()}
	// The store needs the address, which is known when the server listens.
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	var err error
	s.Store, err = Open(t.Context(), Options{
		Dir:        s.dir,
		PublicURL:  s.server.URL + "/",
		SigningKey: []byte(strings.Repeat("k", 32)),
		Now:        func() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) },
		WriteError: writeError,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func writeError(w http.ResponseWriter, _ *http.Request, err error) {
	f := fault.Of(err)
	if f == nil {
		f = fault.New(fault.InternalError, err.Error())
	}
	status := fault.Lookup(f.Code).Status
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": f.Code, "message": f.Message, "status": status}})
}

func (s *site) uploadURL(t *testing.T, maxBytes int64) Signed {
	t.Helper()
	signed, err := s.UploadURL(t.Context(), UploadKey(videoID), mp4, maxBytes, SignedURLLife)
	require.NoError(t, err)
	return signed
}

// reply holds the parts of a response that tests check.
type reply struct {
	status int
	code   string // of the error envelope
	body   string
	header http.Header
}

func do(t *testing.T, method, url string, header map[string]string, body io.Reader) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	out := reply{status: resp.StatusCode, body: string(raw), header: resp.Header}
	var envelope struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(raw, &envelope) == nil {
		out.code = envelope.Error.Code
	}
	return out
}

// put sends body with the upload's own headers.
func put(t *testing.T, u Signed, body io.Reader) reply {
	t.Helper()
	return do(t, u.Method, u.URL, u.Headers, body)
}

// files lists every file in the folder of the store, unfinished files too, without
// the mark of the folder.
func (s *site) files(t *testing.T) []string {
	t.Helper()
	names := []string{}
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == markName {
			return err
		}
		rel, err := filepath.Rel(s.dir, path)
		names = append(names, rel)
		return err
	}))
	return names
}

func readAll(t *testing.T, s *Store, key string) string {
	t.Helper()
	r, err := s.Reader(context.Background(), key)
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(raw)
}

// age sets the modification time of a key's file back.
func (s *site) age(t *testing.T, name string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	require.NoError(t, os.Chtimes(filepath.Join(s.dir, name), then, then))
}
