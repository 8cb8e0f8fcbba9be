// Package scratch makes folders for temporary files that do not outlive their process: the
// next node that starts on the machine removes those of a process that was killed.
//
// It may import the standard library and golang.org/x/sys/unix.
//
// A folder is locked (flock) as long as its process lives, because the kernel releases the
// lock however the process ends. Sweep removes the folders that it can lock. Programs that
// are started do not inherit the lock.
package scratch
