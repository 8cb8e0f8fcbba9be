package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// Name is the reserved argv[0] of a process that confines itself and then executes a
	// program. Its first argument is Limits as JSON; the others are those of the program.
	Name = "vqa-confined-ffmpeg"
	// Failed is the exit status when the confinement fails. The message then starts with Name.
	Failed = 125
	// niceness of ffmpeg, as of the inference worker: requests go first, and beside a program of normal
	// priority ffmpeg keeps two fifths of a core.
	niceness = 2
	// maxLocked memory in bytes. libgcrypt locks 32 KiB and prints a message when it cannot.
	maxLocked = 1 << 20
)

// environment is the whole environment of ffmpeg.
var environment = []string{"LC_ALL=C"}

// init executes ffmpeg when the process was started under the reserved Name. Init functions run
// on the main thread; ffmpeg inherits its attributes, such as the parent-death signal.
func init() { //nolint:gochecknoinits // it must run before main, in test binaries too
	if len(os.Args) < 2 || os.Args[0] != Name {
		return
	}
	err := execute(os.Args[1], os.Args[2:])
	fmt.Fprintln(os.Stderr, Name+":", err)
	os.Exit(Failed)
}

// execute starts the program under its limits. It returns only an error.
func execute(limits string, args []string) error {
	var l Limits
	if err := json.Unmarshal([]byte(limits), &l); err != nil {
		return fmt.Errorf("read the limits: %w", err)
	}
	if err := l.closeDescriptors(); err != nil {
		return err
	}
	if err := l.lowerPriority(); err != nil {
		return err
	}
	if err := l.dropPrivileges(); err != nil {
		return err
	}
	if l.Landlock {
		if err := l.restrictFiles(); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if err := l.limitResources(); err != nil {
		return err
	}
	if l.Seccomp {
		if err := l.restrictCalls(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	// The address space comes last: afterwards the Go runtime may be unable to grow.
	space := unix.Rlimit{Cur: l.AddressSpace, Max: l.AddressSpace}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &space); err != nil {
		return fmt.Errorf("limit the address space: %w", err)
	}
	return fmt.Errorf("execute %s: %w", l.Program, syscall.Exec(l.Program, append([]string{"ffmpeg"}, args...), environment))
}

// closeDescriptors hides from ffmpeg the files that the service inherited from its own parent.
func (l Limits) closeDescriptors() error {
	first := 3
	if l.Side {
		first = 4
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list the open files: %w", err)
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// lowerPriority lowers the priority, unless the service itself runs at a lower one. It also makes the
// process the first one to end when memory ends, where the kernel allows it.
func (l Limits) lowerPriority() error {
	if fd, err := unix.Open("/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
		_, _ = unix.Write(fd, []byte(strconv.Itoa(l.OOMScore)))
		_ = unix.Close(fd)
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil && 20-raw < niceness {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	}
	if err != nil {
		return fmt.Errorf("lower the priority: %w", err)
	}
	return nil
}

// dropPrivileges drops all capabilities except reading files, which root needs for the objects
// of another user. Landlock still limits the files.
func (Limits) dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	if err := unix.Capget(&header, &held[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	kept := held[0].Permitted & (1 << unix.CAP_DAC_READ_SEARCH)
	if held[0].Permitted == kept && held[1].Permitted == 0 {
		return nil
	}
	// A program that root executes gets the bounding set, so it must be empty.
	for capability := range uintptr(64) {
		if capability == unix.CAP_DAC_READ_SEARCH {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	left := [2]unix.CapUserData{{Effective: kept, Permitted: kept}}
	if err := unix.Capset(&header, &left[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	return nil
}

// limitResources sets the limits of the process, except that of its address space.
func (l Limits) limitResources() error {
	limits := map[int]uint64{
		unix.RLIMIT_CPU: l.CPUSeconds, unix.RLIMIT_FSIZE: l.FileBytes, unix.RLIMIT_NOFILE: l.Files, unix.RLIMIT_MEMLOCK: maxLocked, unix.RLIMIT_CORE: 0,
	}
	if l.Threads > 0 {
		limits[unix.RLIMIT_NPROC] = l.Threads
	}
	for resource, value := range limits {
		// Hard and soft are equal: ffmpeg would handle SIGXCPU, but not SIGKILL.
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return fmt.Errorf("read limit %d: %w", resource, err)
		}
		value = min(value, now.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	return nil
}
