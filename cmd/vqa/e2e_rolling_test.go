package main_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/codec"
	"vqa/eventstore/storetest"
)

// previousFile names the commit of the previous release. Each release replaces it.
const previousFile = "testdata/previous_release"

// inHistory runs git in the repository.
func inHistory(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "-C", filepath.Join("..", "..")}, args...)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, &complaint)
	}
	return out, err
}

// requireHistory skips a test in a copy of the sources that has no history, such as a shallow clone.
func requireHistory(t *testing.T) {
	t.Helper()
	shallow, err := inHistory("rev-parse", "--is-shallow-repository")
	if err != nil || strings.TrimSpace(string(shallow)) == "true" {
		t.Skip("the previous release is not in this copy of the sources; for this test, run: git fetch --unshallow")
	}
}

// previous returns the commit of the previous release.
var previous = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile(previousFile)
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(text))
	if _, err := inHistory("cat-file", "-e", commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("%s names a commit that the history does not have: %w", previousFile, err)
	}
	return commit, nil
})

// previousBinary builds the program of the previous release. The build is kept in .cache.
var previousBinary = sync.OnceValues(func() (string, error) {
	commit, err := previous()
	if err != nil {
		return "", err
	}
	kept, err := filepath.Abs(filepath.Join("..", "..", ".cache", "releases", commit, "vqa"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(kept); err == nil {
		return kept, nil
	}
	source := filepath.Join(workshop, "previous")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return "", err
	}
	archive, err := inHistory("archive", commit)
	if err != nil {
		return "", err
	}
	unpack := exec.Command("tar", "-x", "-C", source)
	unpack.Stdin = bytes.NewReader(archive)
	if out, err := unpack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpacking the previous release: %w: %s", err, out)
	}
	built := filepath.Join(workshop, "vqa-previous")
	if err := build(source, built); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return "", err
	}
	return kept, copyFile(built, kept)
})

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

// copyFile replaces a program at once, so that another test process never runs half of it.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	half, err := os.CreateTemp(filepath.Dir(to), "vqa-")
	if err != nil {
		return err
	}
	if _, err = half.Write(data); err == nil {
		err = half.Chmod(0o755)
	}
	if closed := half.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(half.Name(), to)
}

// cluster is a database with the settings of all its nodes.
type cluster struct {
	*balancer
	db       *pgx.Conn
	settings []string
}

