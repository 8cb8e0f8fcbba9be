package chaos_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"image"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/faultbuild"
	"vqa/eventstore/embedded"
	"vqa/eventstore/storetest"
	"vqa/gpu/fixture"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

const (
	buildTimeout = 5 * time.Minute
	startTimeout = 3 * time.Minute
	toolTimeout  = 3 * time.Minute
	clipFPS      = 2
)

// world is everything that runs: Postgres, the engines, the nodes, the address, and a site with a
// video to fetch.
type world struct {
	dir, binary  string
	base         string // URL of the address
	databaseURL  string
	postgresHome string
	nodes        []*node
	engines      []*exec.Cmd
	address      *address
	clips        []clip // to upload
	site         clip   // to fetch
	siteURL      string
	work         sync.WaitGroup
	end          context.CancelFunc
}

// clip is a drawn video. Its length is in half seconds.
type clip struct {
	data    []byte
	seconds float64
}

// newWorld starts everything. It ends with the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "vqa-chaos-") //nolint:usetesting // the account of Postgres must be able to enter it
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	w := &world{dir: dir}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of the nodes are in %s", dir)
			return
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	build, cancel := context.WithTimeout(t.Context(), buildTimeout)
	defer cancel()
	w.binary, err = faultbuild.Build(build, dir)
	require.NoError(t, err)
	w.drawClips(t)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context())) // the nodes end before Postgres
	w.end = end
	w.startPostgres(t, ctx)
	t.Cleanup(func() { end(); w.work.Wait() })
	engines := w.startEngines(t)
	w.startNodes(t, ctx, engines)
	return w
}

func (w *world) drawClips(t *testing.T) {
	t.Helper()
	for i, frames := range []int{4, 9, 13} {
		path := filepath.Join(w.dir, fmt.Sprintf("clip-%d.mp4", i))
		pictures := slices.Repeat([]*image.RGBA{fixture.StopSign(image.Pt(250, 110))}, frames)
		require.NoError(t, ffmpegtest.WriteClip(t.Context(), path, clipFPS, pictures))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		w.clips = append(w.clips, clip{data, float64(frames) / clipFPS})
	}
	w.site, w.clips = w.clips[2], w.clips[:2]
	site := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", fmt.Sprint(len(w.site.data)))
		_, _ = rw.Write(w.site.data)
	}))
	t.Cleanup(site.Close)
	w.siteURL = site.URL
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})
	require.NoError(t, os.WriteFile(w.caFile(), ca, 0o600))
}

func (w *world) caFile() string { return filepath.Join(w.dir, "site.pem") }

// dataDir is the folder that the nodes share. A shared folder for the objects and the secret key is
// how docs/operations.md describes several nodes without S3.
func (w *world) dataDir() string { return filepath.Join(w.dir, "data") }

// startPostgres starts a durable server of its own, because this test ends it the hard way.
func (w *world) startPostgres(t *testing.T, ctx context.Context) {
	t.Helper()
	w.postgresHome = filepath.Join(w.dir, "postgres")
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	server, err := embedded.Start(starting, embedded.Options{Dir: w.postgresHome, BinDir: os.Getenv("VQA_POSTGRES_BIN")})
	require.NoError(t, err)
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	watched := make(chan struct{})
	go func() { defer close(watched); server.Supervise(watching) }()
	t.Cleanup(func() {
		stopWatching()
		<-watched
		require.NoError(t, server.Close(context.Background()))
	})
	require.NoError(t, server.EnsureDatabase(starting, "vqa"))
	w.databaseURL = server.URL("vqa")
}

// startEngines starts the engines and returns their URLs.
func (w *world) startEngines(t *testing.T) (urls []string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	for range engineCount {
		addr := freeAddr(t)
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), engineEnv+"="+addr)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		input, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = input.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
		w.engines = append(w.engines, cmd)
		urls = append(urls, "http://"+addr)
	}
	return urls
}

// startNodes starts the address and the nodes, and returns when all of them are ready.
func (w *world) startNodes(t *testing.T, ctx context.Context, engines []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.base = "http://" + listener.Addr().String()
	var bases []string
	for i := range nodeCount {
		n := w.newNode(t, i, engines)
		w.nodes = append(w.nodes, n)
		bases = append(bases, n.inbound.URL)
	}
	w.address, err = newAddress(bases)
	require.NoError(t, err)
	go func() { _ = w.address.server.Serve(listener) }()
	t.Cleanup(func() { _ = w.address.server.Close() })
	w.work.Go(func() { w.address.watch(ctx) })
	for i, n := range w.nodes {
		w.work.Go(func() { n.keep(ctx) })
		if i == 0 { // the first one creates the schema and the secret key
			w.awaitReady(t, 1)
		}
	}
	w.awaitReady(t, nodeCount)
}

