package ffmpeg

import (
	"fmt"
	"os"
)

// The names of the measures that depend on the machine.
const (
	measureNamespaces = "namespaces"
	measureFiles      = "Landlock"
	measureCalls      = "seccomp"
	measureUser       = "user"
)

// Measure is one part of the confinement that depends on the machine.
type Measure struct {
	// Name is the name of the kernel's facility.
	Name string
	// Active reports whether processes run under it.
	Active bool
	// Effect describes the effect of the measure, or of its absence.
	Effect string
	// Fix says how to activate it, and why it is not active.
	Fix string
}

// Measures reports which optional measures processes run under on this machine.
func (r *Runner) Measures() []Measure {
	namespaces := Measure{Name: measureNamespaces, Active: r.measures.isolation != notIsolated}
	if namespaces.Active {
		namespaces.Effect = "a process sees no other process, and no network when it reads a local file"
	} else {
		namespaces.Effect = "only seccomp keeps a process from other processes, and from the network when it reads a local file"
		if !r.measures.seccomp {
			namespaces.Effect = "a process can end other processes of its user, and reach the network"
		}
		namespaces.Fix = "allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or run as root"
	}
	files := Measure{Name: measureFiles, Active: r.measures.landlock > 0}
	switch {
	case r.measures.landlock >= 4:
		files.Effect = fmt.Sprintf("a process can open its own input and output only, and connect to the port of its URL only (ABI %d)", r.measures.landlock)
	case files.Active:
		files.Effect = fmt.Sprintf("a process can open its own input and output only (ABI %d; limiting ports needs ABI 4, Linux 6.7)", r.measures.landlock)
	default:
		files.Effect = "a process can read every file that this user can read"
		files.Fix = "use Linux 5.13 or newer with landlock among the security modules (lsm=landlock,... on the kernel command line)"
	}
	calls := Measure{Name: measureCalls, Active: r.measures.seccomp}
	if calls.Active {
		calls.Effect = "a process cannot start another one, and can only make the system calls that decoding needs"
	} else {
		calls.Effect = "a process can start other processes and make every system call"
		calls.Fix = "use a kernel with CONFIG_SECCOMP_FILTER on x86-64 or arm64"
	}
	all := []Measure{namespaces, files, calls}
	if os.Geteuid() == 0 {
		user := Measure{Name: measureUser, Active: r.measures.user, Effect: fmt.Sprintf("a process runs as user %d, which owns nothing", ownUser)}
		if !user.Active {
			user.Effect = "a process runs as root, with the capability to read files only"
			user.Fix = "run the service with the capabilities SYS_ADMIN, SETUID, SETGID and DAC_READ_SEARCH, and let others execute vqa and ffmpeg"
		}
		all = append(all, user)
	}
	for i, m := range all {
		if err := r.failed[m.Name]; err != nil && !m.Active {
			all[i].Fix += fmt.Sprintf(" (it failed: %v)", err)
		}
	}
	return all
}
