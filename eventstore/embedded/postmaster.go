package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	startTimeout = 60 * time.Second // crash recovery may take long
	stopTimeout  = 30 * time.Second
	pingTimeout  = 3 * time.Second
	pingPoll     = 20 * time.Millisecond
	portAttempts = 5
	logTail      = 4 << 10 // bytes of a log in an error
)

// postmaster is the content of postmaster.pid, which a running server writes.
type postmaster struct {
	pid, port int
}

// running reads postmaster.pid. ok is false when no server runs on the data folder.
func (c cluster) running() (pm postmaster, ok bool, err error) {
	lines, err := c.pidFile()
	if err != nil || len(lines) < 4 {
		return pm, false, err // missing, being written, or truncated by a crash
	}
	pid, errPID := strconv.Atoi(strings.TrimSpace(lines[0]))
	port, errPort := strconv.Atoi(strings.TrimSpace(lines[3]))
	if errPID != nil || errPort != nil {
		return pm, false, nil //nolint:nilerr // Postgres checks an unreadable file when it starts
	}
	// The working folder of a postmaster is its data folder. The working folder of a dead
	// process, a zombie or another user's process cannot be read.
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return pm, false, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return postmaster{pid: pid, port: port}, err == nil && same(cwd, c.data()), nil
}

func (c cluster) pidFile() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read postmaster.pid: %w", err)
	}
	return strings.Split(string(text), "\n"), nil
}

// unusedPID is above the largest process id of Linux (2^22).
const unusedPID = "4194305"

// clearStaleFiles prepares the files of a dead server for a start. It deletes the sockets, whose folder
// only this cluster uses, and replaces the process id in postmaster.pid. The caller has checked that
// no server runs.
//
// Postgres refuses to start while the process id in postmaster.pid exists, even as a zombie or as
// another process of its account. Both are common in containers, where process ids start at 1 and
// zombies may stay. The rest of the file stays, so that Postgres still detects backends that
// outlived their postmaster.
func (c cluster) clearStaleFiles(socketDir string) error {
	sockets, _ := filepath.Glob(filepath.Join(socketDir, ".s.PGSQL.*")) // fails only on a malformed pattern
	for _, path := range sockets {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove a stale socket: %w", err)
		}
	}
	lines, err := c.pidFile()
	if err != nil || len(lines) == 0 {
		return err
	}
	lines[0] = unusedPID
	path := filepath.Join(c.data(), "postmaster.pid")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		return fmt.Errorf("correct a stale postmaster.pid: %w", err)
	}
	return nil
}

func same(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}

// launch starts the server and returns its port. With a port that is not 0 it uses only that one. Else
// it uses the port of the last start when that is free, so that a noted URL stays valid.
func (c cluster) launch(ctx context.Context, bin binaries, only int, settings ...map[string]string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.endOrphans(ctx); err != nil {
		return 0, err
	}
	socket, err := c.socketDir()
	if err != nil {
		return 0, err
	}
	if err := c.clearStaleFiles(socket); err != nil {
		return 0, err
	}
	wanted := only
	if wanted == 0 {
		wanted = c.notedPort()
	}
	for attempt := 1; ; attempt++ {
		port, err := freePort(ctx, wanted)
		if err != nil {
			return 0, err
		}
		if only != 0 && port != only {
			return 0, fmt.Errorf("another program listens on port %d, which the users of this server have noted: stop that program", only)
		}
		fixed := map[string]string{
			"port": strconv.Itoa(port), "unix_socket_directories": socket, "log_directory": c.logs(),
		}
		if err := c.configure(append(append([]map[string]string{baseSettings()}, settings...), fixed)...); err != nil {
			return 0, err
		}
		err = c.pgCtl(ctx, bin, "start", startTimeout)
		if err == nil {
			if err := os.WriteFile(c.portFile(), []byte(strconv.Itoa(port)+"\n"), 0o600); err != nil {
				return 0, fmt.Errorf("write port: %w", err)
			}
			return port, nil
		}
		// Another program may take the port between the check and the start.
		if only != 0 || attempt == portAttempts || !strings.Contains(err.Error(), "Address already in use") {
			return 0, err
		}
		wanted = 0
	}
}

func (c cluster) portFile() string { return filepath.Join(c.home, "port") }

// notedPort returns the port of the last start, or 0.
func (c cluster) notedPort() int {
	text, err := os.ReadFile(c.portFile())
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(strings.TrimSpace(string(text))) // 0 when unreadable
	return port
}

// freePort returns wanted when that port is free, else a port that the kernel chooses.
func freePort(ctx context.Context, wanted int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted)))
	if err != nil && wanted != 0 {
		l, err = lc.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, nil
}

// pgCtl runs "pg_ctl start" or "pg_ctl stop" and waits until the server has started or stopped.
func (c cluster) pgCtl(ctx context.Context, bin binaries, action string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit+commandGrace)
	defer cancel()
	startLog := filepath.Join(c.logs(), "start.log")
	args := []string{action, "--pgdata=" + c.data(), "--wait", "--silent", fmt.Sprintf("--timeout=%d", int(limit.Seconds()))}
	if action == "start" {
		if err := os.Remove(startLog); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the old start log: %w", err)
		}
		args = append(args, "--log="+startLog)
	} else {
		args = append(args, "--mode=fast")
	}
	out, err := c.id.command(ctx, c.dir, bin.path("pg_ctl"), args...).CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("pg_ctl %s: %w: %s\n%s", action, err, lastLines(string(out)), c.tail())
}

// ping waits until the server responds to a query.
func (c cluster) ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := pingOnce(ctx, url)
		if err == nil {
			return nil
		}
		if refused(err) {
			return fmt.Errorf("the database refuses the connection: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the database does not respond: %w\n%s", err, c.tail())
		case <-time.After(pingPoll):
		}
		// The server was shutting down and has ended. The caller starts a new one.
		if _, ok, errRun := c.running(); errRun != nil || !ok {
			return errors.Join(errGone, errRun)
		}
	}
}

// refused reports whether the server responded with a permanent error, such as a wrong password. 57P03
// means that it is starting up or shutting down.
func refused(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code != "57P03"
}

// errGone says that the server ended while Start waited for its response.
var errGone = errors.New("the server has ended")

func pingOnce(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // an error here is harmless
	return conn.Ping(ctx)
}

func serverURL(port int, password, database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/" + database,
		RawQuery: "sslmode=disable", // loopback only; the server has no certificate
	}
	return u.String()
}

// tail returns the last lines of the server's logs: the one before its log collector started and the
// newest one after that.
func (c cluster) tail() string {
	files, _ := filepath.Glob(filepath.Join(c.logs(), "*.log")) // fails only on a malformed pattern
	newest, at := "", time.Time{}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && filepath.Base(f) != "start.log" && info.ModTime().After(at) {
			newest, at = f, info.ModTime()
		}
	}
	var b strings.Builder
	for _, f := range []string{filepath.Join(c.logs(), "start.log"), newest} {
		if text := readTail(f); text != "" {
			fmt.Fprintf(&b, "%s:\n%s\n", f, text)
		}
	}
	return strings.TrimSpace(b.String())
}

func readTail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "" // without a log the error has no details
	}
	defer func() { _ = f.Close() }() // reading only
	if info, err := f.Stat(); err == nil && info.Size() > logTail {
		if _, err := f.Seek(-logTail, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, _ := io.ReadAll(io.LimitReader(f, logTail)) // on an error, use the part that was read
	return lastLines(string(text))
}

// lastLines returns the last twelve lines of text.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
