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

// commandGrace is how long the output of a command may stay open after its context has ended and it was
// killed.
const commandGrace = 2 * time.Second

// identity is the account under which Postgres runs.
type identity struct {
	uid, gid int
	// switched is true when commands must change to this account, because the program is root.
	switched bool
}

// unprivileged lists the accounts that root may run Postgres under, best first.
var unprivileged = []string{"postgres", "nobody"}

// pickIdentity returns the account for the cluster in the folder data. Root uses the owner of an
// existing folder, so that a cluster of an ordinary user stays usable by that user.
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

// command prepares a program that runs as this account in the folder dir. It does not pass on the
// environment, because PG* variables of the caller would affect initdb and the server.
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

// reaches reports whether the account can enter the folder. It starts a program there, because the mode
// bits do not show access lists and mount options. The kernel enters the folder after it has changed
// the account.
func (id identity) reaches(ctx context.Context, dir string) bool {
	return id.command(ctx, dir, "/bin/sh", "-c", "exit 0").Run() == nil
}

// mkdir makes a folder of mode 0700 that this account owns.
func (id identity) mkdir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	return id.own(dir)
}

// own makes this account the owner of a file or folder. It does nothing for an ordinary user, who owns
// the files already.
func (id identity) own(path string) error {
	if !id.switched {
		return nil
	}
	if err := os.Lchown(path, id.uid, id.gid); err != nil {
		return fmt.Errorf("give %s to the account of Postgres: %w", filepath.Base(path), err)
	}
	return nil
}

// checkOwner refuses a folder of another user. That user could have put a password or a cluster there.
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
