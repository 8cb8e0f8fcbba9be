package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"vqa/gpu"
	"vqa/gpu/oip"
)

const (
	startTimeout = 60 * time.Second
	startWait    = 30 * time.Second
	timeout      = time.Minute
	heartbeat    = 5 * time.Second
	// missedHeartbeats is the number of missed heartbeats after which a child counts as
	// hung.
	missedHeartbeats = 3
	// patience is the factor of a limit by the clock over the same limit in processor time. Beside other
	// programs a child gets little of the processor: with 16 busy ones on two cores, 1/13 of its usual
	// time.
	patience = 10
	// niceness is added to the nice value of the service. Requests go first, and beside a program of
	// normal priority a thread keeps two fifths of a core.
	niceness   = 2
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
	// settled is the serving time after which a child counts as healthy.
	settled = 30 * time.Second
)

// Options of Start; the zero value of each field takes its default.
type Options struct {
	// Dir is the folder with src/main.js, node_modules and models; by default the one that find returns.
	Dir string
	// Threads is the number of frames processed at once; by default the processors that
	// this program may use.
	Threads int
	// NodePath is the node program; by default the one on the PATH.
	NodePath string
	// Timeout bounds the processor time of each thread during one request; by default a minute. A
	// request also ends after 10 times as long by the clock.
	Timeout time.Duration
	// Heartbeat is the time between two checks whether the child is alive, and the limit of
	// each; by default 5 s.
	Heartbeat time.Duration
	// Log records the output and the states of the child; by default slog.Default.
	Log *slog.Logger
}

// Worker is a supervised child process.
type Worker struct {
	opts   Options
	client *oip.Client
	stop   context.CancelFunc
	done   chan struct{}

	mu sync.Mutex
	// child is the process that serves, else nil; socket leads to its socket.
	child  *os.Process
	socket *os.File
	// changed is closed, and replaced, whenever child or closed changes.
	changed chan struct{}
	closed  bool
	// asked has the processor time of the child at the start of each request that it has not answered.
	asked map[*time.Duration]struct{}
}

