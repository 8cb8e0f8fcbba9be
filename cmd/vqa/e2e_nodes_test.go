package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// postmasterKills is the number of times that the database is killed under load.
const postmasterKills = 3

// TestNodesShareKeyAndStore starts real processes on one database, with equal and with different parts.
func TestNodesShareKeyAndStore(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	a := ownService(t, "VQA_DATABASE_URL="+url)
	b, err := newService("VQA_DATABASE_URL=" + url)
	require.NoError(t, err)

	refused := func(s *service, parts ...string) {
		t.Helper()
		out, err := s.output(t, "serve")
		require.Error(t, err, "%s", out)
		for _, part := range parts {
			require.Contains(t, out, part)
		}
	}
	const otherKey, otherStore = "vqa nodes adopt --key", "vqa nodes adopt --store"
	refused(b, otherKey, otherStore)
	key, err := os.ReadFile(filepath.Join(a.dir, "secret.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "secret.key"), key, 0o600))
	refused(b, "VQA_BLOB_URL", "installation/id is missing", otherStore)
	b.env = append(b.env, "VQA_BLOB_URL=file://"+filepath.Join(a.dir, "objects"))
	require.NoError(t, b.start())
	t.Cleanup(func() { require.NoError(t, b.terminate()) })

	// A video that one node stored is analyzed and served by both.
	onA := a.account(t, 100)
	onB := &apiClient{b, onA.key}
	videoID := onA.readyVideo(t, clip(t, briefClip))
	asked := onB.ask(t, videoID, "Is there a dog?", "Prefer", "wait=100")
	require.Equal(t, "completed", asked.text("status"), "%s", asked.raw)
	require.Equal(t, http.StatusOK, onA.call(t, http.MethodGet, "/v1/analyses/"+asked.text("id"), nil).status)

	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(b.tool(t, "nodes", "list")), host+" "))
	out, err := b.output(t, "nodes", "adopt", "--key")
	require.Error(t, err)
	require.Contains(t, out, "2 nodes run on this database")
	require.NoError(t, b.terminate())
	require.NoError(t, a.terminate())

	// The operator moves the objects without the id, and replaces the key.
	moved := filepath.Join(a.dir, "moved")
	require.NoError(t, os.Rename(filepath.Join(a.dir, "objects"), moved))
	require.NoError(t, os.Remove(filepath.Join(moved, "installation", "id")))
	secret, kept := filepath.Join(b.dir, "secret.key"), filepath.Join(b.dir, "kept")
	require.NoError(t, os.Rename(secret, kept))
	b.env = append(b.env, "VQA_BLOB_URL=file://"+moved)
	refused(b, otherKey, otherStore)
	out, err = b.output(t, "nodes", "adopt", "--key", "--store")
	require.NoError(t, err, "%s", out)
	require.Contains(t, out, "The secret key of this node is now the one of all nodes.")
	require.Contains(t, out, "The object store of this node is now the one of all nodes.")
	out, err = b.output(t, "nodes", "adopt", "--store")
	require.NoError(t, err, "%s", out)
	require.Contains(t, out, "nothing changed")
	// The MACs of the log have the old key.
	refused(b, "its MAC names an unknown key", "restore the key that was replaced as secret.key.old")
	out, err = b.output(t, "credits", "grant", onA.key.AccountID, "5", "--reason", "x", "--idempotency-key", "k")
	require.Error(t, err)
	require.Contains(t, out, "this tool cannot change the log")
	require.NoError(t, os.Rename(kept, secret+".old.1"))
	require.NoError(t, b.start())
	again := onB.ask(t, videoID, "Is there a cat?", "Prefer", "wait=100")
	require.Equal(t, "completed", again.text("status"), "%s", again.raw)
	require.NoError(t, b.terminate())

	require.NoError(t, os.Mkdir(filepath.Join(a.dir, "objects"), 0o700))
	refused(a, otherKey, otherStore)
	// The cleanup of this node must be able to start it.
	a.env = append(a.env, "VQA_DATA_DIR="+b.dir, "VQA_BLOB_URL=file://"+moved)
}

// output runs a subcommand and returns all that it prints.
func (s *service) output(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Env, cmd.WaitDelay = s.env, time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "vqa %s: %s", strings.Join(args, " "), &out)
	return out.String(), err
}

