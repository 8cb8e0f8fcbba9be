package ffmpeg_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

// render makes a clip without the runner and returns its path.
func render(t testing.TB, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", append(append([]string{"-nostdin", "-v", "error"}, args...), path)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func clip(t testing.TB) string {
	t.Helper()
	return render(t, "clip.mp4", "-f", "lavfi", "-i", "testsrc=s=64x48:r=10", "-t", "2", "-c:v", "libx264")
}

// checksums is a job that prints a line for each frame of an input.
func checksums(input string) ffmpeg.Job {
	return ffmpeg.Job{Input: input, OutputArgs: []string{"-map", "0:V:0", "-f", "framecrc", "pipe:1"}}
}

// refusal requires an *ExitError and returns it.
func refusal(t testing.TB, err error) *ffmpeg.ExitError {
	t.Helper()
	refused, ok := errors.AsType[*ffmpeg.ExitError](err)
	require.True(t, ok, "%v", err)
	return refused
}

func TestDecodesAFile(t *testing.T) {
	t.Parallel()
	out, err := ffmpegtest.Runner(t).Output(t.Context(), checksums(clip(t)), 1<<20)
	require.NoError(t, err)
	lines := 0
	for line := range bytes.Lines(out) {
		if line[0] != '#' {
			lines++
		}
	}
	require.Equal(t, 20, lines)
}

func TestWritesOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.mp4")
	job := ffmpeg.Job{
		InputArgs:  []string{"-f", "rawvideo", "-pix_fmt", "gray", "-video_size", "64x48"},
		OutputArgs: []string{"-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"},
		Output:     path, OutputBytes: 1 << 20,
	}
	p, err := ffmpegtest.Runner(t).Start(t.Context(), job)
	require.NoError(t, err)
	_, err = p.Stdin.Write(make([]byte, 10*64*48))
	require.NoError(t, err)
	require.NoError(t, p.Wait())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(content), "ftyp")
}

// TestMeasures: the machines that run these tests allow every measure, except containers that
// declare otherwise.
func TestMeasures(t *testing.T) {
	t.Parallel()
	for _, m := range ffmpegtest.Runner(t).Measures() {
		t.Logf("%s: %t: %s", m.Name, m.Active, m.Effect)
		require.NotEmpty(t, m.Effect)
		require.Equal(t, m.Active, m.Fix == "", m.Fix)
	}
}

// active skips a test of a measure that this machine lacks.
func active(t *testing.T, name string) {
	t.Helper()
	for _, m := range ffmpegtest.Runner(t).Measures() {
		if m.Name == name && !m.Active {
			t.Skipf("this machine has no %s: %s", name, m.Fix)
		}
	}
}

// TestEnvironmentIsEmpty sets a secret in the environment of the service and searches the
// environment of a running ffmpeg for it.
func TestEnvironmentIsEmpty(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "planted")
	p := idle(t, t.Context(), ffmpeg.Job{})
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p))
	require.NoError(t, err)
	require.Equal(t, "LC_ALL=C\x00", string(environ))
}

// idle starts ffmpeg, which waits for input until the test ends, and returns its pid.
func idle(t *testing.T, ctx context.Context, job ffmpeg.Job) int {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	job.Side = write
	// When one frame arrives on descriptor 3, ffmpeg is running and waits.
	job.InputArgs = []string{"-f", "rawvideo", "-pix_fmt", "gray", "-video_size", "16x16", "-probesize", "32"}
	job.OutputArgs = []string{"-flush_packets", "1", "-f", "framecrc", "pipe:3"}
	p, err := ffmpegtest.Runner(t).Start(ctx, job)
	require.NoError(t, err)
	require.NoError(t, write.Close())
	t.Cleanup(func() {
		p.Kill()
		require.Error(t, p.Wait())
		require.NoError(t, read.Close())
	})
	go func() { _, _ = p.Stdin.Write(make([]byte, 256*16*16)) }() // more than a pipe holds; ends with the process
	_, err = bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	return p.Pid()
}

