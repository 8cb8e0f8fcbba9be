package main_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The end-to-end tests run the real program: its own Postgres, its own worker, its
// real HTTP interface.

const (
	buildTimeout = 5 * time.Minute
	// startTimeout covers the creation of a Postgres cluster and the loading of the models on a slow
	// machine.
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
	// toolTimeout bounds a subcommand.
	toolTimeout = time.Minute
)

// workshop is the folder of all files that these tests create. As root, Postgres runs as another
// user, so other users must be able to enter it.
var workshop string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	// The tests mostly wait for processes, so more of them run at once than there are cores.
	flag.Parse()
	if err := selectTests(); err != nil {
		return 1, err
	}
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			return 1, err
		}
	}
	if workshop, err = os.MkdirTemp("", "vqa-e2e-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(workshop)) }()
	if err := os.Chmod(workshop, 0o755); err != nil {
		return 1, err
	}
	// The servers of the tests are not those of the user.
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(workshop, "state")); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, errors.Join(closeShared(), closeWorker())
}

// binary builds the program once.
var binary = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	path := filepath.Join(workshop, "vqa")
	out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the program: %w: %s", err, out)
	}
	return path, nil
})

// service is the program with its own data folder. It can be started several times.
type service struct {
	binary, dir, addr string
	// flags are those of vqa serve.
	env, flags []string
	cmd        *exec.Cmd
	exited     chan struct{}
	said       *journal
}

// newService prepares a service. settings are additional variables, NAME=value.
func newService(settings ...string) (*service, error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(workshop, "data-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	// The port must be known before the start, because the public URL contains it.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{binary: path, dir: dir, addr: listener.Addr().String(), said: &journal{}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "VQA_") || strings.HasPrefix(v, "VQA_POSTGRES_BIN=") {
			s.env = append(s.env, v)
		}
	}
	// The demo videos would take the cores from every test. TestDemoVideos enables them.
	s.env = append(s.env, "VQA_ADDR="+s.addr, "VQA_DATA_DIR="+dir, "VQA_DEMO=false")
	// Tests send more requests than a client may. The tests of the limits set their own values.
	s.env = append(s.env, "VQA_RATE_READS=1000000", "VQA_RATE_WRITES=1000000", "VQA_RATE_ANALYSES_CREATE=1000000")
	if !slices.ContainsFunc(settings, func(v string) bool { return strings.HasPrefix(v, embeddedWorker) }) {
		worker, err := sharedWorker()
		if err != nil {
			return nil, err
		}
		s.env = append(s.env, embeddedWorker+"http://"+worker.addr)
	}
	s.env = append(s.env, settings...)
	return s, listener.Close()
}

// launch starts the process.
func (s *service) launch() error {
	s.cmd = exec.Command(s.binary, append([]string{"serve"}, s.flags...)...)
	s.cmd.Env = s.env
	s.cmd.Stderr = s.said
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func() { defer close(s.exited); _ = s.cmd.Wait() }()
	return nil
}

// start runs the service until it is ready.
func (s *service) start() error {
	if err := s.launch(); err != nil {
		return err
	}
	ready := func() bool {
		resp, err := http.Get("http://" + s.addr + "/readyz")
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	if !pollEvery(100*time.Millisecond, startTimeout, func() bool { return ready() || !s.running() }) || !s.running() {
		return fmt.Errorf("the service did not become ready:\n%s", s.said)
	}
	return nil
}

func (s *service) running() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// kill ends the process like a crash. Its child processes end too, except Postgres.
func (s *service) kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
}

// terminate sends SIGTERM to the process and returns an error unless it exits with status 0.
func (s *service) terminate() error {
	if s.cmd == nil || !s.running() {
		return nil
	}
	before := len(s.said.String())
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.exited:
	case <-time.After(stopTimeout):
		s.kill()
		return fmt.Errorf("the service did not stop:\n%s", s.said)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the service ended with status %d:\n%s", code, s.said)
	}
	if last := s.said.String()[before:]; strings.Contains(last, "streams were cut off") {
		return fmt.Errorf("the service gave up its live streams, whose ends it could record:\n%s", last)
	}
	return nil
}

// tool runs a subcommand on the data of the service and returns its output.
func (s *service) tool(t testing.TB, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Env = s.env
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	require.NoError(t, err, "vqa %s: %s%s", strings.Join(args, " "), out, &complaint)
	return out
}

// ownService starts a service for one test.
func ownService(t *testing.T, settings ...string) *service {
	t.Helper()
	s := ownServiceLater(t, settings...)
	require.NoError(t, s.start())
	return s
}

// ownServiceLater prepares a service that the test starts. It ends with the test.
func ownServiceLater(t *testing.T, settings ...string) *service {
	t.Helper()
	s, err := newService(settings...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if s.cmd != nil && !s.running() {
			// Postgres survives a kill. The next process adopts it and ends it.
			if err := s.start(); err != nil {
				t.Error(err)
				return
			}
		}
		if err := s.terminate(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("output of the service:\n%s", s.said)
		}
	})
	return s
}

// shared is the service that most tests use.
var shared struct {
	sync.Once
	*service
	err error
}

func sharedService(t testing.TB) *service {
	t.Helper()
	shared.Do(func() {
		s, err := newService("VQA_MAX_CONCURRENT_ANALYSES=64", "VQA_CAP_LOOPBACK=true")
		if err == nil {
			err = s.start()
		}
		shared.service, shared.err = s, err
	})
	require.NoError(t, shared.err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("output of the service:\n%s", shared.said)
		}
	})
	return shared.service
}

func closeShared() error {
	if shared.service == nil {
		return nil
	}
	return shared.terminate()
}

// poll calls ok until it is true, at most for patience.
func poll(patience time.Duration, ok func() bool) bool {
	return pollEvery(20*time.Millisecond, patience, ok)
}

func pollEvery(pause, patience time.Duration, ok func() bool) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

// journal keeps the end of a process's output.
type journal struct {
	mu   sync.Mutex
	text []byte
}

const journalBytes = 1 << 20

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text = append(j.text, p...)
	j.text = j.text[max(0, len(j.text)-journalBytes):]
	return len(p), nil
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return string(j.text)
}
