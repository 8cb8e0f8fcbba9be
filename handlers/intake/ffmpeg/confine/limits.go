package confine

// Limits are what one process may do. They travel to the process as JSON.
type Limits struct {
	// Program is the path that is executed.
	Program string
	// CPUSeconds of all threads together.
	CPUSeconds uint64
	// AddressSpace in bytes.
	AddressSpace uint64
	// FileBytes is the largest size of a file that is written.
	FileBytes uint64
	// Files is how many files may be open.
	Files uint64
	// Threads of this user in its namespace; 0 does not limit them.
	Threads uint64
	// Side keeps descriptor 3 open.
	Side bool
	// Landlock limits files and ports. The files of Folders and Read are readable, those of
	// Write are writable as well, and Ports can be connected to over TCP. Paths that do not
	// exist are left out.
	Landlock             bool
	Folders, Read, Write []string
	Ports                []uint16
	// Seccomp limits the system calls. Sockets are allowed with Network only.
	Seccomp, Network bool
}
