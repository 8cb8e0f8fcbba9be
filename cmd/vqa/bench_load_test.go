package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"net/http"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"vqa/cmd/vqa/internal/client"
	"vqa/gpu/fixture"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

const (
	// loadRate is the number of requests per second, independent of the responses. loadPeriod is the
	// time for each kind of request in a round.
	loadRate   = 500
	loadPeriod = 10 * time.Second
	// loadOpen bounds the requests without a response.
	loadOpen = 2048
	// loadPageOf is the number of analyses in a list.
	loadPageOf = 20
	// loadAccounts is the number of accounts, with loadVideos videos each.
	loadAccounts, loadVideos = 10, 5
)

// BenchmarkLoad measures the public API under an open loop of requests. Client, server, database and
// worker share the cores. One iteration is one round.
func BenchmarkLoad(b *testing.B) {
	l := newLoad(b)
	for b.Loop() {
		for _, kind := range l.kinds {
			kind.took = append(kind.took, l.round(b, kind)...)
		}
		l.cancelAll(b)
	}
	b.ReportMetric(0, "ns/op") // the time of a round means nothing
	fmt.Printf("\n### API\n\n%d cores for client, service, database and worker; embedded Postgres with fsync on; %d requests per second for %s, open loop.\n\n",
		runtime.NumCPU(), loadRate, loadPeriod)
	fmt.Printf("| request | p50 | p95 | p99 | longest | samples | refused |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, kind := range l.kinds {
		fmt.Printf("| %s | %s | %s | %s | %s | %d | %d |\n", kind.name, millis(quantile(kind.took, 0.50)), millis(quantile(kind.took, 0.95)),
			millis(quantile(kind.took, 0.99)), millis(quantile(kind.took, 1)), len(kind.took), kind.refused.Load())
	}
	fmt.Println()
}

type load struct {
	live  []asker
	test  *client.Client
	kinds []*loadKind

	mu      sync.Mutex
	created []created // live analyses that may not have ended
}

// asker is an account with a question about one of its videos.
type asker struct {
	*client.Client
	question map[string]any
}

type created struct {
	by *client.Client
	id string
}

// loadKind is a kind of request. send gets the number of the request in its round.
type loadKind struct {
	name string
	send func(ctx context.Context, i int) error
	took []time.Duration
	// refused counts the responses 503 with Retry-After.
	refused atomic.Int64
}

func newLoad(b *testing.B) *load {
	b.Helper()
	s := startBenchServer(b, true)
	// All clients share one pool, because real callers keep their connections.
	pool := &http.Client{Transport: &http.Transport{MaxIdleConns: loadOpen, MaxIdleConnsPerHost: loadOpen}}
	l := &load{test: client.New(s.baseURL())}
	l.test.HTTP = pool
	var sandbox struct {
		APIKey         string `json:"api_key"`
		FixtureVideoID string `json:"fixture_video_id"`
		FixturePrompt  string `json:"fixture_prompt"`
	}
	require.NoError(b, l.test.Once(b.Context(), http.MethodPost, "/v1/sandbox", nil, nil, &sandbox))
	l.test.Key = sandbox.APIKey
	canned := map[string]any{"video_id": sandbox.FixtureVideoID, "prompt": sandbox.FixturePrompt}
	var newest client.Analysis
	for range loadPageOf {
		var err error
		newest, err = l.test.CreateAnalysis(b.Context(), canned, client.NewIdempotencyKey(), 0)
		require.NoError(b, err)
	}

	clip := filepath.Join(b.TempDir(), "clip.mp4")
	require.NoError(b, ffmpegtest.WriteClip(b.Context(), clip, 1, []*image.RGBA{fixture.Empty(), fixture.Empty()}))
	for range loadAccounts {
		c := benchClient(b, s)
		c.HTTP = pool
		for range loadVideos {
			l.live = append(l.live, asker{c, map[string]any{"video_id": readyVideo(b, c, clip), "prompt": benchPrompt}})
		}
	}

	read := func(ctx context.Context, _ int) error {
		return l.test.Once(ctx, http.MethodGet, "/v1/analyses/"+newest.ID, nil, nil, nil)
	}
	list := func(ctx context.Context, _ int) error {
		return l.test.Once(ctx, http.MethodGet, fmt.Sprintf("/v1/analyses?limit=%d", loadPageOf), nil, nil, nil)
	}
	try := func(ctx context.Context, _ int) error {
		_, err := l.create(ctx, l.test, canned)
		return err
	}
	ask := func(ctx context.Context, i int) error {
		by := l.live[i%len(l.live)]
		id, err := l.create(ctx, by.Client, by.question)
		if err == nil {
			l.mu.Lock()
			l.created = append(l.created, created{by.Client, id})
			l.mu.Unlock()
		}
		return err
	}
	mixed := []func(context.Context, int) error{read, list, read, try, read, list, read, ask, read, list}
	l.kinds = []*loadKind{
		{name: "GET /v1/analyses/{id}", send: read},
		{name: fmt.Sprintf("GET /v1/analyses, a page of %d", loadPageOf), send: list},
		{name: "POST /v1/analyses, test key", send: try},
		{name: "POST /v1/analyses, live key, with a busy worker", send: ask},
		{name: "all of these, 5 : 3 : 1 : 1", send: func(ctx context.Context, i int) error { return mixed[i%len(mixed)](ctx, i/len(mixed)) }},
	}
	return l
}

func (l *load) create(ctx context.Context, c *client.Client, body map[string]any) (id string, err error) {
	var a client.Analysis
	err = c.Once(ctx, http.MethodPost, "/v1/analyses", http.Header{"Idempotency-Key": {client.NewIdempotencyKey()}}, body, &a)
	return a.ID, err
}

// round sends requests of a kind at the set rate. The time of a request starts when it is due, so that
// waiting for a free slot counts.
func (l *load) round(b *testing.B, kind *loadKind) []time.Duration {
	b.Helper()
	count := int(loadPeriod.Seconds() * loadRate)
	took := make([]time.Duration, count)
	group, ctx := errgroup.WithContext(benchContext(b))
	group.SetLimit(loadOpen)
	began := time.Now()
	for i := range count {
		due := began.Add(time.Duration(i) * time.Second / loadRate)
		time.Sleep(time.Until(due))
		group.Go(func() error {
			err := kind.send(ctx, i)
			took[i] = time.Since(due)
			if refusal := (*client.Error)(nil); errors.As(err, &refusal) && refusal.Code == "capacity_exhausted" {
				kind.refused.Add(1)
				return nil
			}
			return err
		})
	}
	require.NoError(b, group.Wait(), kind.name)
	return took
}

// cancelAll cancels the analyses that have not ended, so that every round starts in the same state.
func (l *load) cancelAll(b *testing.B) {
	b.Helper()
	group, ctx := errgroup.WithContext(benchContext(b))
	group.SetLimit(16)
	for _, a := range l.created {
		group.Go(func() error {
			canceled, err := a.by.CancelAnalysis(ctx, a.id)
			if refused := (*client.Error)(nil); errors.As(err, &refused) && refused.Code == "analysis_not_cancelable" {
				return nil
			}
			if err == nil && !canceled.Terminal() {
				err = fmt.Errorf("%s was canceled and is %s", a.id, canceled.Status)
			}
			return err
		})
	}
	require.NoError(b, group.Wait())
	l.created = nil
}
