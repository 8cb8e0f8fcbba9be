package main

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// A large account asks about largeVideos videos of largeS seconds. Then a small account asks
	// about smallVideos videos of smallS seconds, each after the answer to the one before.
	largeVideos, largeS = 6, 90
	smallVideos, smallS = 8, 2
)

// BenchmarkFairTurns measures how long a small account waits beside a large one. One iteration is one
// queue.
func BenchmarkFairTurns(b *testing.B) {
	s := startBenchServer(b, false)
	large, small := benchClient(b, s), benchClient(b, s)
	warm := askAbout(b, small, readyVideo(b, small, stopSigns(b, smallS)), queuePrompts[0])
	awaitEnd(b, small, &warm)
	film, clip := stopSigns(b, largeS), stopSigns(b, smallS)
	for b.Loop() {
		var backlog []waited
		for range largeVideos {
			backlog = append(backlog, askAbout(b, large, readyVideo(b, large, film), queuePrompts[0]))
		}
		fmt.Printf("\n### Fair turns\n\n%d cores, embedded worker; %d videos of %d s of one account, then videos of %d s of another.\n\n"+
			"| small analysis | started after | answered after |\n|--:|--:|--:|\n", runtime.NumCPU(), largeVideos, largeS, smallS)
		var first, longest time.Duration
		for i := range smallVideos {
			q := askAbout(b, small, readyVideo(b, small, clip), queuePrompts[0])
			awaitEnd(b, small, &q)
			wait := q.StartedAt.Sub(q.CreatedAt)
			fmt.Printf("| %d | %.3f s | %.1f s |\n", i+1, wait.Seconds(), q.CompletedAt.Sub(q.CreatedAt).Seconds())
			if longest = max(longest, wait); i == 0 {
				first = wait
			}
		}
		running := 0
		for i := range backlog {
			backlog[i].read(b, large)
			if backlog[i].Status != "completed" {
				running++
			}
		}
		fmt.Printf("\n%d of the %d large videos were still waiting or running at the end.\n\n", running, largeVideos)
		b.ReportMetric(first.Seconds(), "first-wait-s")
		b.ReportMetric(longest.Seconds(), "longest-wait-s")
		for _, q := range backlog {
			_ = large.Once(benchContext(b), "POST", "/v1/analyses/"+q.ID+"/cancel", nil, nil, &q)
		}
	}
	b.ReportMetric(0, "ns/op") // the time of a queue means nothing
	require.NoError(b, b.Context().Err())
}
