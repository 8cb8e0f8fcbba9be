package embedded

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// needRoot skips a test that only root can set up. For an ordinary user the other tests cover the same.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to change accounts")
	}
}

func TestRootGivesTheServerToAnUnprivilegedUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := folder(t)
	s := start(t, Options{Dir: dir})
	defer closeServer(t, s)
	require.NotZero(t, s.cluster.id.uid)
	info, err := os.Stat(s.cluster.data())
	require.NoError(t, err)
	st, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.Equal(t, s.cluster.id.uid, int(st.Uid))
	require.Equal(t, filepath.Join(dir, "cluster"), s.cluster.dir, "a folder that can be reached is used")
}

func TestFolderThatPostgresCannotReach(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := folder(t)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o700))
	s := start(t, Options{Dir: dir})
	require.True(t, strings.HasPrefix(s.cluster.dir, systemRoot+"/"), s.cluster.dir)
	note, err := os.ReadFile(filepath.Join(dir, "location"))
	require.NoError(t, err)
	require.Equal(t, s.cluster.dir, strings.TrimSpace(string(note)))
	mustQuery(t, s.URL("postgres"), "create table kept as select 'yes' as value")
	closeServer(t, s)

	s = start(t, Options{Dir: dir})
	require.Equal(t, "yes", mustQuery(t, s.URL("postgres"), "select value from kept"))
	closeServer(t, s)

	// After the folder was removed, Start begins with a new cluster and keeps the old one.
	old := s.cluster
	require.NoError(t, os.RemoveAll(dir))
	s = start(t, Options{Dir: dir})
	require.NotEqual(t, old.dir, s.cluster.dir)
	_, err = query(t, s.URL("postgres"), "select value from kept")
	require.Error(t, err)
	closeServer(t, s)
	require.FileExists(t, filepath.Join(old.data(), "PG_VERSION"))
	require.NoError(t, os.RemoveAll(old.dir))
}

// asNobody runs a helper as an ordinary user, from a copy of this binary that the user can reach.
func asNobody(t *testing.T, parent string) func(*exec.Cmd) {
	t.Helper()
	id, err := unprivilegedIdentity()
	require.NoError(t, err)
	program, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	path := filepath.Join(parent, "helper")
	require.NoError(t, os.WriteFile(path, program, 0o755))
	return func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = path, "/"
		cmd.Env = append(cmd.Env, "HOME=/nonexistent")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(id.uid), Gid: uint32(id.gid)},
		}
	}
}

func TestRootAdoptsTheClusterOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := folder(t)
	require.NoError(t, os.Mkdir(dir, 0o755))
	id, err := unprivilegedIdentity()
	require.NoError(t, err)
	require.NoError(t, os.Chown(dir, id.uid, id.gid))
	u := startGuest(t, dir, asNobody(t, filepath.Dir(dir)))
	s := start(t, Options{Dir: dir})
	require.True(t, s.adopted)
	u.leave(t)
	closeServer(t, s)

	s = start(t, Options{Dir: dir})
	require.Equal(t, id.uid, s.cluster.id.uid, "root uses the owner of the data")
	closeServer(t, s)
	u = startGuest(t, dir, asNobody(t, filepath.Dir(dir)))
	mustQuery(t, u.url, "select 1::text")
	u.leave(t)
}

func TestFolderOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := folder(t)
	require.NoError(t, os.Mkdir(dir, 0o755))
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+dir)
	asNobody(t, filepath.Dir(dir))(cmd)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "belongs to user 0")
}