// TestPostgresIsKilledUnderLoad kills the embedded database of two nodes that share a data folder. One
// of them restarts it. Requests succeed or get 503, and all work goes on.
func TestPostgresIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	a := ownService(t)
	b, err := newService("VQA_DATA_DIR=" + a.dir)
	require.NoError(t, err)
	require.NoError(t, b.start())
	t.Cleanup(func() {
		require.NoError(t, b.terminate())
		if t.Failed() {
			t.Logf("output of the second node:\n%s", b.said)
		}
	})
	onA := a.account(t, 1000)
	onB := &apiClient{b, onA.key}
	nodes := []*apiClient{onA, onB}
	long := onA.ask(t, onA.readyVideo(t, clip(t, longClip)), "Is there a stop sign?")
	require.Equal(t, http.StatusAccepted, long.status, "%s", long.raw)
	videoID := onA.readyVideo(t, clip(t, briefClip))
	port, err := os.ReadFile(filepath.Join(a.dir, "postgres", "port"))
	require.NoError(t, err)

	// Each loader reads and writes on one node until the end.
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var load sync.WaitGroup
	var mu sync.Mutex
	statuses, created := map[string]int{}, map[string]bool{}
	for i := range 8 {
		node := nodes[i%2]
		load.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				var got answer
				var err error
				if n%4 == 0 {
					got, err = node.try(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4", "size_bytes": 1000})
				} else {
					got, err = node.try(t, http.MethodGet, "/v1/videos/"+videoID, nil)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				statuses[strconv.Itoa(got.status)+" "+got.code()]++
				if got.status == http.StatusCreated {
					created[got.text("id")] = true
				}
				mu.Unlock()
				if got.status == http.StatusServiceUnavailable {
					<-time.After(50 * time.Millisecond) // even a hasty client waits
				}
			}
		})
	}
	works := func(node *apiClient) func() bool {
		return func() bool {
			got, err := node.try(t, http.MethodGet, "/readyz", nil)
			return err == nil && got.status == http.StatusOK
		}
	}
	written := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(created)
	}
	var took []time.Duration
	for range postmasterKills {
		before := written()
		require.True(t, poll(time.Minute, func() bool { return written() >= before+50 }), "the nodes do not write")
		old := postmaster(a)
		require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
		killed := time.Now()
		require.True(t, poll(time.Minute, func() bool { return postmaster(a) != old }), "the database was not restarted")
		for _, node := range nodes {
			require.True(t, poll(time.Minute, works(node)), "the node does not work again")
		}
		took = append(took, time.Since(killed).Round(time.Millisecond))
	}
	last := written()
	require.True(t, poll(time.Minute, func() bool { return written() >= last+50 }), "the nodes do not write")
	end()
	load.Wait()
	t.Logf("ready again after %v; responses: %v", took, statuses)
	for status := range statuses {
		require.Contains(t, []string{"200 ", "201 ", "503 db_unavailable", "503 capacity_exhausted"}, status)
	}
	now, err := os.ReadFile(filepath.Join(a.dir, "postgres", "port"))
	require.NoError(t, err)
	require.Equal(t, port, now)
	var restarts struct {
		Count int `json:"count"`
	}
	record, err := os.ReadFile(filepath.Join(a.dir, "postgres", "restarts"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(record, &restarts))
	require.Equal(t, postmasterKills, restarts.Count, "one of the nodes restarted it, once after each kill")

	for id := range created {
		require.Equal(t, http.StatusOK, onB.call(t, http.MethodGet, "/v1/videos/"+id, nil).status, "an acknowledged write is lost")
	}
	done := onB.await(t, "/v1/analyses/"+long.text("id"), recovery, answer.terminal)
	require.Equal(t, "completed", done.text("status"), "%s", done.raw)
	require.InDelta(t, 0, onA.credits(t).number("held_seconds"), 0)
	a.tool(t, "ledger", "verify")
	a.tool(t, "projections", "verify", "--all")
}

// postmaster returns the process of the embedded database, or 0 while it starts.
func postmaster(s *service) int {
	text, err := os.ReadFile(filepath.Join(s.dir, "postgres", "cluster", "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return pid
}
