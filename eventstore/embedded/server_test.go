package embedded

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func TestStoppedServerKeepsItsDataAndPort(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir})
	require.False(t, s.adopted)
	require.NoError(t, s.EnsureDatabase(t.Context(), "vqa"))
	require.NoError(t, s.EnsureDatabase(t.Context(), "vqa"), "an existing database is not an error")
	first := s.URL("vqa")
	mustQuery(t, first, "create table kept as select 'yes' as value")
	closeServer(t, s)
	require.NoError(t, s.Close(t.Context()), "closing is idempotent")
	_, err := query(t, first, "select 1::text")
	require.Error(t, err, "the last user has closed it, so the server must be down")

	s = start(t, Options{Dir: dir})
	require.Equal(t, first, s.URL("vqa"))
	require.Equal(t, "yes", mustQuery(t, s.URL("vqa"), "select value from kept"))
	closeServer(t, s)
}

func TestServerStopsWithItsLastUser(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	a := start(t, Options{Dir: dir})
	b := start(t, Options{Dir: dir})
	require.True(t, b.adopted)
	c := startGuest(t, dir, nil)
	require.Equal(t, a.URL("postgres"), c.url)

	closeServer(t, a)
	mustQuery(t, b.URL("postgres"), "select 1::text")
	closeServer(t, b)
	mustQuery(t, c.url, "select 1::text")
	c.leave(t)
	_, err := query(t, c.url, "select 1::text")
	require.Error(t, err)
}

func TestManyProcessesStartAtOnce(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	type result struct {
		s   *Server
		err error
	}
	results := make(chan result)
	const users = 8
	for range users {
		go func() {
			s, err := Start(t.Context(), Options{Dir: dir})
			if err == nil {
				err = s.EnsureDatabase(t.Context(), "vqa")
			}
			results <- result{s, err}
		}()
	}
	started := 0
	var all []*Server
	for range users {
		r := <-results
		require.NoError(t, r.err)
		all = append(all, r.s)
		if !r.s.adopted {
			started++
		}
	}
	require.Equal(t, 1, started, "one starts it, the others adopt")
	for _, s := range all {
		require.Equal(t, all[0].URL("vqa"), s.URL("vqa"))
		closeServer(t, s)
	}
}

func TestServerOutlivesAKilledUserAndIsAdopted(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	u := startGuest(t, dir, nil)
	mustQuery(t, u.url, "create table kept as select 'yes' as value")
	u.kill(t)

	s := start(t, Options{Dir: dir})
	require.True(t, s.adopted)
	require.Equal(t, "yes", mustQuery(t, s.URL("postgres"), "select value from kept"))
	closeServer(t, s)
	_, err := query(t, s.URL("postgres"), "select 1::text")
	require.Error(t, err, "the killed user must no longer count")
}

func TestKilledServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir})
	mustQuery(t, s.URL("postgres"), "create table kept as select 'yes' as value")
	pm, ok, err := s.cluster.running()
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, syscall.Kill(pm.pid, syscall.SIGKILL))
	waitUntil(t, "the server to die", func() bool { return gone(pm.pid) })
	require.FileExists(t, filepath.Join(s.cluster.data(), "postmaster.pid"), "a power loss leaves this file")

	again := start(t, Options{Dir: dir})
	require.False(t, again.adopted)
	require.Equal(t, "yes", mustQuery(t, again.URL("postgres"), "select value from kept"))
	closeServer(t, s)
	closeServer(t, again)
}

// After a restart of a container, the process id in postmaster.pid may belong to another process. Postgres cannot
// distinguish it from a server.
func TestPidFileThatNamesAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"alive", "zombie"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			s := start(t, Options{Dir: dir})
			closeServer(t, s)
			other := s.cluster.id.command(t.Context(), "/", "/bin/sleep", "600")
			require.NoError(t, other.Start())
			defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
			if state == "zombie" {
				require.NoError(t, syscall.Kill(other.Process.Pid, syscall.SIGKILL))
				waitUntil(t, "the process to end", func() bool { return gone(other.Process.Pid) })
			}
			pidFile := filepath.Join(s.cluster.data(), "postmaster.pid")
			text := strings.Join([]string{strconv.Itoa(other.Process.Pid), s.cluster.data(), "1", strconv.Itoa(s.port), "", "127.0.0.1", "", "ready", ""}, "\n")
			require.NoError(t, os.WriteFile(pidFile, []byte(text), 0o600))
			require.NoError(t, s.cluster.id.own(pidFile))

			s = start(t, Options{Dir: dir})
			require.False(t, s.adopted)
			mustQuery(t, s.URL("postgres"), "select 1::text")
			closeServer(t, s)
		})
	}
}

func TestFolderIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spoil func(t *testing.T, data string)
		want  string
		is    error
	}{
		"made by a release that nothing can serve": {
			spoil: func(t *testing.T, data string) {
				t.Helper()
				require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("9\n"), 0o600))
			},
			want: "made by PostgreSQL 9", is: ErrNoBinaries,
		},
		"not a data folder": {
			spoil: func(t *testing.T, data string) {
				t.Helper()
				require.NoError(t, os.Remove(filepath.Join(data, "PG_VERSION")))
			},
			want: "no PG_VERSION",
		},
		"password lost": {
			spoil: func(t *testing.T, data string) {
				t.Helper()
				require.NoError(t, os.Remove(filepath.Join(data, "..", "..", "password")))
			},
			want: "put the file back",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			s := start(t, Options{Dir: dir})
			closeServer(t, s)
			control := filepath.Join(s.cluster.data(), "global", "pg_control")
			before, err := os.ReadFile(control)
			require.NoError(t, err)
			tt.spoil(t, s.cluster.data())

			_, err = Start(t.Context(), Options{Dir: dir})
			require.ErrorContains(t, err, tt.want)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			after, err := os.ReadFile(control)
			require.NoError(t, err)
			require.Equal(t, before, after, "the data must not change")
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir, Settings: map[string]string{"work_mem": "7MB", "application_name": "it's"}})
	require.Equal(t, "7MB", mustQuery(t, s.URL("postgres"), "show work_mem"))
	require.Equal(t, "it's", mustQuery(t, s.URL("postgres"), "show application_name"))
	require.Equal(t, "on", mustQuery(t, s.URL("postgres"), "show fsync"))
	require.Equal(t, "on", mustQuery(t, s.URL("postgres"), "show synchronous_commit"))
	require.Equal(t, "127.0.0.1", mustQuery(t, s.URL("postgres"), "show listen_addresses"))
	closeServer(t, s)

	_, err := Start(t.Context(), Options{Dir: dir, Settings: map[string]string{"work_mem": "plenty"}})
	require.ErrorContains(t, err, `invalid value for parameter "work_mem"`, "the error must contain the message of the server")
	_, err = Start(t.Context(), Options{Dir: dir, Settings: map[string]string{"x'; y": "1"}})
	require.ErrorContains(t, err, "is not valid")
}

func TestPasswordIsRequiredAndPrivate(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir})
	defer closeServer(t, s)
	u, err := url.Parse(s.URL("postgres"))
	require.NoError(t, err)
	u.User = url.UserPassword(superuser, "wrong")
	_, err = query(t, u.String(), "select 1::text")
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, "28P01", pgErr.Code)
	require.Equal(t, "0", mustQuery(t, s.URL("postgres"), "select count(*)::text from pg_hba_file_rules where auth_method <> 'scram-sha-256'"))

	info, err := os.Stat(filepath.Join(dir, "password"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(mustQuery(t, s.URL("postgres"), "show unix_socket_directories"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestLongPathStillHasASocket(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	long := filepath.Join(filepath.Dir(dir), strings.Repeat("long-", 30))
	require.NoError(t, os.Symlink(long, dir), "discard looks at the usual place")
	require.NoError(t, os.Mkdir(long, 0o755))
	s := start(t, Options{Dir: dir})
	socket := mustQuery(t, s.URL("postgres"), "show unix_socket_directories")
	defer func() { require.NoError(t, os.RemoveAll(socket)) }()
	require.LessOrEqual(t, len(socket)+len(socketSuffix), socketPathMax)
	closeServer(t, s)
}

func TestDeadlineEndsTheWaitForALock(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	held, err := openLock(dir, "start.lock")
	require.NoError(t, err)
	ok, err := held.try(lockExclusive)
	require.NoError(t, err)
	require.True(t, ok)
	defer func() { require.NoError(t, held.release()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = Start(ctx, Options{Dir: dir})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestEphemeralServerEndsAfterItsLastUserDied(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	u := startGuest(t, dir, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, helperEnv+"_EPHEMERAL=1") })
	require.Equal(t, "off", mustQuery(t, u.url, "show fsync"))
	u.kill(t)
	waitUntil(t, "the reaper", func() bool {
		_, err := os.Stat(filepath.Join(dir, "cluster"))
		return errors.Is(err, os.ErrNotExist)
	})
	_, err := query(t, u.url, "select 1::text")
	require.Error(t, err)

	s := start(t, Options{Dir: dir, Ephemeral: true, reapAfter: time.Second})
	require.False(t, s.adopted, "a new server starts in the same folder")
	closeServer(t, s)
}

func TestPermanentClusterIsNeverEphemeral(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir})
	_, err := Start(t.Context(), Options{Dir: dir, Ephemeral: true})
	require.ErrorContains(t, err, "permanent cluster")
	mustQuery(t, s.URL("postgres"), "select 1::text")
	closeServer(t, s)
}
