package confine

import (
	"os"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls of a program that decodes a file with threads. Calls that an
// architecture lacks are ignored. All others fail with EPERM: starting a process, signals to
// other processes, sockets, mounts, tracing, io_uring, keys and so on.
var allowed = []string{
	"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "lseek", "close", "close_range",
	"open", "openat", "stat", "fstat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
	"getcwd", "getdents64", "fcntl", "flock", "fsync", "fdatasync", "ftruncate", "fallocate", "fadvise64", "ioctl", "umask", "statfs", "fstatfs",
	"dup", "dup2", "dup3", "pipe", "pipe2", "poll", "ppoll", "select", "pselect6", "eventfd2", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	"mmap", "mprotect", "munmap", "mremap", "madvise", "msync", "mincore", "mlock", "mlock2", "munlock", "brk", "membarrier",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "sigaltstack", "restart_syscall",
	"futex", "futex_waitv", "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "arch_prctl",
	"sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min",
	"getpid", "gettid", "getppid", "getpgrp", "getuid", "geteuid", "getgid", "getegid", "getrlimit", "prlimit64", "getrusage", "sysinfo", "uname",
	"clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getrandom", "getcpu",
	"execve", "exit", "exit_group",
}

// sockets are the additional calls for a source on the network.
var sockets = []string{
	"connect", "bind", "getsockname", "getpeername", "getsockopt", "setsockopt", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "shutdown",
}

// prctlOptions are the allowed options of prctl: names of threads and of memory areas. Other
// options could turn off the parent-death signal.
var prctlOptions = []uint64{unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_SET_VMA}

// families of sockets that name resolution and TCP need.
var families = []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// restrictCalls installs the filter on this thread, which then executes ffmpeg.
func (l Limits) restrictCalls() error {
	info, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	allow := seccomp.SyscallGroup{Action: seccomp.ActionAllow}
	names := allowed
	if l.Network {
		names = append(append([]string{}, allowed...), sockets...)
	}
	for _, name := range names {
		if _, known := info.SyscallNames[name]; known {
			allow.Names = append(allow.Names, name)
		}
	}
	only := func(name string, operation seccomp.Operation, values ...uint64) {
		for _, value := range values {
			allow.NamesWithCondtions = append(allow.NamesWithCondtions, seccomp.NameWithConditions{
				Name: name, Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: operation, Value: value}},
			})
		}
	}
	only("clone", seccomp.BitsSet, unix.CLONE_THREAD)
	only("tgkill", seccomp.Equal, uint64(os.Getpid())) //nolint:gosec // a pid is positive; it stays when ffmpeg is executed
	only("prctl", seccomp.Equal, prctlOptions...)
	if l.Network {
		only("socket", seccomp.Equal, families...)
	}
	// A filter cannot read the flags of clone3, which are in memory. The C library falls back
	// to clone.
	absent := seccomp.SyscallGroup{Names: []string{"clone3"}, Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)}
	return seccomp.LoadFilter(seccomp.Filter{Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{absent, allow},
	}})
}
