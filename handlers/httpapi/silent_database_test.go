package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/eventstore/embedded"
	"vqa/migrations"
)

// lastWord is the time within which a caller must get a response.
const lastWord = 5 * time.Second

// ownServer is a Postgres that no other test uses.
type ownServer struct {
	t   *testing.T
	url string
	// data is its data folder.
	data string
}

func newServerOfItsOwn(t *testing.T) *ownServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "vqa-silent-") //nolint:usetesting // only its owner can enter a folder of t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755)) // Postgres runs as another user when this is root
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Ephemeral: true, BinDir: os.Getenv("VQA_POSTGRES_BIN")})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = server.Close(ctx) // fails if the test killed the server
	})
	require.NoError(t, server.EnsureDatabase(t.Context(), "vqa"))
	s := &ownServer{t: t, url: server.URL("vqa")}
	require.NoError(t, migrations.Up(t.Context(), s.url))
	conn, err := pgx.Connect(t.Context(), s.url)
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(t.Context(), "show data_directory").Scan(&s.data))
	require.NoError(t, conn.Close(t.Context()))
	// A stopped process cannot end, so a failed test must let it continue.
	t.Cleanup(func() {
		if processes := s.processes(); len(processes) > 0 {
			s.send(processes, syscall.SIGKILL)
		}
	})
	return s
}

// signal sends a signal to every process of the server.
func (s *ownServer) signal(sig syscall.Signal) {
	s.t.Helper()
	processes := s.processes()
	require.Greater(s.t, len(processes), 1)
	s.send(processes, sig)
}

// freeze stops every process. Until the signal arrives, the postmaster may start more processes.
func (s *ownServer) freeze() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		s.signal(syscall.SIGSTOP)
		return !slices.ContainsFunc(s.processes(), func(pid int) bool {
			state, _ := stateOf(pid)
			return state != "T"
		})
	}, 10*time.Second, 10*time.Millisecond)
}

// processes returns the postmaster and its children, or none after it has ended.
func (s *ownServer) processes() []int {
	text, err := os.ReadFile(filepath.Join(s.data, "postmaster.pid"))
	if err != nil {
		return nil
	}
	postmaster, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(postmaster)
	if err != nil || syscall.Kill(pid, 0) != nil {
		return nil
	}
	return append([]int{pid}, childrenOf(postmaster)...)
}

// send signals the postmaster first. A child may have ended already.
func (s *ownServer) send(processes []int, sig syscall.Signal) {
	require.NoError(s.t, syscall.Kill(processes[0], sig))
	for _, child := range processes[1:] {
		_ = syscall.Kill(child, sig)
	}
}

func childrenOf(parent string) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if _, of := stateOf(pid); of == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stateOf reads the state and the parent of a process from proc(5). They are empty if it has
// ended.
func stateOf(pid int) (state, parent string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return "", ""
	}
	return fields[0], fields[1]
}

// request is one request and the headers it needs beside its key.
type request struct {
	method, path, body string
	headers            []string
}

// needTheDatabase has a request for each kind of first query: a key, a rate limit window, an
// account, an idempotency key, a public read.
func needTheDatabase(c *client) map[string]request {
	key := []string{"Authorization", "Bearer " + c.key.Secret}
	return map[string]request{
		"read":                  {http.MethodGet, "/v1/videos", "", key},
		"write":                 {http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`, key},
		"analysis":              {http.MethodPost, "/v1/analyses", `{"video_id": "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "prompt": "Is there a dog?"}`, key},
		"idempotent write":      {http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`, append([]string{"Idempotency-Key", "k"}, key...)},
		"unknown key":           {http.MethodGet, "/v1/credits", "", []string{"Authorization", "Bearer svc_live_unknown"}},
		"write without a key":   {http.MethodPost, "/v1/sandbox", "", nil},
		"read without a key":    {http.MethodGet, "/v1/keys/request/3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "", nil},
		"readiness":             {http.MethodGet, "/readyz", "", nil},
		"events of the account": {http.MethodGet, "/v1/events/stream", "", key},
	}
}

// allUnavailable sends all requests concurrently. Each must get db_unavailable in time.
func allUnavailable(t *testing.T, w *world, requests map[string]request) {
	t.Helper()
	var all sync.WaitGroup
	answers := map[string]*response{}
	for name, r := range requests {
		answer := &response{}
		answers[name] = answer
		all.Go(func() {
			began := time.Now()
			*answer = w.do(r.method, r.path, r.body, r.headers...)
			took := time.Since(began)
			t.Logf("%s: %d after %v", name, answer.StatusCode, took.Round(time.Millisecond))
			if took > lastWord {
				t.Errorf("%s took %v", name, took)
			}
		})
	}
	all.Wait()
	for name, answer := range answers {
		require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode, "%s: %s", name, answer.raw)
		w.refused(*answer, 503, fault.DBUnavailable, "")
		wait, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		require.NoError(t, err, name)
		require.Positive(t, wait, name)
	}
}

// TestAFrozenDatabaseIsReportedInTime stops every process of a working server: its sockets stay open
// and nothing responds. Then the server continues, and later it is killed.
func TestAFrozenDatabaseIsReportedInTime(t *testing.T) {
	t.Parallel()
	server := newServerOfItsOwn(t)
	w := openOn(t, server.url)
	c := w.customer(1000)
	videoID := c.ready()

	// Requests that run when the server freezes.
	frozen := make(chan struct{})
	var busy sync.WaitGroup
	for i := range 12 {
		busy.Go(func() {
			for n := 0; ; n++ {
				began := time.Now()
				method, path, body := http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`
				if i%2 == 0 {
					method, path, body = http.MethodGet, "/v1/videos/"+videoID, ""
				}
				got := c.do(method, path, body, "Idempotency-Key", fmt.Sprintf("busy-%d-%d", i, n))
				if got.StatusCode >= 300 && got.at("error.code") != string(fault.DBUnavailable) {
					t.Errorf("%s %s: %d %s", method, path, got.StatusCode, got.raw)
				}
				if took := time.Since(began); took > lastWord {
					t.Errorf("%s %s took %v", method, path, took)
				}
				select {
				case <-frozen:
					return
				default:
				}
			}
		})
	}
	server.freeze()
	close(frozen)
	busy.Wait()
	allUnavailable(t, w, needTheDatabase(c))
	require.Equal(t, http.StatusOK, w.do(http.MethodGet, "/healthz", "").StatusCode)

	server.signal(syscall.SIGCONT)
	require.Eventually(t, func() bool {
		return c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`).StatusCode == http.StatusCreated
	}, 30*time.Second, 100*time.Millisecond)

	server.signal(syscall.SIGKILL)
	allUnavailable(t, w, needTheDatabase(c))
}

// TestAPoolWithoutAFreeConnectionIsReportedInTime uses every connection of the pool.
func TestAPoolWithoutAFreeConnectionIsReportedInTime(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	for range w.pool.Config().MaxConns {
		conn, err := w.pool.Acquire(t.Context())
		require.NoError(t, err)
		t.Cleanup(conn.Release)
	}
	allUnavailable(t, w, needTheDatabase(c))
}