// awaitReady waits until the address finds so many nodes ready.
func (w *world) awaitReady(t *testing.T, count int) {
	t.Helper()
	ready := func() (n int) {
		for _, target := range w.address.targets {
			if target.ready.Load() {
				n++
			}
		}
		return n
	}
	deadline := time.Now().Add(startTimeout)
	for ready() < count {
		if time.Now().After(deadline) {
			require.Fail(t, "the nodes are not ready", "%d of %d; logs in %s", ready(), count, w.dir)
		}
		<-time.After(50 * time.Millisecond)
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// node is one machine: a process with its own network, clock, disk and temporary files.
type node struct {
	binary   string
	home     string
	env      []string
	log      *os.File
	network  []*storetest.Proxy // to the database and the engines, and from the address
	inbound  *storetest.Proxy
	page     faultbuild.Page
	mu       sync.Mutex
	process  *os.Process
	heldDown chan struct{} // closed when the process may start
	starts   int
}

func (w *world) newNode(t *testing.T, index int, engines []string) *node {
	t.Helper()
	addr, home := freeAddr(t), filepath.Join(w.dir, fmt.Sprintf("node-%d", index+1))
	require.NoError(t, os.MkdirAll(filepath.Join(home, "tmp"), 0o755))
	n := &node{binary: w.binary, home: home, heldDown: make(chan struct{})}
	close(n.heldDown)
	var err error
	n.log, err = os.Create(filepath.Join(home, "log"))
	require.NoError(t, err)
	n.page, err = faultbuild.NewPage(filepath.Join(home, "faults"))
	require.NoError(t, err)
	database := storetest.NewProxy(t, w.databaseURL)
	n.inbound = storetest.NewProxy(t, "http://"+addr)
	n.network = []*storetest.Proxy{database, n.inbound}
	var reached []string
	for _, engine := range engines {
		p := storetest.NewProxy(t, engine)
		n.network, reached = append(n.network, p), append(reached, p.URL)
	}
	n.env = append(cleanEnv(), n.page.Env(), "TMPDIR="+filepath.Join(home, "tmp"), "XDG_STATE_HOME="+home,
		"VQA_ADDR="+addr, "VQA_PUBLIC_URL="+w.base, "VQA_DATABASE_URL="+database.URL, "VQA_DATA_DIR="+w.dataDir(),
		"VQA_INFERENCE_URL="+strings.Join(reached, ","), "VQA_INFERENCE_TIMEOUT=10s", "VQA_DEMO=false", "VQA_TRUSTED_PROXIES=127.0.0.1",
		"VQA_EGRESS_ALLOW="+strings.TrimPrefix(w.siteURL, "https://"), "VQA_EGRESS_CA_FILE="+w.caFile())
	return n
}

// cleanEnv is the environment without settings of the service.
func cleanEnv() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "VQA_") {
			env = append(env, v)
		}
	}
	return env
}

// keep starts the process again whenever it ends, as an init system does, and stops it when ctx ends.
func (n *node) keep(ctx context.Context) {
	for {
		n.mu.Lock()
		may := n.heldDown
		n.mu.Unlock()
		select {
		case <-may:
		case <-ctx.Done():
			return
		}
		cmd := exec.Command(n.binary, "serve")
		cmd.Dir, cmd.Env, cmd.Stderr, cmd.Stdout = n.home, n.env, n.log, n.log
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(n.log, "cannot start:", err)
			return
		}
		n.mu.Lock()
		n.process = cmd.Process
		n.starts++
		n.mu.Unlock()
		exited := make(chan struct{})
		go func() { defer close(exited); _ = cmd.Wait() }()
		select {
		case <-exited:
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-exited:
			case <-time.After(time.Minute):
				_ = cmd.Process.Kill()
			}
			return
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}

// signal sends a signal to the process, if it runs.
func (n *node) signal(s syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// tool runs a subcommand of the program on the database, past the proxies.
func (w *world) tool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.binary, args...)
	cmd.Env = append(slices.Clone(w.nodes[0].env), "VQA_DATABASE_URL="+w.databaseURL)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("vqa %s: %w: %s%s", strings.Join(args, " "), err, out, &complaint)
	}
	return string(out), err
}

// newAccount creates an account with credits and returns its id and its key.
func (w *world) newAccount(t *testing.T) (accountID, keyID, secret string) {
	t.Helper()
	out, err := w.tool(t, "keys", "create", "--mode", "live", "--grant-seconds", fmt.Sprint(grantSeconds), "--json")
	require.NoError(t, err)
	var issued struct {
		AccountID string `json:"account_id"`
		KeyID     string `json:"key_id"`
		Secret    string `json:"api_key"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &issued))
	return issued.AccountID, issued.KeyID, issued.Secret
}
