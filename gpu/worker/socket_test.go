package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// sockets returns the inodes of the sockets that a process has open.
func sockets(t *testing.T, pid int) (inodes []string) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, link := range links {
		to, _ := os.Readlink(link) // it may be closed by now
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	require.NotEmpty(t, inodes)
	return inodes
}

// requireRoot skips a test that starts programs of other users. Root of a container may not be able to.
func requireRoot(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: ownUser, Gid: ownUser}, AmbientCaps: []uintptr{unix.CAP_DAC_READ_SEARCH},
	}
	if err := cmd.Run(); err != nil {
		t.Skipf("programs of other users cannot be started: %v", err)
	}
}

// TestOnlyTheServiceReachesTheChild has a temporary folder whose path is too long for a socket.
func TestOnlyTheServiceReachesTheChild(t *testing.T) {
	temp := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	require.NoError(t, os.Mkdir(temp, 0o700))
	t.Setenv("TMPDIR", temp)
	w := start(t, Options{Threads: 1})
	child := serving(t, w)
	require.NoError(t, w.Engine().Ready(t.Context()))

	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		open, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", child.Pid, table))
		require.NoError(t, err)
		for _, inode := range sockets(t, child.Pid) {
			require.NotContains(t, string(open), " "+inode+" ", "the child has no port")
		}
	}
	info, err := w.socket.Stat()
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o600, info.Mode())
	require.Zero(t, info.Sys().(*syscall.Stat_t).Nlink, "it has no name")
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)

	connect := func(attributes syscall.SysProcAttr) string {
		path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), w.socket.Fd())
		out, err := w.node(t.Context(), attributes, "-e", fmt.Sprintf(
			`net.connect(%q).on("connect", function () { console.log("connected"); this.end() }).on("error", (e) => console.log(e.code))`, path)).Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	require.Equal(t, "connected", connect(syscall.SysProcAttr{}))
	requireRoot(t)
	for _, user := range []uint32{ownUser, 65534} {
		require.Equal(t, "EACCES", connect(syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}))
	}
}

// TestTheChildIsNotRoot has a folder that every user can read, and one that only root can read.
func TestTheChildIsNotRoot(t *testing.T) {
	t.Parallel()
	requireRoot(t)
	const script = `require('node:net').createServer().listen({ fd: 3 }, () => console.log(JSON.stringify({ threads: 1 })))`
	public, private := program(t, script), program(t, script)
	require.NoError(t, os.Chmod(private, 0o700))
	require.NoError(t, os.Chmod(filepath.Dir(public), 0o755))
	require.NoError(t, exec.CommandContext(t.Context(), "chmod", "-R", "a+rX", public).Run())
	for dir, capabilities := range map[string]string{public: "0000000000000000", private: "0000000000000004"} {
		w := start(t, Options{Dir: dir, Threads: 1})
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", serving(t, w).Pid))
		require.NoError(t, err)
		require.Contains(t, string(status), "\nUid:\t61001\t61001\t61001\t61001\nGid:\t61001\t61001\t61001\t61001\n")
		require.Regexp(t, `\nGroups:\s*\n`, string(status))
		require.Contains(t, string(status), "\nCapEff:\t"+capabilities+"\n", "CAP_DAC_READ_SEARCH only if it is needed")
	}
}
