package worker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// newSocket returns a listening Unix socket, and a handle through which this process connects to it.
// The socket has no name when newSocket returns. So no other program can open it, and nothing remains
// on the disk when this process is killed.
func newSocket() (listener, handle *os.File, err error) {
	dir, err := os.MkdirTemp("", "vqa-worker-") // with mode 0700
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	folder, err := os.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = folder.Close() }()
	// A socket's path has at most 107 bytes, and that of a temporary folder may be longer.
	name := filepath.Join(path(folder), "socket")
	bound, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: name})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = bound.Close() }() // listener is a copy
	if err := os.Chmod(name, 0o600); err != nil {
		return nil, nil, err
	}
	if handle, err = os.OpenFile(name, unix.O_PATH, 0); err != nil {
		return nil, nil, err
	}
	if listener, err = bound.File(); err != nil {
		_ = handle.Close()
		return nil, nil, err
	}
	return listener, handle, nil
}

// path returns a path to an open file of this process, which works without a name, too.
func path(file *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", file.Fd()) }

// ownUser is the user and group id of the child when the service is root. Distributions leave the
// numbers from 60706 to 61183 unused (systemd, "Users, Groups, UIDs and GIDs"). ffmpeg has 61000.
const ownUser = 61001

// reading is a program of Node that ends with status 0 if it can read files of a folder, its arguments.
const reading = `const [, folder, ...files] = process.argv; process.chdir(folder); for (const file of files) fs.readFileSync(file)`

// attributes returns the attributes that the kernel sets when it creates a child. As root, it tries
// which rights the child needs: a checkout in /root, for example, is readable by root only.
func (w *Worker) attributes(ctx context.Context) syscall.SysProcAttr {
	// In a session of its own, the child does not receive a Ctrl-C meant for the service.
	full := syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if os.Geteuid() != 0 {
		return full
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	read := append([]string{"-e", reading, w.opts.Dir}, needed...)
	few := full
	few.Credential = &syscall.Credential{Uid: ownUser, Gid: ownUser}
	err := w.node(ctx, few, read...).Run()
	if err == nil || ctx.Err() != nil { // a slow machine is no reason for more rights
		return few
	}
	user := slog.Int("user", ownUser)
	few.AmbientCaps = []uintptr{unix.CAP_DAC_READ_SEARCH}
	if w.node(ctx, few, read...).Run() == nil || ctx.Err() != nil {
		w.opts.Log.Warn("inference worker may read all files, because its user cannot read its program", user, "folder", w.opts.Dir, "node", w.opts.NodePath, "error", err)
		return few
	}
	w.opts.Log.Warn("inference worker runs as root, because its user cannot run its program", user, "folder", w.opts.Dir, "node", w.opts.NodePath, "error", err)
	return full
}
