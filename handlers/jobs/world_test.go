package jobs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"image"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/credit"
	"vqa/domain/evidence"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/node"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/gpu"
	gpufixture "vqa/gpu/fixture"
	"vqa/handlers/command"
	"vqa/handlers/intake"
	"vqa/handlers/intake/egress"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/intake/fixture"
	"vqa/handlers/intake/probe"
	"vqa/handlers/jobs"
	"vqa/handlers/objects"
	"vqa/handlers/survey"
	"vqa/migrations"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// patience bounds every wait of a test.
const patience = time.Minute

// world is everything that jobs use. Only the engine and the clock are not real.
type world struct {
	*command.Service
	pool      *pgxpool.Pool
	store     *postgres.Store
	objects   *objects.Store
	intake    *intake.Intake
	ffmpeg    *ffmpeg.Runner
	resources *resources.Reader
	ledger    *ledger.Reader
	log       *slog.Logger
	caller    command.Caller

	// presence is that of the sweeper's node.
	presence *node.Presence

	mu    sync.Mutex
	ahead time.Duration
}

// grant is the initial balance of the caller's account, in seconds.
const grant = 1000

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldBehind(t, egress.Options{})
}

func newWorldBehind(t *testing.T, outbound egress.Options) *world {
	t.Helper()
	w := &world{log: slog.New(slog.DiscardHandler), ffmpeg: ffmpegtest.Runner(t)}
	var err error
	w.pool, err = postgres.Connect(t.Context(), storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	var inline []postgres.Projection
	for _, p := range append(resources.Projections(), ledger.Projections()...) {
		inline = append(inline, p)
	}
	w.store = postgres.New(w.pool, codec.Events(), postgres.WithProjections(inline...), postgres.WithLogger(w.log))
	w.resources, w.ledger = resources.NewReader(w.pool), ledger.NewReader(w.pool)
	w.objects, err = objects.Open(t.Context(), objects.Options{
		Dir: t.TempDir(), PublicURL: "http://service.example", SigningKey: make([]byte, 32), Now: w.now,
		WriteError: func(http.ResponseWriter, *http.Request, error) {}, Log: w.log,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.objects.Close()) })
	client, err := egress.New(outbound)
	require.NoError(t, err)
	w.intake = &intake.Intake{Objects: w.objects, Client: client, Prober: probe.New(w.ffmpeg)}

	pipeline := command.NewPipeline(w.store, w.now, w.log)
	w.Service = command.NewService(command.Dependencies{
		Store: w.store, Pipeline: pipeline, IDs: id.NewSource(w.now, rand.Reader), Entropy: rand.Reader, Now: w.now,
		Catalog: model.Catalog{{ID: "sight-1", Status: model.Stable, Default: true}},
		Limits:  command.Limits{MaxVideoDuration: time.Minute, MaxConcurrentAnalyses: 50, AnalysisQueueCap: 1000, SandboxPerIP: 3},
		Uploads: w.intake, Fixture: fixture.Fixture{},
		Capacity: &jobs.Capacity{Engine: &gpufixture.Engine{}, Queue: w.resources, Now: w.now},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { pipeline.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })

	key, err := w.IssueKey(t.Context(), command.NewKey{Mode: account.Live, Tier: account.Paid, GrantSeconds: grant, Operator: "test"})
	require.NoError(t, err)
	w.caller = command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: account.Paid}
	return w
}

// now is the wall clock, moved ahead by skip.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead).UTC().Truncate(time.Microsecond)
}

