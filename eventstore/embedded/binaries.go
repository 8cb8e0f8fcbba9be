package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNoBinaries means that no installed Postgres programs can serve the data folder and that none
// could be downloaded. The message says what to install.
var ErrNoBinaries = errors.New("no suitable Postgres binaries")

// versionTimeout bounds "postgres --version", which takes milliseconds.
const versionTimeout = 5 * time.Second

// oldestMajor is the oldest release on which the migrations are tested.
const oldestMajor = 14

// systemGlob matches the folders of servers on Debian and Ubuntu, which are not in PATH.
const systemGlob = "/usr/lib/postgresql/*/bin"

// binaries is a folder with initdb, pg_ctl and postgres of one major release.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// finder looks for binaries. Its fields say where, so that tests can change that.
type finder struct {
	explicit string // Options.BinDir; when set, no other folder is tried
	glob     string // pattern of system folders; empty: none
	lookPath func(string) (string, error)
	cacheDir string // where fetched archives are unpacked
	log      *slog.Logger
}

// find returns binaries for a cluster of the release major. When major is 0, for a new cluster, it
// returns the first binaries found.
func (f finder) find(ctx context.Context, major int) (binaries, error) {
	if f.explicit != "" {
		return f.findExplicit(ctx, major)
	}
	var seen []string
	for _, dir := range f.candidates(ctx) {
		b, err := inspect(ctx, dir)
		if err != nil {
			continue // not a server installation; try the next folder
		}
		if b.major == major || (major == 0 && b.major >= oldestMajor) {
			return b, nil
		}
		seen = append(seen, fmt.Sprintf("%d in %s", b.major, dir))
	}
	b, err := f.fetch(ctx, major)
	if err != nil {
		return binaries{}, fmt.Errorf("%w: %s (installed: %s): %w", ErrNoBinaries, need(major), orNone(seen), err)
	}
	return b, nil
}

func (f finder) findExplicit(ctx context.Context, major int) (binaries, error) {
	b, err := inspect(ctx, f.explicit)
	if err != nil {
		return binaries{}, fmt.Errorf("%w: in the configured folder: %w", ErrNoBinaries, err)
	}
	if major != 0 && b.major != major {
		return binaries{}, fmt.Errorf("%w: the configured folder %s holds Postgres %d: %s", ErrNoBinaries, b.dir, b.major, need(major))
	}
	return b, nil
}

func need(major int) string {
	if major == 0 {
		return fmt.Sprintf("install PostgreSQL %d or newer (Debian: apt-get install postgresql)", oldestMajor)
	}
	return fmt.Sprintf("the data folder was made by PostgreSQL %d and needs exactly that release: "+
		"install it (Debian: apt-get install postgresql-%d), or move the data over with pg_upgrade", major, major)
}

func orNone(seen []string) string {
	if len(seen) == 0 {
		return "none"
	}
	return strings.Join(seen, ", ")
}

// candidates lists the folders to try, best first: the one that pg_config names, the one in PATH, then
// the system folders from the newest release to the oldest.
func (f finder) candidates(ctx context.Context) []string {
	var dirs []string
	if p, err := f.lookPath("pg_config"); err == nil {
		ctx, cancel := context.WithTimeout(ctx, versionTimeout)
		defer cancel()
		if out, err := exec.CommandContext(ctx, p, "--bindir").Output(); err == nil {
			dirs = append(dirs, strings.TrimSpace(string(out)))
		}
	}
	if p, err := f.lookPath("pg_ctl"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	system, _ := filepath.Glob(f.glob) // fails only on a malformed pattern
	sort.Slice(system, func(i, j int) bool { return globMajor(system[i]) > globMajor(system[j]) })
	return append(dirs, system...)
}

func globMajor(dir string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	if err != nil {
		return 0
	}
	return n
}

var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect returns the release of the server in dir.
func inspect(ctx context.Context, dir string) (binaries, error) {
	for _, program := range []string{"initdb", "pg_ctl", "postgres"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return binaries{}, fmt.Errorf("look for Postgres: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := version(ctx, filepath.Join(dir, "postgres"))
	if err != nil {
		return binaries{}, fmt.Errorf("ask %s for its version: %w", dir, err)
	}
	m := versionPattern.FindSubmatch(out)
	if m == nil {
		return binaries{}, fmt.Errorf("ask %s for its version: unexpected output %q", dir, out)
	}
	major, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return binaries{}, fmt.Errorf("ask %s for its version: %w", dir, err)
	}
	return binaries{dir: dir, major: major}, nil
}

// busyRetry is the pause before a program that is still open for writing is started again.
const busyRetry = 20 * time.Millisecond

// version returns the output of a program with --version. A program that was just unpacked may be
// busy for a moment: a child that this process forks at that time holds the file open for writing
// until it executes its own program.
func version(ctx context.Context, program string) ([]byte, error) {
	for {
		out, err := exec.CommandContext(ctx, program, "--version").Output()
		if !errors.Is(err, syscall.ETXTBSY) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(busyRetry):
		}
	}
}
