package webhook_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/codec"
	"vqa/eventstore/feed"
	"vqa/handlers/webhook"
	"vqa/projections/public"
)

const (
	benchAccounts  = 10
	benchEndpoints = 10 // of an account
	benchEvents    = 60 // of an account
	// benchSenders is how many requests the bare client has in flight.
	benchSenders = 32
)

// large is a body of the size of an ordinary event.
var large = strings.Repeat("x", 1900)

// BenchmarkWebhookDeliveries delivers 6,000 deliveries that are due to a TLS server, and sends the same
// signed bodies with a bare client. It reports both rates and their ratio.
func BenchmarkWebhookDeliveries(b *testing.B) {
	for range b.N {
		w := open(b)
		w.subscriber.Render = func(ctx context.Context, e public.Event) ([]byte, error) {
			body, err := render(ctx, e)
			return bytes.Replace(body, []byte(`"data":{`), []byte(`"data":{"x":"`+large+`",`), 1), err
		}
		var secret []byte
		for i := range benchAccounts {
			account := fmt.Sprint("acct_", i)
			for j := range benchEndpoints {
				_, secret = w.endpoint(account, fmt.Sprintf("/%d/%d", i, j))
			}
			for range benchEvents {
				w.handle(w.ready(account))
			}
		}
		const n = benchAccounts * benchEndpoints * benchEvents
		require.Equal(b, n, w.count("select count(*) from webhook_queue"))
		w.exec("analyze webhook_queue, webhook_turns")
		b.ResetTimer()
		began := time.Now()
		w.start("node_a")
		for w.count("select count(*) from webhook_queue") > 0 {
			time.Sleep(5 * time.Millisecond)
		}
		took := time.Since(began)
		b.StopTimer()
		require.Equal(b, n, w.count("select count(*) from webhook_deliveries where status = 'delivered'"))
		bare := bareRate(b, w, secret, n)
		rate := n / took.Seconds()
		b.ReportMetric(rate, "deliveries/s")
		b.ReportMetric(bare, "bare/s")
		b.ReportMetric(rate/bare, "ratio")
	}
}

