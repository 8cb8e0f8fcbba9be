package ffmpeg

import "fmt"

// The names of the measures that depend on the machine.
const (
	measureNetwork = "network namespace"
	measureFiles   = "Landlock"
	measureCalls   = "seccomp"
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
	network := Measure{Name: measureNetwork, Active: r.measures.isolation != notIsolated}
	if network.Active {
		network.Effect = "a process that reads a local file has no network"
	} else {
		network.Effect = "only seccomp keeps a process that reads a local file off the network"
		if !r.measures.seccomp {
			network.Effect = "a process that reads a local file can reach the network"
		}
		network.Fix = "allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or run as root"
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
	all := []Measure{network, files, calls}
	for i, m := range all {
		if err := r.failed[m.Name]; err != nil && !m.Active {
			all[i].Fix += fmt.Sprintf(" (it failed: %v)", err)
		}
	}
	return all
}
