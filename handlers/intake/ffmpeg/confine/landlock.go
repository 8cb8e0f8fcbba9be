package confine

import (
	"errors"
	"fmt"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The rights of the rules. A folder also gives its rights to what is in it.
const (
	readFile   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readFolder = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile  = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	connectTCP = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
)

// handled returns all rights that an ABI version of Landlock can refuse
// (https://docs.kernel.org/userspace-api/landlock.html).
func handled(abi int) landlock.RulesetAttr {
	all := landlock.RulesetAttr{HandledAccessFS: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	if abi >= 2 {
		all.HandledAccessFS |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		all.HandledAccessFS |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		all.HandledAccessNet = unix.LANDLOCK_ACCESS_NET_BIND_TCP | connectTCP
	}
	if abi >= 5 {
		all.HandledAccessFS |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		all.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return all
}

// restrictFiles limits files, TCP ports and signals of this thread, which then executes ffmpeg. An older
// kernel enforces the part that it supports. Package landlock itself restricts all threads, and looks for
// them in /proc by the process id. In a namespace of processes, this is the id of another process in /proc.
func (l Limits) restrictFiles() error {
	abi, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return err
	}
	all := handled(abi)
	rules, err := landlock.LandlockCreateRuleset(&all, 0)
	if err != nil {
		return fmt.Errorf("make the rules: %w", err)
	}
	for _, granted := range []struct {
		paths  []string
		access uint64
	}{{l.Folders, readFolder}, {l.Read, readFile}, {l.Write, writeFile}} {
		for _, path := range granted.paths {
			if err := allow(rules, path, granted.access&all.HandledAccessFS); err != nil {
				return fmt.Errorf("allow %s: %w", path, err)
			}
		}
	}
	for _, port := range l.Ports {
		if all.HandledAccessNet == 0 {
			break
		}
		if err := landlock.LandlockAddNetPortRule(rules, &landlock.NetPortAttr{AllowedAccess: connectTCP, Port: uint64(port)}, 0); err != nil {
			return fmt.Errorf("allow port %d: %w", port, err)
		}
	}
	return landlock.LandlockRestrictSelf(rules, 0)
}

// allow adds a rule for a path. A missing one is ignored.
func allow(rules int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(landlock.LandlockAddPathBeneathRule(rules, &landlock.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}, 0), unix.Close(fd))
}
