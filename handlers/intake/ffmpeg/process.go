package ffmpeg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"vqa/handlers/intake/ffmpeg/confine"
)

// killWait bounds the wait for the pipes of a killed process.
const killWait = 5 * time.Second

// Process is a running ffmpeg. It is for one goroutine, except that Stdin and Stdout may each
// be used by another one.
type Process struct {
	// Stdin is nil for a Job with an Input.
	Stdin io.WriteCloser
	// Stdout reads what ffmpeg writes to pipe:1.
	Stdout io.Reader

	ctx           context.Context //nolint:containedctx // its end kills the process; Wait reports its cause
	cmd           *exec.Cmd
	stdin, stdout *os.File
	stderr        tail
	limits        confine.Limits
	source        string
	output        string
	ended         chan struct{}
	err           error // result of cmd.Wait, set before ended is closed
}

// ExitError is returned when ffmpeg refused its input or reached a limit.
type ExitError struct {
	// Reason says how the process ended, for example "exit status 1".
	Reason string
	// Said is the end of its messages, at most 2 KiB, without the name of the source.
	Said string
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Said == "" {
		return "ffmpeg: " + e.Reason
	}
	return "ffmpeg: " + e.Reason + ": " + e.Said
}

// Complaint describes the problem with the input: the messages of ffmpeg, or the Reason when it
// wrote none.
func (e *ExitError) Complaint() string {
	if e.Said == "" {
		return e.Reason
	}
	return e.Said
}

// launch starts the program under its limits.
func (r *Runner) launch(ctx context.Context, c confine.Limits, args []string, job Job) (*Process, error) {
	c.Side = job.Side != nil
	limits, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("ffmpeg: %w", err)
	}
	p := &Process{ctx: ctx, limits: c, source: job.Input, output: job.Output, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, "/proc/self/exe")
	p.cmd.Args = append([]string{confine.Name, string(limits)}, args...)
	// The Go runtime starts faster without parallel garbage collection. The trampoline
	// replaces the environment before it executes ffmpeg.
	p.cmd.Env = []string{"GOGC=off", "GOMAXPROCS=1"}
	p.cmd.SysProcAttr = r.attributes(c)
	p.cmd.Stderr, p.cmd.WaitDelay = &p.stderr, killWait
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	theirs, err := p.pipes(job)
	// The child has its own copies.
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()
	if err == nil {
		err = p.start()
	}
	if err == nil && r.started != nil {
		r.started(p.cmd.Process.Pid)
	}
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("ffmpeg: start: %w", err)
	}
	return p, nil
}

// pipes connects the process and returns the ends of the pipes that belong to the child.
func (p *Process) pipes(job Job) (theirs []*os.File, err error) {
	var write, read *os.File
	if p.stdout, write, err = os.Pipe(); err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.Stdout = write, p.stdout
	theirs = append(theirs, write)
	if job.Input == "" {
		if read, p.stdin, err = os.Pipe(); err != nil {
			return theirs, err
		}
		p.cmd.Stdin, p.Stdin = read, p.stdin
		theirs = append(theirs, read)
	}
	if job.Side != nil {
		p.cmd.ExtraFiles = []*os.File{job.Side}
	}
	return theirs, nil
}

// start runs the command on a goroutine that keeps its thread until the child has ended; see
// the documentation of the package.
func (p *Process) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.ended)
		}
	}()
	return <-started
}

func (p *Process) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Kill ends the process. Wait must still be called.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }

// Wait closes Stdin and Stdout and waits until the process has ended. It returns an *ExitError
// when ffmpeg refused its input or reached a limit. It returns an error that wraps the cause
// when ctx ended. Any other error is a problem of the service or the machine.
func (p *Process) Wait() error {
	p.closePipes()
	<-p.ended
	switch {
	case p.full():
		return &ExitError{Reason: fmt.Sprintf("it wrote more than %d bytes", p.limits.FileBytes-1)}
	case p.err == nil:
		return nil
	case p.ctx.Err() != nil:
		return fmt.Errorf("ffmpeg: %w", context.Cause(p.ctx))
	}
	exit, exited := errors.AsType[*exec.ExitError](p.err)
	said := p.stderr.String()
	switch {
	case !exited:
		return fmt.Errorf("ffmpeg: %w", p.err)
	case exit.ExitCode() == confine.Failed && strings.HasPrefix(said, confine.Name):
		return fmt.Errorf("ffmpeg: %s", said)
	}
	if p.source != "" {
		said = strings.ReplaceAll(said, p.source, "source")
	}
	refused := &ExitError{Reason: exit.Error(), Said: said}
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case !status.Signaled():
	case status.Signal() == syscall.SIGKILL && p.spent(exit):
		refused.Reason = fmt.Sprintf("it used more than %d s of CPU time", p.limits.CPUSeconds)
	case status.Signal() == syscall.SIGKILL:
		// The input is not the cause: the process was killed, or memory ran out.
		return fmt.Errorf("ffmpeg: killed from outside after %v of CPU time", exit.UserTime()+exit.SystemTime())
	}
	return refused
}

