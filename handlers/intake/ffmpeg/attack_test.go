package ffmpeg

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// attackArg makes this test binary act as a decoder under the control of an attacker. The id of its victim follows.
const attackArg = "attack"

func init() { //nolint:gochecknoinits // it stands for ffmpeg, so it must run instead of the tests
	if len(os.Args) == 3 && os.Args[0] == "ffmpeg" && os.Args[1] == attackArg {
		victim, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(attack(victim))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// attack tries the ways to act on another process, and on the kernel. It returns the results by name. Those of
// prlimit64 and F_SETOWN kill the victim, if they work; they come last.
func attack(victim int) map[string]unix.Errno {
	results := map[string]unix.Errno{}
	try := func(name string, number, a, b, c, d uintptr) {
		_, _, results[name] = unix.RawSyscall6(number, a, b, c, d, 0, 0)
	}
	pid := uintptr(victim)
	var pipe [2]int
	_ = unix.Pipe(pipe[:])
	fd := uintptr(pipe[0])
	affinity, owner, word := ^uint64(0), [2]int32{1, int32(victim)}, uint64(0)
	try("kill", unix.SYS_KILL, pid, 0, 0, 0)
	try("tkill", unix.SYS_TKILL, pid, 0, 0, 0)
	try("tgkill", unix.SYS_TGKILL, pid, pid, 0, 0)
	try("rt_sigqueueinfo", unix.SYS_RT_SIGQUEUEINFO, pid, 0, uintptr(unsafe.Pointer(&word)), 0)
	try("pidfd_open", unix.SYS_PIDFD_OPEN, pid, 0, 0, 0)
	try("pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, fd, 0, 0, 0)
	try("process_vm_readv", unix.SYS_PROCESS_VM_READV, pid, 0, 0, 0)
	try("process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, pid, 0, 0, 0)
	try("process_madvise", unix.SYS_PROCESS_MADVISE, fd, 0, 0, 0)
	try("ptrace", unix.SYS_PTRACE, unix.PTRACE_SEIZE, pid, 0, 0)
	try("kcmp", unix.SYS_KCMP, pid, pid, 0, 0)
	try("get_robust_list", unix.SYS_GET_ROBUST_LIST, pid, uintptr(unsafe.Pointer(&word)), uintptr(unsafe.Pointer(&word)), 0)
	try("sched_setaffinity", unix.SYS_SCHED_SETAFFINITY, pid, 8, uintptr(unsafe.Pointer(&affinity)), 0)
	try("sched_setscheduler", unix.SYS_SCHED_SETSCHEDULER, pid, 0, uintptr(unsafe.Pointer(&word)), 0)
	try("setpriority", unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, pid, 19, 0)
	try("ioprio_set", unix.SYS_IOPRIO_SET, 1, pid, 3<<13, 0)
	try("move_pages", unix.SYS_MOVE_PAGES, pid, 0, 0, 0)
	try("migrate_pages", unix.SYS_MIGRATE_PAGES, pid, 0, 0, 0)
	try("perf_event_open", unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&word)), pid, 0, 0)
	try("timer_create", unix.SYS_TIMER_CREATE, 0, 0, uintptr(unsafe.Pointer(&word)), 0)
	try("mq_notify", unix.SYS_MQ_NOTIFY, fd, 0, 0, 0)
	try("keyctl", unix.SYS_KEYCTL, 0, 0, 0, 0)
	try("userfaultfd", unix.SYS_USERFAULTFD, 0, 0, 0, 0)
	try("io_uring_setup", unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&word)), 0, 0)
	try("bpf", unix.SYS_BPF, 0, 0, 0, 0)
	try("unshare", unix.SYS_UNSHARE, unix.CLONE_NEWUTS, 0, 0, 0)
	try("setns", unix.SYS_SETNS, fd, 0, 0, 0)
	try("socket", unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0, 0)
	try("TIOCSTI", unix.SYS_IOCTL, fd, unix.TIOCSTI, uintptr(unsafe.Pointer(&word)), 0)
	try("FIOSETOWN", unix.SYS_IOCTL, fd, 0x8901, uintptr(unsafe.Pointer(&owner[1])), 0)
	try("SIOCSPGRP", unix.SYS_IOCTL, fd, 0x8902, uintptr(unsafe.Pointer(&owner[1])), 0)
	try("F_SETOWN_EX", unix.SYS_FCNTL, fd, unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner)), 0)
	try("F_NOTIFY", unix.SYS_FCNTL, fd, unix.F_NOTIFY, 0, 0)
	try("F_SETLEASE", unix.SYS_FCNTL, fd, unix.F_SETLEASE, 0, 0)

	// The kernel sends SIGKILL to the owner of a pipe when something is written to it.
	try("F_SETOWN", unix.SYS_FCNTL, fd, unix.F_SETOWN, pid, 0)
	try("F_SETSIG", unix.SYS_FCNTL, fd, unix.F_SETSIG, uintptr(unix.SIGKILL), 0)
	try("F_SETFL", unix.SYS_FCNTL, fd, unix.F_SETFL, unix.O_ASYNC, 0)
	_, _ = unix.Write(pipe[1], []byte{0})
	// No page can be mapped any more.
	limit := unix.Rlimit{}
	try("prlimit64", unix.SYS_PRLIMIT64, pid, unix.RLIMIT_AS, uintptr(unsafe.Pointer(&limit)), 0)
	return results
}

