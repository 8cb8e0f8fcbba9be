package seal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/translog"
	"vqa/handlers/seal"
)

const (
	// litewitness is a public witness program, and fsck a public program that recomputes the root of a log.
	litewitness = "filippo.io/torchwood/cmd/litewitness"
	fsck        = "github.com/transparency-dev/tessera/cmd/fsck"
	// addlog adds a log to the database of litewitness.
	addlog = "./addlog"

	// compileTime bounds the download and the compilation of these programs.
	compileTime = 5 * time.Minute
)

// publicTools compiles programs of the module in testdata/publictools, whose go.sum pins them, and returns their
// folder. It skips the test when they cannot be fetched.
func publicTools(t *testing.T, programs ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), compileTime)
	defer cancel()
	dir := t.TempDir()
	compile := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = filepath.Join("testdata", "publictools")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := compile("mod", "download"); err != nil {
		t.Skipf("the public programs of testdata/publictools cannot be fetched: %v\n%s", err, out)
	}
	out, err := compile(append([]string{"build", "-buildvcs=false", "-o", dir + string(filepath.Separator)}, programs...)...)
	require.NoError(t, err, out)
	return dir
}

// startProgram runs a program until the end of the test and returns its output so far.
func startProgram(t *testing.T, name string, args ...string) (output func() string) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "output")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait(); _ = file.Close() })
	return func() string {
		text, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		return string(text)
	}
}

// newLitewitness starts a public witness program that knows a log, and returns its setting.
func newLitewitness(t *testing.T, origin string, key string) (setting string) {
	t.Helper()
	for _, program := range []string{"ssh-agent", "ssh-add", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("litewitness keeps its key in an ssh-agent, and %s is not installed", program)
		}
	}
	tools := publicTools(t, litewitness, addlog)
	dir, err := os.MkdirTemp("", "w") //nolint:usetesting // the path of a socket has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	agent, database := filepath.Join(dir, "agent"), filepath.Join(dir, "witness.db")
	command := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+agent)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		return string(out)
	}
	startProgram(t, "ssh-agent", "-D", "-a", agent)
	require.Eventually(t, func() bool { _, err := os.Stat(agent); return err == nil }, 10*time.Second, 20*time.Millisecond)
	command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "key"))
	command("ssh-add", filepath.Join(dir, "key"))
	fingerprint := strings.Fields(command("ssh-keygen", "-l", "-f", filepath.Join(dir, "key")))[1]

	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	output := startProgram(t, filepath.Join(tools, "litewitness"),
		"-name", "witness.example/lite", "-db", database, "-ssh-agent", agent, "-key", fingerprint, "-listen", address)
	var verifier []string
	require.Eventually(t, func() bool {
		verifier = regexp.MustCompile(`vkey="?([^"\s]+)`).FindStringSubmatch(output())
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			err = conn.Close()
		}
		return verifier != nil && err == nil
	}, 20*time.Second, 50*time.Millisecond, "litewitness does not start")
	command(filepath.Join(tools, "addlog"), database, origin, key)
	return verifier[1] + "@http://" + address
}

// TestPublicWitness: a public witness program cosigns our checkpoints, and refuses a fork and a shorter log.
func TestPublicWitness(t *testing.T) {
	t.Parallel()
	key, err := translog.VerifierKey("vqa.example/ledger", public(keyOf("a")))
	require.NoError(t, err)
	setting := newLitewitness(t, "vqa.example/ledger", key)
	w := newWorld(t)
	s := w.sealer(witnessed(t, 1, setting))
	for range 3 {
		for range 4 {
			w.buy(w.account, 1)
		}
		head := w.seals(s)
		at, err := keyOfWitness(t, setting).Cosigned(head.Signed)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), at, time.Minute)
	}
	w.buy(w.account, 1)
	w.seals(w.sealer(witnessed(t, 1, setting))) // a node that does not know what the witness knows
	for problem, events := range map[string]int{"the log was shortened": 2, "the log was forked": 60} {
		again := newWorld(t)
		for range events {
			again.buy(again.account, 1)
		}
		_, err := again.sealer(witnessed(t, 0, setting)).Pass(t.Context())
		var found *seal.Finding
		require.ErrorAs(t, err, &found)
		require.Contains(t, found.Problem, problem)
		t.Log(found)
	}
	stranger := newWorld(t).sealer(witnessed(t, 0, setting), func(o *seal.Options) { o.Key = keyOf("b") })
	_, err = stranger.Pass(t.Context())
	require.NoError(t, err)
	_, states, err := stranger.AskWitnesses(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, states[0].Err, "does not accept the key that signed the checkpoint")
	require.False(t, errors.As(states[0].Err, new(*seal.Finding)))
}

// fsckTime bounds a run of fsck. It hangs on a wrong tile.
const fsckTime = 10 * time.Second

// TestPublicFsck: a public program recomputes the root from our records and tiles. It exits with 0 after any
// problem, so the printed root counts.
func TestPublicFsck(t *testing.T) {
	t.Parallel()
	tools := publicTools(t, fsck)
	w := newWorld(t)
	s := w.sealer()
	var head seal.Head
	for range 3 {
		for range 110 {
			w.buy(w.account, 1)
		}
		head = w.seals(s)
	}
	require.Greater(t, head.Checkpoint.Size, int64(translog.TileWidth), "more than one tile")
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.CopyFS(log, os.DirFS(filepath.Join(w.dir, "ledger", "trees", "0001"))))
	require.NoError(t, os.WriteFile(filepath.Join(log, "checkpoint"), head.Signed, 0o600))
	key, err := translog.VerifierKey(head.Opening.Origin, public(keyOf("a")))
	require.NoError(t, err)
	keyFile := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(keyFile, []byte(key), 0o600))
	check := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), fsckTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(tools, "fsck"), "-ui=false", "-public_key", keyFile, "-storage_url", "file://"+log)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // the status says nothing
		return out.String()
	}
	agrees := fmt.Sprintf("Successfully fsck'd log with size %d and root %s ", head.Checkpoint.Size, head.Checkpoint.Root)
	require.Contains(t, check(), agrees)

	bundle := filepath.Join(log, filepath.FromSlash(translog.BundlePath(0, head.Checkpoint.Size)))
	data, err := os.ReadFile(bundle)
	require.NoError(t, err)
	changed := bytes.Clone(data)
	changed[len(changed)-1] ^= 1
	require.NoError(t, os.Chmod(bundle, 0o600))
	require.NoError(t, os.WriteFile(bundle, changed, 0o600))
	require.NotContains(t, check(), agrees, "a changed record")
	require.NoError(t, os.Remove(bundle))
	require.NotContains(t, check(), agrees, "a missing record")
}
