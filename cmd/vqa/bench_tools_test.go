package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// toolPairs is the number of reads of each kind in a round. They take turns, so that both see the same
// load of the machine.
const toolPairs = 500

// BenchmarkToolCall measures a call of an agent tool beside the HTTP request of its operation: the read
// of one video, over one connection.
func BenchmarkToolCall(b *testing.B) {
	s := startBenchServer(b, false)
	c := benchClient(b, s)
	v, err := c.CreateVideo(benchContext(b), map[string]any{"content_type": "video/mp4", "size_bytes": 1000}, "bench")
	require.NoError(b, err)
	message, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "get_video", "arguments": map[string]any{"video_id": v.ID}},
	})
	require.NoError(b, err)
	send := func(method, path string, body []byte) time.Duration {
		r, err := http.NewRequestWithContext(b.Context(), method, s.baseURL()+path, bytes.NewReader(body))
		require.NoError(b, err)
		r.Header.Set("Authorization", "Bearer "+c.Key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		started := time.Now()
		got, err := http.DefaultClient.Do(r)
		require.NoError(b, err)
		raw, err := io.ReadAll(got.Body)
		took := time.Since(started)
		require.NoError(b, err)
		require.NoError(b, got.Body.Close())
		require.True(b, got.StatusCode == http.StatusOK && strings.Contains(string(raw), v.ID), string(raw))
		return took
	}
	direct := func() time.Duration { return send(http.MethodGet, "/v1/videos/"+v.ID, nil) }
	tool := func() time.Duration { return send(http.MethodPost, "/mcp", message) }
	for range 50 { // warms up the connection and the query plans
		direct()
		tool()
	}
	var requests, calls []time.Duration
	for b.Loop() {
		for range toolPairs {
			requests, calls = append(requests, direct()), append(calls, tool())
		}
	}
	slices.Sort(requests)
	slices.Sort(calls)
	at := func(all []time.Duration, percent int) float64 { return all[len(all)*percent/100].Seconds() * 1e3 }
	b.ReportMetric(at(requests, 95), "request-p95-ms")
	b.ReportMetric(at(calls, 95), "call-p95-ms")
	fmt.Printf("\n### Agent tools\n\n| read of a video | p50 | p95 | p99 |\n|---|---|---|---|\n")
	row := func(name string, all []time.Duration) {
		fmt.Printf("| %s | %.2f ms | %.2f ms | %.2f ms |\n", name, at(all, 50), at(all, 95), at(all, 99))
	}
	row("HTTP request", requests)
	row("tool call", calls)
	fmt.Printf("\nThe medians of %d pairs differ by %.2f ms, the 95th percentiles by %.2f ms.\n", len(calls), at(calls, 50)-at(requests, 50), at(calls, 95)-at(requests, 95))
}