func TestLimitsOfAProcess(t *testing.T) {
	t.Parallel()
	pid := idle(t, t.Context(), ffmpeg.Job{CPU: 1500 * time.Millisecond})
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	require.NoError(t, err)
	limits := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if len(line) > 46 {
			limits[strings.TrimSpace(line[:26])] = strings.Join(strings.Fields(line[26:])[:2], " ")
		}
	}
	for name, want := range map[string]string{
		"Max cpu time": "2 2", "Max file size": "0 0", "Max core file size": "0 0", "Max open files": "64 64",
		"Max address space": "4294967296 4294967296",
	} {
		require.Equal(t, want, limits[name], name)
	}
	status := statusOf(t, pid)
	require.Equal(t, "1", status["NoNewPrivs"])
	kept, err := strconv.ParseUint(status["CapPrm"], 16, 64)
	require.NoError(t, err)
	require.Zero(t, kept&^(1<<unix.CAP_DAC_READ_SEARCH), "capabilities %x", kept)
	group, err := unix.Getpgid(pid)
	require.NoError(t, err)
	require.Equal(t, pid, group)
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	require.NoError(t, err)
	require.Equal(t, 2, 20-raw, "other programs must not starve ffmpeg")
}

// TestDescriptorsAreNotInherited opens a file that child processes inherit, as the parent of
// the service may do.
func TestDescriptorsAreNotInherited(t *testing.T) {
	t.Parallel()
	fd, err := unix.Open("/dev/zero", unix.O_RDONLY, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	dir := fmt.Sprintf("/proc/%d/fd", idle(t, t.Context(), ffmpeg.Job{}))
	open, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range open {
		name, err := os.Readlink(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		require.NotEqual(t, "/dev/zero", name)
	}
}

func statusOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	status := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	return status
}

// TestOtherFilesCannotBeRead makes ffmpeg open a second file, as a security hole might.
func TestOtherFilesCannotBeRead(t *testing.T) {
	t.Parallel()
	active(t, "Landlock")
	input, other := clip(t), clip(t)
	for _, path := range []string{"/etc/passwd", other} {
		job := checksums(input)
		job.OutputArgs = append([]string{"-f", "data", "-i", "file:" + path}, job.OutputArgs...)
		_, err := ffmpegtest.Runner(t).Output(t.Context(), job, 1<<20)
		require.Contains(t, refusal(t, err).Said, "Permission denied", path)
	}
}

func TestOtherFilesCannotBeWritten(t *testing.T) {
	t.Parallel()
	active(t, "Landlock")
	other := filepath.Join(t.TempDir(), "other")
	job := checksums(clip(t))
	job.OutputArgs = append(job.OutputArgs, "-f", "framecrc", "file:"+other)
	_, err := ffmpegtest.Runner(t).Output(t.Context(), job, 1<<20)
	require.Contains(t, refusal(t, err).Said, "Permission denied")
	require.NoFileExists(t, other)
}

func TestOutputIsLimited(t *testing.T) {
	t.Parallel()
	job := checksums(clip(t))
	job.OutputArgs = []string{"-c:v", "rawvideo", "-f", "rawvideo"}
	job.Output, job.OutputBytes = filepath.Join(t.TempDir(), "out"), 10_000
	_, err := ffmpegtest.Runner(t).Output(t.Context(), job, 1<<20)
	require.Equal(t, "it wrote more than 10000 bytes", refusal(t, err).Reason)
	info, err := os.Stat(job.Output)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(10_001))
}

// TestALocalFileReachesNoNetwork: a job with a local file cannot connect to an address that
// accepts every connection.
func TestALocalFileReachesNoNetwork(t *testing.T) {
	t.Parallel()
	active(t, "network namespace")
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	met := make(chan struct{})
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_ = conn.Close()
			close(met)
		}
	}()
	job := checksums(clip(t))
	job.OutputArgs = append([]string{"-f", "data", "-i", "tcp://" + listener.Addr().String()}, job.OutputArgs...)
	_, err = ffmpegtest.Runner(t).Output(t.Context(), job, 1<<20)
	_ = refusal(t, err)
	require.NoError(t, listener.Close())
	select {
	case <-met:
		t.Error("ffmpeg connected")
	default:
	}
}

