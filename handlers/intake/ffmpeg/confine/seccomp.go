package confine

import (
	"os"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// allowed are the system calls of a program that decodes a file with threads. Calls that an
// architecture lacks are ignored. All others fail with EPERM: starting a process, all that acts on
// another process (signals, limits, priorities, memory, tracing), sockets, mounts, timers, io_uring,
// keys and so on. restrictCalls allows a few more with some arguments only.
var allowed = []string{
	"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "lseek", "close", "close_range",
	"open", "openat", "stat", "fstat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
	"getcwd", "getdents64", "flock", "fsync", "fdatasync", "ftruncate", "fallocate", "fadvise64", "umask", "statfs", "fstatfs",
	"dup", "dup2", "dup3", "pipe", "pipe2", "poll", "ppoll", "select", "pselect6", "eventfd2", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	"mmap", "mprotect", "munmap", "mremap", "madvise", "msync", "mincore", "mlock", "mlock2", "munlock", "brk", "membarrier",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "sigaltstack", "restart_syscall",
	"futex", "futex_waitv", "set_robust_list", "set_tid_address", "rseq", "arch_prctl",
	"sched_yield", "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min",
	"getpid", "gettid", "getppid", "getpgrp", "getuid", "geteuid", "getgid", "getegid", "getrlimit", "getrusage", "sysinfo", "uname",
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

// fcntlCommands are the allowed commands of fcntl. F_SETOWN and F_SETSIG are not among them: they
// make the kernel send a signal of any kind, also SIGKILL, to another process of the same user.
var fcntlCommands = []uint64{
	unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_GETPIPE_SZ,
}

// ioctlCommands are the allowed commands of ioctl: whether a file is a terminal. FIOSETOWN
// and SIOCSPGRP are as F_SETOWN, and TIOCSTI types into a terminal.
var ioctlCommands = []uint64{unix.TCGETS, unix.TIOCGWINSZ}

// families of sockets that name resolution and TCP need. A Unix socket would lead to the services of this
// machine, which Landlock does not limit; without it, the C library asks the name server itself.
var families = []uint64{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

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
	only := func(name string, argument uint32, operation seccomp.Operation, values ...uint64) {
		for _, value := range values {
			allow.NamesWithCondtions = append(allow.NamesWithCondtions, seccomp.NameWithConditions{
				Name: name, Conditions: seccomp.ArgumentConditions{{Argument: argument, Operation: operation, Value: value}},
			})
		}
	}
	only("clone", 0, seccomp.BitsSet, unix.CLONE_THREAD)
	only("tgkill", 0, seccomp.Equal, uint64(os.Getpid())) //nolint:gosec // a pid is positive; it stays when ffmpeg is executed
	only("prctl", 0, seccomp.Equal, prctlOptions...)
	only("prlimit64", 0, seccomp.Equal, 0) // the process itself
	only("fcntl", 1, seccomp.Equal, fcntlCommands...)
	only("ioctl", 1, seccomp.Equal, ioctlCommands...)
	if l.Network {
		only("socket", 0, seccomp.Equal, families...)
	}
	// A filter cannot read the flags of clone3, which are in memory. The C library falls back
	// to clone.
	absent := seccomp.SyscallGroup{Names: []string{"clone3"}, Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)}
	return seccomp.LoadFilter(seccomp.Filter{Policy: seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{absent, allow},
	}})
}