// bareRate sends n signed bodies with the client of the standard library.
func bareRate(b *testing.B, w *world, secret []byte, n int) float64 {
	b.Helper()
	body := []byte(w.receiver.requests("/0/0")[0].body)
	transport := w.receiver.Client().Transport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = benchSenders
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	client := &http.Client{Transport: transport}
	defer transport.CloseIdleConnections()
	signer, err := standardwebhooks.NewWebhookRaw(secret)
	require.NoError(b, err)
	var left atomic.Int64
	left.Store(int64(n))
	var senders sync.WaitGroup
	began := time.Now()
	for range benchSenders {
		senders.Go(func() {
			for left.Add(-1) >= 0 {
				at := time.Now()
				signature, err := signer.Sign("evt_1", at, body)
				if err != nil {
					b.Error(err)
					return
				}
				req, err := http.NewRequest(http.MethodPost, w.receiver.URL+"/bare", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				req.Header.Set("webhook-id", "evt_1")
				req.Header.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
				req.Header.Set("webhook-signature", signature)
				resp, err := client.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	senders.Wait()
	return float64(n) / time.Since(began).Seconds()
}

// BenchmarkWebhookDispatch appends 100 events a second for ten seconds. It reports the time from the
// append to the arrival of the request.
func BenchmarkWebhookDispatch(b *testing.B) {
	for range b.N {
		w := open(b)
		for i := range benchAccounts {
			w.endpoint(fmt.Sprint("acct_", i), fmt.Sprint("/", i))
		}
		w.start("node_a")
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		feeds := feed.New(w.pool, codec.Events(), w.options().Log)
		running.Go(func() { _ = feeds.Run(ctx) })
		running.Go(func() { _ = w.store.Run(ctx) })
		running.Go(func() { _ = feeds.Subscribe(ctx, webhook.Group, w.subscriber.Handle) })
		defer func() { stop(); running.Wait() }()
		w.ready("acct_0")
		w.eventually(1, "select count(*) from webhook_deliveries where status = 'delivered'") // the subscriber runs

		var mu sync.Mutex
		arrived := map[string]time.Time{}
		for i := range benchAccounts {
			w.receiver.on(fmt.Sprint("/", i), func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				arrived[r.Header.Get("webhook-id")] = time.Now()
			})
		}
		const n, every = 1000, 10 * time.Millisecond
		appended := make(map[string]time.Time, n)
		b.ResetTimer()
		next := time.Now()
		for i := range n {
			time.Sleep(time.Until(next))
			next = next.Add(every)
			e := w.ready(fmt.Sprint("acct_", i%benchAccounts))
			eventID, _ := public.ID(e)
			appended[eventID] = time.Now()
		}
		w.settled()
		b.StopTimer()
		reportLatencies(b, appended, arrived)
	}
}

// reportLatencies reports the times from the appends to the arrivals of the same events.
func reportLatencies(b *testing.B, appended, arrived map[string]time.Time) {
	b.Helper()
	var latencies []time.Duration
	for eventID, at := range appended {
		latencies = append(latencies, arrived[eventID].Sub(at))
	}
	slices.Sort(latencies)
	for name, at := range map[string]int{"p50-ms": len(latencies) / 2, "p95-ms": len(latencies) * 95 / 100, "max-ms": len(latencies) - 1} {
		b.ReportMetric(float64(latencies[at].Microseconds())/1000, name)
	}
}

// BenchmarkWebhookHanging sends fresh events to a healthy endpoint and to another account while 10,000 deliveries
// wait for an endpoint that hangs. It reports the time from the append to the arrival of the request.
func BenchmarkWebhookHanging(b *testing.B) {
	for range b.N {
		w := open(b)
		hanging, _ := w.endpoint("acct_1", "/hang", "video.failed")
		w.receiver.on("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		w.exec(`insert into webhook_deliveries (event_id, target, id, account_id, livemode, event_type, resource_id, position, status, created_at)
			select webhook_event_bound(now()) || lpad(g::text, 16, '0'), $1, 'whd_' || g, 'acct_1', true, 'video.failed', 'video_1', 1, 'pending', now()
			  from generate_series(1, 10000) as g`, hanging)
		w.exec(`insert into webhook_bodies (event_id, account_id, resource_id, body) select event_id, account_id, resource_id, '{}' from webhook_deliveries`)
		w.exec(`insert into webhook_queue (event_id, target, delivery_id, account_id, due) select event_id, target, id, account_id, created_at from webhook_deliveries`)
		w.exec("insert into webhook_turns (target, account_id, next_due) values ($1, 'acct_1', now())", hanging)
		w.exec("analyze webhook_queue, webhook_deliveries, webhook_turns")

		var mu sync.Mutex
		arrived := map[string]time.Time{}
		for account, path := range map[string]string{"acct_1": "/healthy", "acct_2": "/other"} {
			w.endpoint(account, path)
			w.receiver.on(path, func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				arrived[r.Header.Get("webhook-id")] = time.Now()
			})
		}
		w.start("node_a")
		w.eventually(4, "select count(*) from webhook_queue where claimed_by is not null")
		const n, every = 200, 20 * time.Millisecond
		appended := make(map[string]time.Time, n)
		b.ResetTimer()
		next := time.Now()
		for i := range n {
			time.Sleep(time.Until(next))
			next = next.Add(every)
			e := w.ready(fmt.Sprint("acct_", 1+i%2))
			eventID, _ := public.ID(e)
			appended[eventID] = time.Now()
			w.handle(e)
		}
		w.eventually(n, "select count(*) from webhook_deliveries where status = 'delivered'")
		b.StopTimer()
		require.Greater(b, w.count("select count(*) from webhook_queue where target = $1", hanging), 9900, "the endpoint hangs")
		reportLatencies(b, appended, arrived)
	}
}
