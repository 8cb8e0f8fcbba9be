// Package scratch makes folders for temporary files. When a process is killed, the next node
// that starts on the machine removes its folders.
//
// It may import the standard library and golang.org/x/sys/unix.
//
// Each folder is locked (flock) while its process lives. The kernel releases the lock however
// the process ends, so Sweep removes every folder that it can lock. Child processes do not
// inherit the lock.
//
// New locks a folder under a name that Sweep ignores, and renames it afterwards. Sweep
// therefore never sees a new folder without its lock. A process that is killed between the
// two steps leaves an empty folder with the first name; Sweep removes it after an hour.
package scratch