// attacked attacks a new process of this user with the measures and returns the results, and whether the victim ended.
func attacked(t *testing.T, m measures, job Job) (results map[string]unix.Errno, killed bool) {
	t.Helper()
	victim := exec.CommandContext(t.Context(), "/bin/sleep", "600")
	require.NoError(t, victim.Start())
	ended := make(chan error, 1)
	go func() { ended <- victim.Wait() }()
	program, err := os.Executable()
	require.NoError(t, err)
	r := &Runner{program: program, measures: m}
	c, err := r.confine(job)
	require.NoError(t, err)
	p, err := r.launch(t.Context(), c, []string{attackArg, strconv.Itoa(victim.Process.Pid)}, job)
	require.NoError(t, err)
	out, err := io.ReadAll(p.Stdout)
	require.NoError(t, errors.Join(err, p.Wait()))
	require.NoError(t, json.Unmarshal(out, &results), "%s", out)
	select {
	case <-ended:
		return results, true
	case <-time.After(500 * time.Millisecond):
		var limit unix.Rlimit
		require.NoError(t, unix.Prlimit(victim.Process.Pid, unix.RLIMIT_AS, nil, &limit))
		require.NoError(t, victim.Process.Kill())
		<-ended
		return results, limit.Cur == 0
	}
}

// TestATakenOverProcessActsOnNoOther lets a decoder under the control of an attacker act on another process of the same
// user. It kills that process without the measures. Each measure alone keeps it alive.
func TestATakenOverProcessActsOnNoOther(t *testing.T) {
	t.Parallel()
	have := found(t)
	for name, with := range map[string]measures{
		"no measure": {}, "seccomp": {seccomp: have.seccomp}, "namespaces": {isolation: have.isolation}, "user": {user: have.user},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "no measure" && with == (measures{}) {
				t.Skip("this machine lacks the measure")
			}
			results, killed := attacked(t, with, Job{Input: filepath.Join(t.TempDir(), "none")})
			require.Equal(t, name == "no measure", killed, "%v", results)
			if with.seccomp {
				require.Equal(t, unix.Errno(0), results["F_SETFL"], "ffmpeg needs it")
				delete(results, "F_SETFL")
				for call, errno := range results {
					require.Equal(t, unix.EPERM, errno, call)
				}
			}
		})
	}
	t.Run("a job with network", func(t *testing.T) {
		t.Parallel()
		results, killed := attacked(t, have, Job{Input: "http://127.0.0.1:1/"})
		require.False(t, killed)
		require.Equal(t, have.seccomp, results["socket"] == unix.EPERM, "a Unix socket leads to the services of this machine")
	})
}
