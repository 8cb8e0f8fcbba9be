package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
	"vqa/gpu"
)

func TestDoctorPrintsAndJudges(t *testing.T) {
	t.Parallel()
	good := check{"first", func(context.Context, *examination) finding { return found("all is %s", "well") }}
	odd := check{"second", func(context.Context, *examination) finding {
		return finding{Verdict: warning, Detail: "little room", Fix: "make room"}
	}}
	bad := check{"third", func(context.Context, *examination) finding { return wrong("sudo mend", "it is gone") }}

	var out bytes.Buffer
	require.NoError(t, doctor(t.Context(), config{}, []check{good, odd}, &out, false), "a warning is not broken")
	require.Equal(t, "  ok       first        all is well\n  warning  second       little room\n                        mend: make room\n", out.String())

	out.Reset()
	require.ErrorIs(t, doctor(t.Context(), config{}, []check{bad, good}, &out, false), exitError(1))
	require.Contains(t, out.String(), "BROKEN   third        it is gone\n                        mend: sudo mend\n")
	require.Contains(t, out.String(), "first", "the checks go on")

	out.Reset()
	require.ErrorIs(t, doctor(t.Context(), config{}, []check{bad}, &out, true), exitError(1))
	var report struct {
		Healthy bool      `json:"healthy"`
		Checks  []finding `json:"checks"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.False(t, report.Healthy)
	require.Equal(t, []finding{{"third", broken, "it is gone", "sudo mend"}}, report.Checks)
}

func TestCheckDataFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(path string) finding {
		return checkDataFolder(t.Context(), &examination{config: config{DataDir: path}})
	}
	require.Equal(t, fine, at(dir).Verdict)
	require.Contains(t, at(filepath.Join(dir, "a", "b")).Detail, "will be made")
	require.NoDirExists(t, filepath.Join(dir, "a"), "looking makes nothing")

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, broken, at(file).Verdict)

	secret := filepath.Join(dir, "secret.key")
	require.NoError(t, os.WriteFile(secret, nil, 0o644)) // that is what is to be found
	leak := at(dir)
	require.Equal(t, broken, leak.Verdict)
	require.Equal(t, "chmod 600 "+secret, leak.Fix)
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	x := &examination{config: config{Addr: listener.Addr().String()}}
	taken := checkAddress(t.Context(), x)
	require.Equal(t, broken, taken.Verdict, "what listens is not our service")
	require.Contains(t, taken.Fix, "VQA_ADDR=127.0.0.1:")
	require.NoError(t, listener.Close())
	require.Equal(t, fine, checkAddress(t.Context(), x).Verdict)
}

func TestCheckPostgresAndClock(t *testing.T) {
	t.Parallel()
	x := &examination{config: toolConfig(t)}
	got := checkPostgres(t.Context(), x)
	require.Equal(t, fine, got.Verdict, got.Detail)
	require.Contains(t, got.Detail, "PostgreSQL ")
	require.NotContains(t, got.Detail, "postgres:postgres@", "no password is shown")
	require.NotNil(t, x.skew)
	require.Equal(t, fine, checkClock(t.Context(), x).Verdict)

	x = &examination{config: config{DatabaseURL: "postgres://u:secret@127.0.0.1:" + freePort() + "/d?connect_timeout=2"}}
	got = checkPostgres(t.Context(), x)
	require.Equal(t, broken, got.Verdict)
	require.NotContains(t, got.Detail, "secret")
	require.Equal(t, warning, checkClock(t.Context(), x).Verdict, "nothing to compare with")
}

func TestJudges(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	skew := func(d time.Duration) *time.Duration { return &d }
	tests := map[string]struct {
		got  finding
		want verdict
	}{
		"ample disk":     {judgeFree("/", 6<<30, 1<<30), fine},
		"little disk":    {judgeFree("/", 2<<30, 1<<30), warning},
		"full disk":      {judgeFree("/", 1<<20, 1<<30), broken},
		"clocks agree":   {judgeClock(now, skew(-time.Second)), fine},
		"clocks differ":  {judgeClock(now, skew(-time.Minute)), broken},
		"the past":       {judgeClock(time.Unix(0, 0), skew(0)), broken},
		"node 20.6":      {judgeNode("v20.6.0"), fine},
		"node 22":        {judgeNode("v22.1.0"), fine},
		"node 20.5":      {judgeNode("v20.5.1"), broken},
		"node 18":        {judgeNode("v18.19.0"), broken},
		"node nonsense":  {judgeNode("nonsense"), broken},
		"ball seen":      {look(t.Context(), eye{score: .5}, nil, "fix"), fine},
		"ball not seen":  {look(t.Context(), eye{score: .1}, nil, "fix"), broken},
		"engine is away": {look(t.Context(), eye{err: errors.New("away")}, nil, "fix"), broken},
	}
	for name, tt := range tests {
		require.Equal(t, tt.want, tt.got.Verdict, "%s: %s", name, tt.got.Detail)
		require.Equal(t, tt.want == fine, tt.got.Fix == "", "%s: what is wrong can be mended", name)
	}
}

// eye is an engine that gives the test picture a score.
type eye struct {
	score float64
	err   error
}

func (e eye) Detect(_ context.Context, r gpu.Request) (gpu.Response, error) {
	return gpu.Response{Frames: [][]evidence.Detection{{{Score: e.score}}}, Known: make([]bool, len(r.Terms))}, e.err
}
func (e eye) Ready(context.Context) error { return e.err }
func (e eye) Info(context.Context) (gpu.Info, error) {
	return gpu.Info{Name: "eye", Concurrency: 1}, e.err
}

// TestCheckMedia uses the machine's own ffmpeg, Node and worker.
func TestCheckMedia(t *testing.T) {
	t.Parallel()
	x := &examination{config: config{InferenceThreads: 1, PublicURL: "http://127.0.0.1:1"}}
	t.Cleanup(x.close)
	require.Equal(t, warning, checkInference(t.Context(), x).Verdict, "there is no picture yet")
	require.Equal(t, warning, checkAnalysis(t.Context(), x).Verdict, "there is no engine yet")
	got := checkFFmpeg(t.Context(), x)
	require.Equal(t, fine, got.Verdict, got.Detail)
	require.Equal(t, []byte{0xff, 0xd8}, x.picture[:2], "a JPEG")
	got = checkNode(t.Context(), x)
	require.Equal(t, fine, got.Verdict, got.Detail)
	got = checkInference(t.Context(), x)
	require.Equal(t, fine, got.Verdict, got.Detail)
	got = checkAnalysis(t.Context(), x)
	require.Equal(t, fine, got.Verdict, got.Detail)
	require.Contains(t, got.Detail, `"Is there a ball?" about a drawn clip: yes`)

	elsewhere := &examination{config: config{InferenceThreads: 1, WorkerDir: t.TempDir()}, picture: x.picture}
	t.Cleanup(elsewhere.close)
	got = checkInference(t.Context(), elsewhere)
	require.Equal(t, broken, got.Verdict, "nothing is installed there")
	require.Equal(t, fixWorker, got.Fix)
	require.Equal(t, warning, checkAnalysis(t.Context(), elsewhere).Verdict)
}
