package anchor

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes the file system of a folder durable.
func syncAll(d *os.File) error { return unix.Syncfs(int(d.Fd())) }
