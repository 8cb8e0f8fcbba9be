package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// commandGrace is how long a command may hold its output open after its
// context ended and it was killed.
const commandGrace = 2 * time.Second

// identity is the account under which Postgres runs.
type identity struct {
	uid, gid int
	// switched: commands must change to this account (the program is root).
	switched bool
}

// unprivileged are the accounts that root gives Postgres to, best first.
var unprivileged = []string{"postgres", "nobody"}

// pickIdentity returns the account for the cluster in the folder data. Root
// keeps to the owner of a folder that exists, so that a cluster which an
// ordinary user made stays usable by that user.
func pickIdentity(data string) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	info, err := os.Stat(data)
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return identity{uid: int(st.Uid), gid: int(st.Gid), switched: true}, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return identity{}, fmt.Errorf("read the data folder: %w", err)
	}
	return unprivilegedIdentity()
}

func unprivilegedIdentity() (identity, error) {
	for _, name := range unprivileged {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID == nil && errGID == nil && uid != 0 {
			return identity{uid: uid, gid: gid, switched: true}, nil
		}
	}
	return identity{}, fmt.Errorf("Postgres refuses to run as root and this machine has none of the users %v: "+
		"create one (useradd --system postgres) or run the program as an ordinary user", unprivileged)
}

// command prepares a program that runs as this account in the folder dir.
// The environment is reduced: PG* variables of the caller would reach initdb
// and the server.
func (id identity) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.WaitDelay = commandGrace
	if id.switched {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(id.uid), Gid: uint32(id.gid)}, //nolint:gosec // ids come from the user database and are not negative
		}
	}
	return cmd
}

// reaches reports whether the account can enter the folder. It tries instead of
// computing from mode bits, which would miss access lists and mount options:
// the kernel changes to the folder after it changed the account.
func (id identity) reaches(ctx context.Context, dir string) bool {
	return id.command(ctx, dir, "/bin/sh", "-c", "exit 0").Run() == nil
}

// mkdir makes a folder of mode 0700 that belongs to this account.
func (id identity) mkdir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	return id.own(dir)
}

// own gives a file or folder to this account. It does nothing for an ordinary
// user, whose files belong to it already.
func (id identity) own(path string) error {
	if !id.switched {
		return nil
	}
	if err := os.Lchown(path, id.uid, id.gid); err != nil {
		return fmt.Errorf("give %s to the account of Postgres: %w", filepath.Base(path), err)
	}
	return nil
}

// checkOwner refuses a folder that belongs to somebody else: its owner could
// have put a password or a cluster of their own there.
func checkOwner(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("read folder: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	if euid := os.Geteuid(); euid != 0 && int(st.Uid) != euid {
		return fmt.Errorf("%s belongs to user %d, not to %d: choose another data folder, or change its owner", dir, st.Uid, euid)
	}
	return nil
}
