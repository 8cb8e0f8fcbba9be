package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/client"
	"vqa/eventstore"
)

const (
	// feedEvents is the number of events that a round measures, one after the other.
	feedEvents = 100
	// loadClients is the number of clients that create and read videos for loadTime in a round.
	loadClients = 4
	loadTime    = 2 * time.Second
)

// latencies are the times that a caller or a subscriber waits.
type latencies struct {
	handled chan handledEvent

	mu                 sync.Mutex
	feed, read, create []time.Duration
}

type handledEvent struct {
	stream string
	at     time.Time
}

// subscribe adds a subscriber of the real log that records the times of its calls.
func (l *latencies) subscribe(b *testing.B, s *server) {
	b.Helper()
	l.handled = make(chan handledEvent, 1)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.feed.Subscribe(ctx, "bench", func(ctx context.Context, e eventstore.Recorded) error {
			select {
			case l.handled <- handledEvent{e.Stream.ID, time.Now()}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	b.Cleanup(func() { cancel(); require.NoError(b, <-ended) })
}

// feedRound measures the time from the insert of an event to the call of the handler, with the commit,
// on an idle service.
func (l *latencies) feedRound(b *testing.B, s *server, c *client.Client) {
	b.Helper()
	for i := range feedEvents {
		v, err := c.CreateVideo(benchContext(b), map[string]any{"content_type": "video/mp4", "size_bytes": 1000}, client.NewIdempotencyKey())
		require.NoError(b, err)
		history, err := s.store.LoadAll(b.Context(), eventstore.StreamID{Category: "video", ID: v.ID})
		require.NoError(b, err)
		for {
			var h handledEvent
			select {
			case h = <-l.handled:
			case <-time.After(time.Minute):
				b.Fatal("the subscriber was not called")
			}
			if h.stream == v.ID {
				// The first event waits until the subscriber has caught up.
				if i > 0 {
					l.feed = append(l.feed, h.at.Sub(history[0].RecordedAt))
				}
				break
			}
		}
	}
}

// requestRound measures creates and reads of videos under a modest load. The subscriber handles the
// events meanwhile, like the reactor.
func (l *latencies) requestRound(b *testing.B, c *client.Client) {
	b.Helper()
	drained := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			select {
			case <-l.handled:
			case <-stop:
				return
			}
		}
	}()
	ctx := benchContext(b)
	failures := make(chan error, loadClients)
	var wg sync.WaitGroup
	started := time.Now()
	for range loadClients {
		wg.Go(func() {
			for time.Since(started) < loadTime {
				if err := l.createAndRead(ctx, c); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	<-drained
	close(failures)
	require.NoError(b, <-failures)
}

func (l *latencies) createAndRead(ctx context.Context, c *client.Client) error {
	started := time.Now()
	v, err := c.CreateVideo(ctx, map[string]any{"content_type": "video/mp4", "size_bytes": 1000}, client.NewIdempotencyKey())
	created := time.Since(started)
	if err != nil {
		return err
	}
	started = time.Now()
	got, err := c.Video(ctx, v.ID)
	read := time.Since(started)
	if err == nil && got.ID != v.ID {
		err = fmt.Errorf("asked for %s, got %s", v.ID, got.ID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.create, l.read = append(l.create, created), append(l.read, read)
	return err
}

func (l *latencies) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // the time of a round means nothing
	for name, all := range map[string][]time.Duration{"feed": l.feed, "read": l.read, "create": l.create} {
		b.ReportMetric(float64(quantile(all, 0.50).Microseconds())/1000, name+"-p50-ms")
		b.ReportMetric(float64(quantile(all, 0.95).Microseconds())/1000, name+"-p95-ms")
	}
}

func (l *latencies) print(w io.Writer) {
	fmt.Fprintf(w, "\n| latency | p50 | p95 | p99 | samples |\n|---|--:|--:|--:|--:|\n")
	for _, row := range []struct {
		name string
		all  []time.Duration
	}{
		{"event recorded to handler called, idle", l.feed},
		{fmt.Sprintf("GET /v1/videos/{id}, %d clients", loadClients), l.read},
		{fmt.Sprintf("POST /v1/videos with Idempotency-Key, %d clients", loadClients), l.create},
	} {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %d |\n", row.name, millis(quantile(row.all, 0.50)), millis(quantile(row.all, 0.95)),
			millis(quantile(row.all, 0.99)), len(row.all))
	}
	fmt.Fprintln(w)
}
