package confine

// Limits are the limits of one process. The service passes them to the process as JSON.
type Limits struct {
	// Program is the path of the program.
	Program string
	// CPUSeconds of all threads together.
	CPUSeconds uint64
	// AddressSpace in bytes.
	AddressSpace uint64
	// FileBytes is the largest size of a written file.
	FileBytes uint64
	// Files is the number of open files.
	Files uint64
	// Threads of this user in its namespace; 0 means no limit.
	Threads uint64
	// OOMScore is the oom_score_adj, 0 to 1000: the process with the highest score ends first when memory ends.
	OOMScore int
	// Side keeps descriptor 3 open.
	Side bool
	// Landlock limits files and ports. Folders and Read are readable, Write is readable and
	// writable, and TCP connections to Ports are allowed. Paths that do not exist are ignored.
	Landlock             bool
	Folders, Read, Write []string
	Ports                []uint16
	// Seccomp limits the system calls. Sockets are allowed only with Network.
	Seccomp, Network bool
}