// full reports whether the output has the one byte too many that its limit allows. The first process of a namespace gets no SIGXFSZ, and
// ffmpeg may exit with 0 after a write that failed.
func (p *Process) full() bool {
	info, err := os.Stat(p.output)
	return err == nil && uint64(info.Size()) >= p.limits.FileBytes //nolint:gosec // a size is not negative
}

// spent reports whether a killed process had used up its CPU time. The kernel enforces the
// limit more exactly than it reports the time of a killed process, so half of the limit is
// enough.
func (p *Process) spent(exit *exec.ExitError) bool {
	limit := time.Duration(p.limits.CPUSeconds) * time.Second //nolint:gosec // limits are set in this program and far below the range
	return exit.UserTime()+exit.SystemTime() >= limit/2
}

// Decode starts a job that reads source and writes to pipe:1. It implements frames.FFmpeg. The
// reader returns the output; its Close returns the result of Wait. The process is killed when
// ctx ends.
func (r *Runner) Decode(ctx context.Context, source string, input, output []string, side *os.File, cpu time.Duration) (io.ReadCloser, error) {
	p, err := r.Start(ctx, Job{Input: source, InputArgs: input, OutputArgs: output, Side: side, CPU: cpu})
	if err != nil {
		return nil, err
	}
	return decoding{p}, nil
}

// decoding is a process as a stream.
type decoding struct{ process *Process }

func (d decoding) Read(p []byte) (int, error) { return d.process.Stdout.Read(p) }
func (d decoding) Close() error               { return d.process.Wait() }

// Stream starts a job that reads its input from the caller and writes to pipe:1. It implements
// decode.FFmpeg. Close returns the result of Wait, which also closes the input. The process is
// killed when ctx ends.
func (r *Runner) Stream(ctx context.Context, input, output []string, side *os.File, cpu time.Duration) (io.ReadWriteCloser, error) {
	p, err := r.Start(ctx, Job{InputArgs: input, OutputArgs: output, Side: side, CPU: cpu})
	if err != nil {
		return nil, err
	}
	return streaming{decoding{p}}, nil
}

// streaming is a process that also takes input.
type streaming struct{ decoding }

func (s streaming) Write(p []byte) (int, error) { return s.process.Stdin.Write(p) }

// WriteFile starts a job that reads its input from the caller and writes the file at path, which
// has at most limit bytes. It implements record.FFmpeg. Close ends the input, waits and returns the
// result of Wait. The process is killed when ctx ends.
func (r *Runner) WriteFile(ctx context.Context, input, output []string, path string, limit int64, cpu time.Duration) (io.WriteCloser, error) {
	p, err := r.Start(ctx, Job{InputArgs: input, OutputArgs: output, Output: path, OutputBytes: limit, CPU: cpu})
	if err != nil {
		return nil, err
	}
	return streaming{decoding{p}}, nil
}

// Output runs a job to its end and returns its output on pipe:1. It returns an *ExitError when
// the output has more than limit bytes, and otherwise the errors of Start and Wait.
func (r *Runner) Output(ctx context.Context, job Job, limit int64) ([]byte, error) {
	p, err := r.Start(ctx, job)
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(p.Stdout, limit+1))
	if int64(len(out)) > limit {
		p.Kill()
		_ = p.Wait()
		return nil, &ExitError{Reason: fmt.Sprintf("it printed more than %d bytes", limit)}
	}
	if exit := p.Wait(); exit != nil {
		return nil, exit
	}
	if err != nil {
		return nil, fmt.Errorf("ffmpeg: output: %w", err)
	}
	return out, nil
}

// tail keeps the last bytes that are written to it, because ffmpeg may print without end.
type tail struct{ kept []byte }

const tailBytes = 2048

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - tailBytes; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

// String returns the kept bytes as text.
func (t *tail) String() string {
	return strings.ToValidUTF8(strings.TrimSpace(string(t.kept)), "?")
}