func TestCPULimit(t *testing.T) {
	t.Parallel()
	job := checksums(clip(t))
	// A source without end.
	job.OutputArgs = []string{"-f", "lavfi", "-i", "mandelbrot=s=1280x720", "-map", "1:v", "-f", "null", "-"}
	job.CPU = time.Second
	_, err := ffmpegtest.Runner(t).Output(t.Context(), job, 1<<20)
	require.Equal(t, "it used more than 1 s of CPU time", refusal(t, err).Reason)
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	gone := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	p, err := ffmpegtest.Runner(t).Start(ctx, ffmpeg.Job{InputArgs: []string{"-f", "rawvideo", "-video_size", "16x16"}, OutputArgs: []string{"-f", "null", "-"}})
	require.NoError(t, err)
	cancel(gone)
	_, _ = io.Copy(io.Discard, p.Stdout)
	require.ErrorIs(t, p.Wait(), gone)
	require.ErrorIs(t, unix.Kill(p.Pid(), 0), unix.ESRCH)
}

// TestKilledFromOutside: a kill is not an error of the input. Memory may have run out.
func TestKilledFromOutside(t *testing.T) {
	t.Parallel()
	p, err := ffmpegtest.Runner(t).Start(t.Context(), ffmpeg.Job{InputArgs: []string{"-f", "rawvideo", "-video_size", "16x16"}, OutputArgs: []string{"-f", "null", "-"}})
	require.NoError(t, err)
	require.NoError(t, unix.Kill(p.Pid(), unix.SIGKILL))
	_, _ = io.Copy(io.Discard, p.Stdout)
	err = p.Wait()
	require.ErrorContains(t, err, "killed from outside")
	_, refused := errors.AsType[*ffmpeg.ExitError](err)
	require.False(t, refused)
}

func TestSpecialFilesAreRefused(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, t.TempDir(), "/dev/zero"} {
		_, err := ffmpegtest.Runner(t).Start(t.Context(), checksums(path))
		require.ErrorContains(t, err, "not a regular file")
	}
}

// TestMessagesLeaveOutTheSource: a URL may be signed.
func TestMessagesLeaveOutTheSource(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret-name.mp4")
	require.NoError(t, os.WriteFile(path, []byte("this is not a video"), 0o600))
	_, err := ffmpegtest.Runner(t).Output(t.Context(), checksums(path), 1<<20)
	require.NotContains(t, err.Error(), "secret-name")
	require.Contains(t, refusal(t, err).Complaint(), "Invalid data")
}

// servant is set in the environment of a test binary that runs as a service and is killed.
const servant = "VQA_TEST_FFMPEG_SERVANT"

// TestDiesWithTheService kills a process with SIGKILL and waits for the ffmpeg that it
// started.
func TestDiesWithTheService(t *testing.T) {
	if os.Getenv(servant) != "" {
		// An endless source without output: the end of a pipe would stop ffmpeg too.
		p, err := ffmpegtest.Runner(t).Start(t.Context(), ffmpeg.Job{
			InputArgs:  []string{"-f", "rawvideo", "-video_size", "16x16"},
			OutputArgs: []string{"-re", "-f", "lavfi", "-i", "color=s=16x16", "-map", "1:v", "-v", "quiet", "-f", "null", "-"},
		})
		require.NoError(t, err)
		_, err = p.Stdin.Write(make([]byte, 16*16*3/2))
		require.NoError(t, err)
		fmt.Println("pid", p.Pid())
		select {}
	}
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run", "^TestDiesWithTheService$")
	cmd.Env = append(os.Environ(), servant+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pid int
	_, err = fmt.Fscanf(out, "pid %d\n", &pid)
	require.NoError(t, err)
	child, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(child) }()
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(child), Events: unix.POLLIN}}, 10_000)
	require.NoError(t, err)
	require.Equal(t, 1, ready, "ffmpeg outlives the service")
}

func TestOldAndMissingPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
		return path
	}
	old := script("old", "echo 'ffmpeg version 4.1.3-static Copyright'")
	other := script("other", "echo hello")
	missing := filepath.Join(dir, "missing")
	_, err := ffmpeg.New(t.Context(), missing, old, other)
	require.ErrorContains(t, err, old+" is release 4.1.3-static, which is too old: 5.1 or newer is needed")
	require.ErrorContains(t, err, other+" does not work: it is not ffmpeg")
	_, err = ffmpeg.New(t.Context(), missing)
	require.ErrorContains(t, err, "not found")
	r, err := ffmpeg.New(t.Context(), old, "ffmpeg")
	require.NoError(t, err, "the second program is new enough")
	want, err := exec.LookPath("ffmpeg")
	require.NoError(t, err)
	require.Equal(t, want, r.Path())
}
