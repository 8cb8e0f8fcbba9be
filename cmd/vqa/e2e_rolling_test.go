package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
)

// build compiles the program of a source tree.
func build(source, to string, flags ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-buildvcs=false", "-trimpath", "-o", to}, flags...), "./cmd/vqa")...)
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", source, err, out)
	}
	return nil
}

// cluster is a database with the settings of all its nodes.
type cluster struct {
	db       *pgx.Conn
	settings []string
}

// newCluster prepares an empty database and the settings of nodes that use the engine.
func newCluster(t *testing.T, engine *faulty) *cluster {
	t.Helper()
	url := storetest.Database(t, func(context.Context, string) error { return nil }, "empty")
	db, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	dir, err := os.MkdirTemp(workshop, "cluster-") //nolint:usetesting // other users must be able to enter the folder
	require.NoError(t, err)
	return &cluster{db, []string{
		"VQA_DATABASE_URL=" + url, "VQA_DATA_DIR=" + filepath.Join(dir, "data"), "VQA_INFERENCE_URL=" + engine.URL, "VQA_ARTIFACTS=false",
	}}
}

// node prepares a node that runs a program.
func (c *cluster) node(t *testing.T, program string) *service {
	t.Helper()
	s, err := newService(c.settings...)
	require.NoError(t, err)
	s.binary = program
	t.Cleanup(func() {
		if err := s.terminate(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("output of %s:\n%s", filepath.Base(program), s.said)
		}
	})
	return s
}

// number reads a number from the database.
func (c *cluster) number(t *testing.T, sql string) (n int) {
	t.Helper()
	require.NoError(t, c.db.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

// futureBinary builds this program as the next release, which changes the version of an event and the
// shape of a read model in one step.
func futureBinary(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	overlay := map[string]string{}
	change := func(path, from, to string) {
		newest := filepath.Join(root, path)
		if changed, again := overlay[newest]; again {
			newest = changed
		}
		text, err := os.ReadFile(newest)
		require.NoError(t, err)
		require.Contains(t, string(text), from)
		changed := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
		overlay[filepath.Join(root, path)] = changed
	}
	change("eventstore/codec/events.go", `Register[video.Registered]("video.registered")`, `Register[video.Registered]("video.registered",
		func(old json.RawMessage) (json.RawMessage, error) { return old, nil })`)
	change("eventstore/codec/events.go", "import (", "import (\n\"encoding/json\"\n")
	change("projections/resources/models.go", `Name: "videos", Of: fold.Video, Revision: 2`, `Name: "videos", Of: fold.Video, Revision: 9002`)
	change("migrations/embed.go", `return generation
}`, `return generation + 1
}`)
	list := filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, replaced, 0o600))
	program := filepath.Join(workshop, "vqa-future")
	require.NoError(t, build(root, program, "-overlay", list))
	return program
}

// TestRollingUpgrade runs this program beside a newer one that writes events it does not know, against the
// rules of a rolling upgrade. Only requests that must read such an event are refused.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	c := newCluster(t, newFaulty(t))
	ours, err := binary()
	require.NoError(t, err)
	old, fresh := c.node(t, ours), c.node(t, futureBinary(t))
	require.NoError(t, old.start())
	onOld := old.account(t, 1000)
	known := onOld.readyVideo(t, clip(t, briefClip))
	require.NoError(t, fresh.start())
	onFresh := &apiClient{fresh, onOld.key}
	strange := onFresh.readyVideo(t, clip(t, briefClip))

	// The old node reads the rows of the new one, and decides nothing on a stream that it cannot fold.
	require.Equal(t, http.StatusOK, onOld.call(t, http.MethodGet, "/v1/videos/"+strange, nil).status)
	refused := onOld.ask(t, strange, "Is there a stop sign?")
	require.Equal(t, http.StatusServiceUnavailable, refused.status, "%s", refused.raw)
	require.Equal(t, "db_unavailable", refused.code())
	requireRetryAfter(t, refused)
	require.Equal(t, http.StatusServiceUnavailable, onOld.call(t, http.MethodGet, "/v1/events", nil).status)
	require.Contains(t, old.said.String(), "video.registered@2")
	for _, asked := range []answer{
		onOld.ask(t, known, "Is there a stop sign?"), onFresh.ask(t, known, "Is there a dog?"),
		onFresh.ask(t, strange, "Is there a stop sign?"), onFresh.ask(t, strange, "Is there a dog?"),
	} {
		require.Equal(t, http.StatusAccepted, asked.status, "%s", asked.raw)
		done := onFresh.await(t, "/v1/analyses/"+asked.text("id"), recovery, answer.terminal)
		require.Equal(t, "completed", done.text("status"), "%s", done.raw)
	}
	out, err := old.output(t, "projections", "verify", "--all")
	require.Error(t, err)
	require.Contains(t, out, "equal  (certificate")
	require.Contains(t, out, "video/"+strange+": video.registered@2")
	out, err = old.output(t, "projections", "rebuild", "--all")
	require.Error(t, err)
	require.Contains(t, out, "would lose their rows")
	fresh.tool(t, "projections", "verify", "--all")

	// The read model gets its new shape when no older node writes to it.
	const shapes = "select count(*) from read_models where shape like '9002,%'"
	require.Zero(t, c.number(t, shapes))
	require.NoError(t, old.terminate())
	require.True(t, poll(recovery, func() bool { return c.number(t, shapes) == 1 }))
	require.NoError(t, old.start(), "an older node starts on the newer table")
	require.Equal(t, 1, c.number(t, shapes), "and leaves it alone")
	require.Equal(t, http.StatusOK, onOld.call(t, http.MethodGet, "/v1/videos/"+strange, nil).status)
	require.Contains(t, string(old.tool(t, "projections", "list")), "newer")
	require.Contains(t, string(fresh.tool(t, "nodes", "list", "--json")), `"generation": `)
	require.Zero(t, c.number(t, "select count(*) from parked"))
	require.True(t, poll(recovery, func() bool { return c.number(t, "select count(*) from set_aside") == 0 }))
	requireLedgerClean(t, fresh)
}
