package ffmpeg

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shell runs a shell script in place of ffmpeg, under the limits of a job. It returns the output
// of both streams.
func shell(t *testing.T, m measures, job Job, script string) string {
	t.Helper()
	r := &Runner{program: "/bin/bash", measures: m}
	c, err := r.confine(job)
	require.NoError(t, err)
	p, err := r.launch(t.Context(), c, []string{"-c", script}, job)
	require.NoError(t, err)
	out, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	err = p.Wait()
	if refused, ok := errors.AsType[*ExitError](err); ok {
		return string(out) + refused.Said
	}
	require.NoError(t, err)
	return string(out)
}

// found returns the measures that this machine allows. It skips the test without bash, which
// stands for a decoder under the control of an attacker.
func found(t *testing.T) measures {
	t.Helper()
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("needs /bin/bash")
	}
	r, err := New(t.Context())
	require.NoError(t, err)
	return r.measures
}

// TestATakenOverProcess tries the attacks of a decoder under the control of an attacker, under
// each measure alone. Each attack succeeds without the measure, so the test proves its effect.
func TestATakenOverProcess(t *testing.T) {
	t.Parallel()
	have := found(t)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("planted\n"), 0o600))
	input := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(input, []byte("input\n"), 0o600))
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	connect := fmt.Sprintf("exec 7<>/dev/tcp/127.0.0.1/%d && echo reached", listener.Addr().(*net.TCPAddr).Port)
	readSecret, readInput := "read x <"+secret+" && echo $x", "read x <"+input+" && echo $x"

	type attempt struct {
		name, script, succeeds string
		with                   measures
		job                    Job
	}
	files, calls, network := measures{landlock: have.landlock}, measures{seccomp: have.seccomp}, measures{isolation: have.isolation}
	local := Job{Input: input}
	attempts := []attempt{
		{"reads another file", readSecret, "planted", files, local},
		{"reads the accounts of the machine", "read x </etc/passwd && echo reached", "reached", files, local},
		{"writes another file", "echo reached >" + secret + ".new; read x <" + secret + ".new; echo $x", "reached", files, Job{Input: input, Output: input + ".out", OutputBytes: 100}},
		{"lists a folder", "cd /etc; for f in *; do echo $f; done", "passwd", files, local},
		{"starts a process", "(echo reached)", "reached", calls, local},
		{"connects in spite of the namespace", connect, "reached", network, local},
		{"connects to another port than the source's", connect, "reached", files, Job{Input: "http://127.0.0.1:1/"}},
	}
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			if a.with == (measures{}) || a.with.landlock > 0 && a.with.landlock < 4 && a.job.Input != input {
				t.Skip("this machine lacks the measure")
			}
			require.Contains(t, shell(t, measures{}, a.job, a.script), a.succeeds, "without the measure")
			require.NotContains(t, shell(t, a.with, a.job, a.script), a.succeeds)
		})
	}
	t.Run("reads its input", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "input\n", shell(t, have, local, readInput))
	})
	t.Run("connects to its source", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "reached\n", shell(t, have, Job{Input: "http://" + listener.Addr().String() + "/clip"}, connect))
	})
	t.Run("has no environment", func(t *testing.T) {
		t.Parallel()
		require.NotContains(t, shell(t, measures{}, local, "export -p"), "HOME=")
	})
}

// TestConfinementIsQuiet: the confinement makes no library print messages. They would be taken
// for messages of ffmpeg about the input.
func TestConfinementIsQuiet(t *testing.T) {
	t.Parallel()
	r, err := New(t.Context())
	require.NoError(t, err)
	p, err := r.Start(t.Context(), Job{OutputArgs: []string{"-version"}})
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, p.Stdout)
	require.NoError(t, err)
	require.NoError(t, p.Wait())
	require.Empty(t, p.stderr.String())
}

// TestLimitsOnEveryKernel: rlimits hold without Landlock, seccomp and namespaces.
func TestLimitsOnEveryKernel(t *testing.T) {
	t.Parallel()
	found(t)
	r := &Runner{program: "/bin/bash"}
	output := filepath.Join(t.TempDir(), "out")
	for script, want := range map[string]string{
		"while :; do :; done": "it used more than 1 s of CPU time",
		"while :; do echo 0123456789 >>" + output + " || kill -XFSZ $$; done": "it wrote more than 1000 bytes",
	} {
		job := Job{Output: output, OutputBytes: 1000, CPU: time.Second}
		c, err := r.confine(job)
		require.NoError(t, err)
		p, err := r.launch(t.Context(), c, []string{"-c", script}, job)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, p.Stdout)
		require.NoError(t, err)
		refused, ok := errors.AsType[*ExitError](p.Wait())
		require.True(t, ok)
		require.Equal(t, want, refused.Reason)
	}
	info, err := os.Stat(output)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(1001))
}