func (w *world) skip(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

// The clips show a stop sign in two frames per second.
var (
	shortClip = sync.OnceValues(func() ([]byte, error) { return renderClip(shortS) })
	longClip  = sync.OnceValues(func() ([]byte, error) { return renderClip(longS) })
)

const (
	shortS = 3
	longS  = 20
	// framesPerS is the number of samples per second, framesPerBatch the size of a batch.
	framesPerS     = 2
	framesPerBatch = 4
)

func renderClip(seconds int) ([]byte, error) {
	dir, err := os.MkdirTemp("", "vqa-jobs-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	pictures := make([]*image.RGBA, seconds*framesPerS)
	for i := range pictures {
		pictures[i] = gpufixture.StopSign(image.Pt(100+5*i, 110))
	}
	path := filepath.Join(dir, "clip.mp4")
	if err := ffmpegtest.WriteClip(context.Background(), path, framesPerS, pictures); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// put stores bytes where an upload would.
func (w *world) put(t *testing.T, key string, data []byte) {
	t.Helper()
	out, err := w.objects.Writer(t.Context(), key, "video/mp4", video.MaxBytes)
	require.NoError(t, err)
	defer out.Abort()
	_, err = bytes.NewReader(data).WriteTo(out)
	require.NoError(t, err)
	require.NoError(t, out.Commit())
}

// readyVideo uploads a clip.
func (w *world) readyVideo(t *testing.T, clip func() ([]byte, error)) video.State {
	t.Helper()
	data, err := clip()
	require.NoError(t, err)
	v, err := w.CreateVideo(t.Context(), w.caller, command.CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	w.put(t, objects.UploadKey(v.ID), data)
	v, err = w.CompleteVideo(t.Context(), w.caller, v.ID)
	require.NoError(t, err)
	return v
}

// ask queues a question about a video and returns its first attempt.
func (w *world) ask(t *testing.T, v video.State) command.Run {
	t.Helper()
	return w.askFor(t, v, "Is there a stop sign?")
}

func (w *world) askFor(t *testing.T, v video.State, prompt string) command.Run {
	t.Helper()
	p, err := w.CreateAnalysis(t.Context(), w.caller, command.CreateAnalysis{VideoID: v.ID, Prompt: &prompt})
	require.NoError(t, err)
	return command.Run{AccountID: w.caller.AccountID, AnalysisID: p.Analysis.ID, VideoID: v.ID, Attempt: 1, Cause: command.Cause{RequestID: "req_1", CausationID: "position:1"}}
}

func (w *world) analysis(t *testing.T, run command.Run) analysis.State {
	t.Helper()
	a, err := w.resources.Analysis(t.Context(), resources.Tenant{AccountID: run.AccountID, Livemode: true}, run.AnalysisID)
	require.NoError(t, err)
	return a.State
}

func (w *world) video(t *testing.T, videoID string) video.State {
	t.Helper()
	v, err := w.resources.Video(t.Context(), resources.Tenant{AccountID: w.caller.AccountID, Livemode: true}, videoID)
	require.NoError(t, err)
	return v
}

// requireBilled checks that the balance was charged with the billed seconds and that
// nothing is held.
func (w *world) requireBilled(t *testing.T, seconds int64) {
	t.Helper()
	b, err := w.ledger.Balance(t.Context(), w.caller.AccountID)
	require.NoError(t, err)
	require.Equal(t, credit.State{
		AccountID: w.caller.AccountID, PostedSeconds: grant - seconds, SignupGrantSeconds: grant, UsedSeconds: seconds,
		Totals: credit.Totals{Grants: grant, AnalysisUsage: seconds}, Period: b.Period, PeriodSeconds: seconds,
	}, b)
}

// history is every event of an analysis.
func (w *world) history(t *testing.T, run command.Run) []eventstore.Recorded {
	t.Helper()
	events, err := w.store.LoadAll(t.Context(), eventstore.StreamID{Category: "analysis", ID: run.AnalysisID})
	require.NoError(t, err)
	return events
}

func (w *world) analyzer(engine gpu.Engine) *jobs.Analyzer {
	return &jobs.Analyzer{
		Commands: w.Service, Sources: w.intake, Surveys: survey.Store{Objects: w.objects}, Engine: engine, FFmpeg: w.ffmpeg, Calibrations: answer.Calibrations{"fixture": answer.CPU()},
		Progress: resources.NewProgress(w.pool), Node: "node", Log: w.log,
	}
}

// seen is one stop sign in every frame.
func seen(_ int, term string) []evidence.Detection {
	if term != "stop sign" {
		return nil
	}
	return []evidence.Detection{{Box: evidence.Box{X1: .3, Y1: .2, X2: .5, Y2: .6}, Score: .9}}
}
