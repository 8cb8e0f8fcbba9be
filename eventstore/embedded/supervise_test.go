package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// notes is a log that several goroutines may write.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

func (n *notes) logger() *slog.Logger { return slog.New(slog.NewTextHandler(n, nil)) }

// supervise runs Supervise until the returned function is called, which also closes the server.
func supervise(t *testing.T, s *Server) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Supervise(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		<-done
		closeServer(t, s)
	})
}

// postmasterOf returns the process of the running server.
func postmasterOf(t *testing.T, c cluster) int {
	t.Helper()
	pm, ok, err := c.running()
	require.NoError(t, err)
	require.True(t, ok)
	return pm.pid
}

// restarted waits until the users of a server have logged this many finished restarts.
func restarted(t *testing.T, log *notes, times int) {
	t.Helper()
	waitUntil(t, "the restart", func() bool {
		return strings.Count(log.String(), "the embedded Postgres runs again") >= times
	})
}

func TestSupervisedServerIsRestarted(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, s *Server){
		"killed": func(t *testing.T, s *Server) {
			t.Helper()
			require.NoError(t, syscall.Kill(postmasterOf(t, s.cluster), syscall.SIGKILL))
		},
		"stopped": func(t *testing.T, s *Server) {
			t.Helper()
			require.NoError(t, s.cluster.pgCtl(t.Context(), s.bin, "stop", stopTimeout))
		},
		"killed in a long query": func(t *testing.T, s *Server) {
			t.Helper()
			// This process of the server outlives the postmaster: it looks for the end of its
			// postmaster only when it waits for its client.
			conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			var pid int
			require.NoError(t, conn.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&pid))
			ended := make(chan error, 1)
			go func() {
				_, err := conn.Exec(context.Background(), "do $$ begin loop end loop; end $$")
				ended <- err
			}()
			waitUntil(t, "the query", func() bool {
				state, err := query(t, s.URL("postgres"), "select state from pg_stat_activity where pid = "+strconv.Itoa(pid))
				return err == nil && state == "active"
			})
			require.NoError(t, syscall.Kill(postmasterOf(t, s.cluster), syscall.SIGKILL))
			t.Cleanup(func() { require.Error(t, <-ended, "the process of the query was ended") })
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &notes{}
			s := start(t, Options{Dir: folder(t), Log: log.logger()})
			finish := supervise(t, s)
			defer finish()
			mustQuery(t, s.URL("postgres"), "create table kept as select 'yes' as value")
			url := s.URL("postgres")

			end(t, s)
			restarted(t, log, 1)
			require.Equal(t, "yes", mustQuery(t, url, "select value from kept"), "the same port and data")
			finish()
			require.Contains(t, log.String(), "the embedded Postgres has ended; restarting it")
		})
	}
}

// Four processes and this one use the server. Each kill leads to one restart.
func TestOneOfManyUsersRestartsTheServer(t *testing.T) {
	t.Parallel()
	const users, kills = 4, 3
	dir := folder(t)
	log := &notes{}
	s := start(t, Options{Dir: dir, Log: log.logger()})
	finish := supervise(t, s)
	defer finish()
	var all []*guest
	for range users {
		all = append(all, startGuest(t, dir, func(cmd *exec.Cmd) {
			cmd.Env = append(cmd.Env, helperEnv+"_SUPERVISE=1")
			cmd.Stderr = log
		}))
	}
	for kill := range kills {
		require.NoError(t, syscall.Kill(postmasterOf(t, s.cluster), syscall.SIGKILL))
		restarted(t, log, kill+1)
		for _, u := range all {
			require.Equal(t, "1", mustQuery(t, u.url, "select 1::text"), "each user has the same port")
		}
	}
	require.Equal(t, kills, s.cluster.restarts().Count)
	for _, u := range all {
		u.leave(t)
	}
	finish()
	require.Equal(t, kills, strings.Count(log.String(), "restarting it"), "%s", log)
	_, err := query(t, s.URL("postgres"), "select 1::text")
	require.Error(t, err, "the last user stopped the server, and it stays down")
}

// While the server is down, another program takes its port.
func TestRestartKeepsThePortOfOtherUsers(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	log := &notes{}
	s := start(t, Options{Dir: dir, Log: log.logger()})
	mustQuery(t, s.URL("postgres"), "select 1::text")
	require.NoError(t, s.cluster.pgCtl(t.Context(), s.bin, "stop", stopTimeout))
	squatter, err := listen(t, s.port)
	require.NoError(t, err)

	_, err = Start(t.Context(), Options{Dir: dir})
	require.ErrorContains(t, err, "another program listens on port "+strconv.Itoa(s.port))
	finish := supervise(t, s)
	defer finish()
	waitUntil(t, "a failed restart", func() bool { return strings.Contains(log.String(), "another program listens on port") })
	require.NoError(t, squatter.Close())
	restarted(t, log, 1)
}

func TestPausesOfRestarts(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	var h restarts
	require.Zero(t, h.wait(now), "the first restart is immediate")
	for _, seconds := range []int{1, 2, 4, 8, 16, 30, 30, 30} {
		h = h.next(now)
		require.Equal(t, time.Duration(seconds)*time.Second, h.wait(now))
		now = now.Add(h.wait(now))
		require.Zero(t, h.wait(now))
	}
	require.Equal(t, 8, h.Count)
	require.Equal(t, 1, h.next(now.Add(restartCalm)).Count, "a calm time resets the pauses")
	require.Zero(t, h.wait(now.Add(-time.Hour)), "the clock was set back")
	require.Equal(t, 1, h.next(now.Add(-time.Hour)).Count)

	c := cluster{home: t.TempDir()}
	require.Equal(t, restarts{}, c.restarts(), "no file")
	require.NoError(t, c.keepRestarts(h))
	require.Equal(t, h.Count, c.restarts().Count)
	require.True(t, h.Last.Equal(c.restarts().Last))
	require.NoError(t, os.WriteFile(filepath.Join(c.home, "restarts"), []byte("{"), 0o600))
	require.Equal(t, restarts{}, c.restarts(), "an unreadable file")
}

func TestNewClustersHaveChecksums(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: folder(t)})
	require.Equal(t, "on", mustQuery(t, s.URL("postgres"), "show data_checksums"))
	closeServer(t, s)

	// The command of an old cluster without them.
	disable := strings.Replace(s.ChecksumsCommand(), "--enable", "--disable", 1)
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", disable).CombinedOutput()
	require.NoError(t, err, "%s", out)
	s = start(t, Options{Dir: s.cluster.home})
	require.Equal(t, "off", mustQuery(t, s.URL("postgres"), "show data_checksums"))
	closeServer(t, s)
	out, err = exec.CommandContext(t.Context(), "/bin/sh", "-c", s.ChecksumsCommand()).CombinedOutput()
	require.NoError(t, err, "%s", out)
	s = start(t, Options{Dir: s.cluster.home})
	require.Equal(t, "on", mustQuery(t, s.URL("postgres"), "show data_checksums"))
	closeServer(t, s)
}
