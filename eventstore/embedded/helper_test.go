package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// helperEnv is the variable that makes this test binary a user of the server in a folder. It prints the server's URL
// and runs until its input ends.
const helperEnv = "VQA_EMBEDDED_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		if err := helper(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func helper(dir string) error {
	ctx := context.Background()
	s, err := Start(ctx, Options{
		Dir: dir, Ephemeral: os.Getenv(helperEnv+"_EPHEMERAL") != "", reapAfter: time.Second,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	supervised, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	if os.Getenv(helperEnv+"_SUPERVISE") != "" {
		work.Go(func() { s.Supervise(supervised) })
	}
	fmt.Println(s.URL("postgres"))
	_, err = io.Copy(io.Discard, os.Stdin)
	stop()
	work.Wait()
	return errors.Join(err, s.Close(ctx))
}

// guest is another process that uses a server.
type guest struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
}

// startGuest starts a helper process and waits until it uses the server. change may change the command first.
func startGuest(t *testing.T, dir string, change func(*exec.Cmd)) *guest {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+dir)
	cmd.Stderr = os.Stderr
	if change != nil {
		change(cmd)
	}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the helper did not get the server")
	return &guest{cmd: cmd, stdin: in, url: strings.TrimSpace(url)}
}

func (u *guest) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, u.cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, u.cmd.Wait())
}

func (u *guest) leave(t *testing.T) {
	t.Helper()
	require.NoError(t, u.stdin.Close())
	require.NoError(t, u.cmd.Wait())
}

// folder returns a folder that the account of Postgres can reach. It stops a remaining server when the test ends.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vqa-embedded-") //nolint:usetesting // t.TempDir is in a folder of mode 0700
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { discard(t, dir) })
	return filepath.Join(dir, "postgres")
}

// discard stops the server of a failed test and removes its folders.
func discard(t *testing.T, parent string) {
	t.Helper()
	dir := filepath.Join(parent, "postgres")
	place := filepath.Join(dir, "cluster")
	if text, err := os.ReadFile(filepath.Join(dir, "location")); err == nil {
		place = strings.TrimSpace(string(text))
	}
	c := cluster{dir: place, home: dir}
	if pm, ok, err := c.running(); err == nil && ok {
		_ = syscall.Kill(pm.pid, syscall.SIGQUIT)
		waitUntil(t, "the server to end", func() bool { return gone(pm.pid) })
	}
	if place != filepath.Join(dir, "cluster") {
		require.NoError(t, os.RemoveAll(place))
	}
	require.NoError(t, os.RemoveAll(parent))
}

// gone reports whether a process has ended. A zombie counts as ended.
func gone(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err != nil
}

// waitUntil polls, because the end of a process that is not a child gives no signal.
func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Errorf("timed out waiting for %s", what)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func start(t *testing.T, opts Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), opts)
	require.NoError(t, err)
	return s
}

// closeServer closes the server with a context that outlives the test.
func closeServer(t *testing.T, s *Server) {
	t.Helper()
	require.NoError(t, s.Close(context.Background()))
}

// query runs SQL on a new connection and returns the first value, if any.
func query(t *testing.T, url, sql string) (string, error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var value string
	for rows.Next() {
		if err := rows.Scan(&value); err != nil {
			return "", err
		}
	}
	return value, rows.Err()
}

func mustQuery(t *testing.T, url, sql string) string {
	t.Helper()
	value, err := query(t, url, sql)
	require.NoError(t, err)
	return value
}

// listen takes a port of the loopback interface.
func listen(t *testing.T, port int) (net.Listener, error) {
	t.Helper()
	var lc net.ListenConfig
	return lc.Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
