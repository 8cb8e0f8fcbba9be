package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/client"
	"vqa/domain/account"
	"vqa/handlers/command"
)

// BenchmarkService measures the whole program through its public API: the real server with its own
// durable Postgres and its worker. One iteration is one round.
func BenchmarkService(b *testing.B) {
	// No artifacts: they are rendered after an answer and would disturb the next measurement.
	s := startBenchServer(b, false)
	c := benchClient(b, s)
	// The rates are typical for a phone's video of this size.
	analyses := []*overhead{{width: 640, height: 360, rate: 1}, {width: 1280, height: 720, rate: 3}}
	var l latencies
	whole := true
	for _, o := range analyses {
		whole = b.Run(fmt.Sprintf("analysis/%dp", o.height), func(b *testing.B) {
			o.prepare(b, s)
			o.round(b, s, c) // warms up the models, the query plans and the connections
			o.rounds = nil
			for b.Loop() {
				o.round(b, s, c)
			}
			o.report(b)
		}) && whole
	}
	whole = b.Run("latency", func(b *testing.B) {
		l.subscribe(b, s)
		for b.Loop() {
			l.feedRound(b, s, c)
			l.requestRound(b, c)
		}
		l.report(b)
	}) && whole
	if whole && len(l.read) > 0 {
		fmt.Printf("\n### Service\n\n%d cores, embedded Postgres with fsync on, embedded worker with %d threads; medians of %d rounds.\n",
			runtime.NumCPU(), analyses[0].threads, len(analyses[0].rounds))
		for _, o := range analyses {
			if len(o.rounds) > 0 { // -bench may select the latency alone
				o.print(os.Stdout)
			}
		}
		l.print(os.Stdout)
	}
}

// startBenchServer starts the service like "vqa serve", with its own data folder.
func startBenchServer(b *testing.B, artifacts bool) *server {
	b.Helper()
	dir, err := os.MkdirTemp("", "vqa-bench-") //nolint:usetesting // b.TempDir lies in a folder of mode 0700
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(dir)) })
	require.NoError(b, os.Chmod(dir, 0o755))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	require.NoError(b, free.Close())

	c, err := loadConfig()
	require.NoError(b, err)
	c.Addr, c.DataDir = free.Addr().String(), filepath.Join(dir, "data")
	c.PublicURL, c.DatabaseURL, c.InferenceURL, c.BlobURL = "http://"+c.Addr, "", nil, ""
	c.Demo, c.Artifacts = false, artifacts
	// No limit may refuse a measured request.
	const unlimited = 1_000_000_000
	c.RateReads, c.RateWrites, c.RateAnalysesCreate = unlimited, unlimited, unlimited
	c.MaxConcurrentAnalyses, c.AnalysisQueueCap = unlimited, unlimited
	require.NoError(b, os.Mkdir(c.DataDir, 0o755))
	s, err := startServer(b.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

// benchClient returns a client with a live key and credits for any number of rounds.
func benchClient(b *testing.B, s *server) *client.Client {
	b.Helper()
	key, err := s.commands.IssueKey(b.Context(), command.NewKey{
		Mode: account.Live, Tier: account.Paid, Name: "bench", GrantSeconds: 1_000_000, Operator: "bench",
	})
	require.NoError(b, err)
	c := client.New(s.baseURL())
	c.Key = key.Secret
	return c
}

// readyVideo uploads a file and returns the id of the video.
func readyVideo(b *testing.B, c *client.Client, path string) string {
	b.Helper()
	data, err := os.ReadFile(path)
	require.NoError(b, err)
	v, err := c.CreateVideo(b.Context(), map[string]any{"content_type": "video/mp4", "size_bytes": len(data)}, client.NewIdempotencyKey())
	require.NoError(b, err)
	require.NoError(b, c.Upload(b.Context(), v, bytes.NewReader(data), int64(len(data))))
	v, err = c.CompleteVideo(b.Context(), v.ID)
	require.NoError(b, err)
	require.Equal(b, "ready", v.Status)
	return v.ID
}

// benchContext bounds one step of a round.
func benchContext(b *testing.B) context.Context {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	b.Cleanup(cancel)
	return ctx
}

// quantile returns the value that is greater than this share of all values.
func quantile(all []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