// newCluster prepares an empty database, an engine and a balancer for nodes.
func newCluster(t *testing.T, engine *faulty) *cluster {
	t.Helper()
	url := storetest.Database(t, func(context.Context, string) error { return nil }, "empty")
	db, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	dir, err := os.MkdirTemp(workshop, "cluster-") //nolint:usetesting // other users must be able to enter the folder
	require.NoError(t, err)
	b := newBalancer(t)
	return &cluster{b, db, []string{
		"VQA_DATABASE_URL=" + url, "VQA_DATA_DIR=" + filepath.Join(dir, "data"), "VQA_PUBLIC_URL=" + b.URL,
		"VQA_INFERENCE_URL=" + engine.URL, "VQA_ARTIFACTS=false", "VQA_MAX_CONCURRENT_ANALYSES=1000",
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

// joins starts a node and sends requests to it.
func (c *cluster) joins(t *testing.T, s *service) *backend {
	t.Helper()
	require.NoError(t, s.start())
	return c.add(t, s)
}

// client opens an account with the tools of a node. Its requests go through the balancer.
func (c *cluster) client(t *testing.T, s *service) *apiClient {
	t.Helper()
	return &apiClient{&service{addr: strings.TrimPrefix(c.URL, "http://")}, s.account(t, 100_000).key}
}

// number reads a number from the database.
func (c *cluster) number(t *testing.T, sql string) (n int) {
	t.Helper()
	require.NoError(t, c.db.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

// phaseRequests is the number of requests that each node serves in a phase of an upgrade.
var phaseRequests = flag.Int64("rolling.requests", 30, "requests of each node in a phase of the rolling upgrade")

// TestRollingUpgrade runs two releases on one database.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	engine := newFaulty(t)
	t.Run("under load", func(t *testing.T) {
		t.Parallel()
		requireHistory(t)
		upgradeUnderLoad(t, newCluster(t, engine))
	})
	t.Run("unknown events", func(t *testing.T) { t.Parallel(); newerWritesUnknownEvents(t, newCluster(t, engine)) })
}

// upgradeUnderLoad replaces the previous release by this one, and goes back. No request fails, all laws
// hold, and no event is parked.
func upgradeUnderLoad(t *testing.T, c *cluster) {
	program, err := previousBinary()
	require.NoError(t, err)
	ours, err := binary()
	require.NoError(t, err)
	old, fresh := c.node(t, program), c.node(t, ours)
	oldNode := c.joins(t, old)
	clients := []*apiClient{c.client(t, old), c.client(t, old), c.client(t, old)}
	l := newLoad(t, clipBytes(t, briefClip), clients...)
	c.serves(t, *phaseRequests)

	freshNode := c.joins(t, fresh) // it migrates
	c.serves(t, *phaseRequests)
	c.drain(t, oldNode)
	c.serves(t, *phaseRequests)

	oldNode = c.joins(t, old) // back to the previous release
	c.serves(t, *phaseRequests)
	c.drain(t, freshNode)
	c.serves(t, *phaseRequests)
	c.joins(t, fresh)
	c.serves(t, *phaseRequests)
	l.stop()
	t.Logf("responses: %v", l.statuses)
	for client, ids := range l.analyses {
		for _, id := range ids {
			a := client.await(t, "/v1/analyses/"+id, recovery, answer.terminal)
			require.NotEqual(t, "failed", a.text("status"), "%s", a.raw)
		}
		require.InDelta(t, 0, client.credits(t).number("held_seconds"), 0)
	}
	require.Zero(t, c.number(t, "select count(*) from parked"))
	require.True(t, poll(recovery, func() bool { return c.number(t, "select count(*) from set_aside") == 0 }))
	requireLedgerClean(t, fresh)
	fresh.tool(t, "projections", "verify", "--all")
	c.drain(t, oldNode)
}

// TestEventsAreReadBeforeTheyAreWritten: the previous release can read each event that this one writes.
func TestEventsAreReadBeforeTheyAreWritten(t *testing.T) {
	t.Parallel()
	requireHistory(t)
	commit, err := previous()
	require.NoError(t, err)
	listed, err := inHistory("ls-tree", "--name-only", commit, "docs/schemas/events/")
	require.NoError(t, err)
	readable := map[string]bool{}
	for _, path := range strings.Fields(string(listed)) {
		readable[strings.TrimSuffix(filepath.Base(path), ".json")] = true
	}
	require.NotEmpty(t, readable)
	for _, name := range codec.Events().Names() {
		require.True(t, readable[name], "the previous release cannot read %s: give its registration ReadFirst (docs/contributing.md)", name)
	}
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
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		require.Contains(t, string(text), from)
		changed := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
		overlay[filepath.Join(root, path)] = changed
	}
	change("eventstore/codec/events.go", `Register[video.Registered]("video.registered")`, `Register[video.Registered]("video.registered", unchanged)`)
	change("projections/resources/models.go", `Name: "videos", Of: fold.Video, Revision: 2`, `Name: "videos", Of: fold.Video, Revision: 9002`)
	change("migrations/embed.go", `return generation
}`, `return generation + 1
}`)
	list := filepath.Join(dir, "overlay.json")
	var text strings.Builder
	text.WriteString(`{"Replace":{`)
	first := true
	for from, to := range overlay {
		if !first {
			text.WriteString(",")
		}
		first = false
		fmt.Fprintf(&text, "%q:%q", from, to)
	}
	text.WriteString("}}")
	require.NoError(t, os.WriteFile(list, []byte(text.String()), 0o600))
	program := filepath.Join(workshop, "vqa-future")
	require.NoError(t, build(root, program, "-overlay", list))
	return program
}

// newerWritesUnknownEvents runs this release beside one that writes events it does not know, against the
// rules of a rolling upgrade. Only requests that must read such an event are refused.
func newerWritesUnknownEvents(t *testing.T, c *cluster) {
	ours, err := binary()
	require.NoError(t, err)
	old, fresh := c.node(t, ours), c.node(t, futureBinary(t))
	c.joins(t, old)
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
