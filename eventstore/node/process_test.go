package node_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// processEnv has the URL of the database for a node that runs as a child process of a test.
const processEnv = "VQA_TEST_NODE_PROCESS"

func TestMain(m *testing.M) {
	if url := os.Getenv(processEnv); url != "" {
		if err := runNode(url); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runNode is the child process. It prints its incarnation. For each line of its input it prints
// whether it may still work under that lease, and then the incarnation under which it continues.
func runNode(url string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	pool, err := postgres.Connect(ctx, url)
	if err != nil {
		return err
	}
	p, err := node.Join(ctx, pool, "child", "host", 1, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	go p.Run(ctx)
	held, err := p.Lease(ctx)
	if err != nil {
		return err
	}
	fmt.Println(held.Incarnation())
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		fmt.Println(held.Check())
		if held, err = p.Lease(ctx); err != nil {
			return err
		}
		fmt.Println(held.Incarnation())
	}
	return nil
}

// child is a node in a process of its own.
type child struct {
	*exec.Cmd
	input  io.Writer
	output *bufio.Scanner
}

func startChild(t *testing.T, url string) *child {
	t.Helper()
	c := &child{Cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")}
	c.Env = append(os.Environ(), processEnv+"="+url)
	c.Stderr = os.Stderr
	var err error
	c.input, err = c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	c.output = bufio.NewScanner(out)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	require.True(t, c.output.Scan(), "the child ended: %v", c.output.Err())
	return c.output.Text()
}

// TestAStoppedProcessMayNotContinue stops a process longer than its lease. Its first action after
// SIGCONT is to check the lease.
func TestAStoppedProcessMayNotContinue(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	witness, _ := enter(t, pool, "witness")
	c := startChild(t, url)
	require.Equal(t, "child@1", c.line(t))
	_, err = io.WriteString(c.input, "work\n")
	require.NoError(t, err)
	require.Equal(t, []string{"<nil>", "child@1"}, []string{c.line(t), c.line(t)})

	require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	stopped := time.Now()
	require.Eventually(t, func() bool { return !isAlive(t, witness, "child") }, patience, 10*time.Millisecond)
	t.Logf("the lease was over %s after SIGSTOP", time.Since(stopped))
	_, err = io.WriteString(c.input, "work\n")
	require.NoError(t, err)
	require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	require.Contains(t, c.line(t), "lease")
	require.Equal(t, "child@2", c.line(t))
	require.False(t, isAlive(t, witness, "child@1"))
}

func TestTheLeaseOfAKilledProcessEnds(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	witness, _ := enter(t, pool, "witness")
	c := startChild(t, url)
	require.True(t, strings.HasPrefix(c.line(t), "child@"))
	require.True(t, isAlive(t, witness, "child"))
	require.NoError(t, c.Process.Kill())
	killed := time.Now()
	require.Eventually(t, func() bool { return !isAlive(t, witness, "child") }, patience, 10*time.Millisecond)
	t.Logf("the lease was over %s after SIGKILL", time.Since(killed))
}
