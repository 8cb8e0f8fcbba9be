package background

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// process starts a process that ends with its standard input.
func process(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
	})
	return cmd.Process.Pid
}

// niceOf returns the nice value of a process, field 19 of /proc/PID/stat.
func niceOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(stat), ") ")
	nice, err := strconv.Atoi(strings.Fields(after)[16])
	require.NoError(t, err)
	return nice
}

func TestAddLowersTheWeight(t *testing.T) {
	t.Parallel()
	pid := process(t)
	before := niceOf(t, pid)
	var logged bytes.Buffer
	g := Open(slog.New(slog.NewTextHandler(&logged, nil)))
	g.Add(pid)
	require.Equal(t, 1, strings.Count(logged.String(), "\n"), "%s", &logged)
	if g.folder == "" {
		require.Greater(t, niceOf(t, pid), before)
		require.Contains(t, logged.String(), "by=priority")
		return
	}
	members, err := os.ReadFile(filepath.Join(g.folder, "cgroup.procs"))
	require.NoError(t, err)
	require.Contains(t, strings.Fields(string(members)), strconv.Itoa(pid))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(g.folder), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
	require.NoError(t, g.Close())
	require.NoDirExists(t, g.folder)
}

// TestAddByPriority is the way of a process that may not make cgroups.
func TestAddByPriority(t *testing.T) {
	t.Parallel()
	pid := process(t)
	var logged bytes.Buffer
	g := &Group{log: slog.New(slog.NewTextHandler(&logged, nil)), nice: min(niceOf(t, pid)+niceness, leastFavored)}
	g.Add(pid)
	require.Equal(t, g.nice, niceOf(t, pid))
	if _, err := os.Stat("/proc/self/autogroup"); err == nil {
		group, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
		require.NoError(t, err)
		require.NotEmpty(t, group)
	}
	require.Empty(t, logged.String())
	require.NoError(t, g.Close())
}

// TestStaleCgroups keeps the empty cgroup of a running process.
func TestStaleCgroups(t *testing.T) {
	t.Parallel()
	c := cgroup{folder: t.TempDir()}
	living, dead := filepath.Join(c.folder, prefix+strconv.Itoa(os.Getpid())), filepath.Join(c.folder, prefix+"999999999")
	require.NoError(t, os.Mkdir(living, 0o755))
	require.NoError(t, os.Mkdir(dead, 0o755))
	c.removeStale()
	require.DirExists(t, living)
	require.NoDirExists(t, dead)
}

// TestALostCgroup uses the priority when the cgroup is gone.
func TestALostCgroup(t *testing.T) {
	t.Parallel()
	pid := process(t)
	g := &Group{log: slog.New(slog.DiscardHandler), folder: filepath.Join(t.TempDir(), "gone"), nice: leastFavored}
	g.Add(pid)
	require.Equal(t, leastFavored, niceOf(t, pid))
}

func TestControlled(t *testing.T) {
	t.Parallel()
	const mounts = "31 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
		"32 23 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n" +
		"33 23 0:28 /box /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n"
	want := []cgroup{
		{folder: "/sys/fs/cgroup/cpu/inner", file: "cpu.shares", weight: shares},
		{folder: "/sys/fs/cgroup/unified/a", file: "cpu.weight", weight: weight},
	}
	got := controlled("3:cpuset:/\n2:cpu,cpuacct:/box/inner\n0::/a\n", mounts)
	require.Empty(t, cmp.Diff(want, got, cmp.AllowUnexported(cgroup{})))
	require.Empty(t, controlled("0::/a\n", ""))
}