// find returns the worker's folder: gpu/worker under the working directory or one of its
// parents, else beside or above the program.
func find() (string, error) {
	var roots []string
	if wd, err := os.Getwd(); err == nil {
		for dir := wd; ; dir = filepath.Dir(dir) {
			roots = append(roots, dir)
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if exe, err := os.Executable(); err == nil {
		roots = append(roots, filepath.Dir(exe), filepath.Dir(filepath.Dir(exe)))
	}
	for _, root := range roots {
		dir := filepath.Join(root, "gpu", "worker")
		if check(dir) == nil {
			return dir, nil
		}
	}
	return "", errors.New("inference worker: cannot find gpu/worker with its packages near the working directory or the program: run `make setup`")
}

// needed are the files of the worker's folder that show whether it is complete and can be read.
var needed = []string{"src/main.js", "node_modules/onnxruntime-node/package.json", "models/centernet.onnx"}

// check reports whether the worker can run from a folder.
func check(dir string) error {
	for _, file := range needed {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err != nil {
			return fmt.Errorf("inference worker: run `make setup`: %w", err)
		}
	}
	return nil
}

// Start spawns the child and returns at once. The child serves a second or two later, until
// Close is called or ctx ends. It returns an error without Node, or without a folder with
// installed packages.
func Start(ctx context.Context, opts Options) (*Worker, error) {
	var err error
	if opts.NodePath == "" {
		opts.NodePath = "node"
	}
	if opts.NodePath, err = exec.LookPath(opts.NodePath); err != nil {
		return nil, fmt.Errorf("inference worker: install Node 20.6 or later: %w", err)
	}
	if opts.Dir == "" {
		if opts.Dir, err = find(); err != nil {
			return nil, err
		}
	} else if opts.Dir, err = filepath.Abs(opts.Dir); err != nil {
		return nil, fmt.Errorf("inference worker: %w", err)
	} else if err := check(opts.Dir); err != nil {
		return nil, err
	}
	if opts.Threads <= 0 {
		opts.Threads = runtime.GOMAXPROCS(0)
	}
	if opts.Heartbeat <= 0 {
		opts.Heartbeat = heartbeat
	}
	if opts.Timeout <= 0 {
		opts.Timeout = timeout
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	lifetime, stop := context.WithCancel(ctx)
	w := &Worker{opts: opts, stop: stop, done: make(chan struct{}), changed: make(chan struct{}), asked: map[*time.Duration]struct{}{}}
	if w.client, err = oip.New("http://localhost", oip.Options{Timeout: patience * opts.Timeout, Dial: w.dial}); err != nil {
		stop()
		return nil, err
	}
	go w.supervise(lifetime)
	return w, nil
}

// Close ends the child and waits for it. It may be called again.
func (w *Worker) Close() {
	w.stop()
	<-w.done
	w.client.Close()
}

// Engine returns an engine that asks the current child.
func (w *Worker) Engine() gpu.Engine { return engine{w} }

// supervise keeps one child running until ctx ends.
func (w *Worker) supervise(ctx context.Context) {
	defer close(w.done)
	// The kernel ties the life of a child to the thread that made it, so that thread must
	// not end earlier.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer w.publish(nil, nil, true)
	attributes := w.attributes(ctx)
	backoff := minBackoff
	for ctx.Err() == nil {
		began := time.Now()
		err := w.runChild(ctx, attributes)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > settled {
			backoff = minBackoff
		}
		w.opts.Log.Warn("inference worker ended", "error", err, "restart_in", backoff)
		select {
		case <-ctx.Done():
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// publish wakes the callers that wait for a change of state.
func (w *Worker) publish(child *os.Process, socket *os.File, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.child, w.socket, w.closed = child, socket, closed
	close(w.changed)
	w.changed = make(chan struct{})
}

// dial connects to the child that serves.
func (w *Worker) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w.mu.Lock()
	socket, closed := w.socket, w.closed
	w.mu.Unlock()
	switch {
	case closed:
		return nil, errors.New("the inference worker is closed")
	case socket == nil:
		return nil, errors.New("the inference worker is starting")
	}
	return new(net.Dialer).DialContext(ctx, "unix", path(socket))
}

// await returns when a child serves, or with an error after startWait.
func (w *Worker) await(ctx context.Context) error {
	limit := time.NewTimer(startWait)
	defer limit.Stop()
	for {
		w.mu.Lock()
		up, closed, changed := w.child != nil, w.closed, w.changed
		w.mu.Unlock()
		if up || closed {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("inference: %w", context.Cause(ctx))
		case <-limit.C:
			return &gpu.UnavailableError{Err: errors.New("the inference worker did not start in time")}
		}
	}
}

// hung kills a child, if it still serves.
func (w *Worker) hung(child *os.Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if child != nil && w.child == child {
		w.opts.Log.Warn("inference worker hangs and was killed")
		_ = child.Kill() // it does not react to SIGTERM
	}
}

// engine waits for a starting child and kills a hung one.
type engine struct{ w *Worker }

// Detect implements gpu.Engine.
func (e engine) Detect(ctx context.Context, req gpu.Request) (gpu.Response, error) {
	if err := e.w.await(ctx); err != nil {
		return gpu.Response{}, err
	}
	child, answered := e.w.ask()
	defer answered()
	resp, err := e.w.client.Detect(ctx, req)
	if _, unavailable := errors.AsType[*gpu.UnavailableError](err); unavailable && errors.Is(err, context.DeadlineExceeded) {
		e.w.hung(child)
	}
	return resp, err
}

// Ready implements gpu.Engine.
func (e engine) Ready(ctx context.Context) error { return e.w.client.Ready(ctx) }

// Info implements gpu.Engine.
func (e engine) Info(ctx context.Context) (gpu.Info, error) {
	if err := e.w.await(ctx); err != nil {
		return gpu.Info{}, err
	}
	return e.w.client.Info(ctx)
}
