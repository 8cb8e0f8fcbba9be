package oip_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/gpu"
	"vqa/gpu/oip"
)

// backend is one server as the pool sees it.
type backend struct {
	mu     sync.Mutex
	err    error // of Detect
	ready  error
	info   gpu.Info
	delay  time.Duration
	probes atomic.Int32
	calls  atomic.Int32
	now    atomic.Int32 // calls in progress
	most   atomic.Int32 // the largest number of calls in progress so far
}

func newBackend() *backend {
	return &backend{info: gpu.Info{Name: "detect", Weights: "w1", Vocabulary: []string{"dog"}, Concurrency: 2}}
}

// set changes the behavior of the server.
func (b *backend) set(change func(*backend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

func (b *backend) Detect(ctx context.Context, _ gpu.Request) (gpu.Response, error) {
	b.calls.Add(1)
	b.most.Store(max(b.most.Load(), b.now.Add(1)))
	defer b.now.Add(-1)
	b.mu.Lock()
	err, delay := b.err, b.delay
	b.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return gpu.Response{}, fmt.Errorf("inference: %w", context.Cause(ctx))
	}
	return gpu.Response{Known: []bool{true}}, err
}

func (b *backend) Ready(context.Context) error {
	b.probes.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready
}

func (b *backend) Info(context.Context) (gpu.Info, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info, nil
}

var errDown = &gpu.UnavailableError{Err: errors.New("connection refused")}
var errBusy = &gpu.UnavailableError{Err: fmt.Errorf("%w: status 429", gpu.ErrSaturated)}

func down(b *backend) { b.err, b.ready = errDown, errDown }
func up(b *backend)   { b.err, b.ready = nil, nil }

// inPool runs a test in a bubble of time, with a pool of some servers.
func inPool(t *testing.T, servers int, opts oip.PoolOptions, test func(t *testing.T, p *oip.Pool, all []*backend)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []*backend
		var members []oip.Server
		for i := range servers {
			b := newBackend()
			all = append(all, b)
			members = append(members, oip.Server{Name: fmt.Sprint("s", i), Engine: b})
		}
		if opts.Log == nil {
			opts.Log = slog.New(slog.DiscardHandler)
		}
		p := oip.NewPool(members, opts)
		defer p.Close()
		test(t, p, all)
	})
}

func detect(t *testing.T, p *oip.Pool) error {
	t.Helper()
	_, err := p.Detect(t.Context(), request())
	return err
}

func counts(all []*backend) (calls []int32) {
	for _, b := range all {
		calls = append(calls, b.calls.Load())
	}
	return calls
}

func TestPoolSpreadsEqually(t *testing.T) {
	inPool(t, 3, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		require.NoError(t, p.Check(t.Context()))
		for range 9 {
			require.NoError(t, detect(t, p))
		}
		require.Equal(t, []int32{3, 3, 3}, counts(all))
	})
}

func TestPoolPrefersTheServerWithMostRoom(t *testing.T) {
	inPool(t, 2, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		all[0].set(func(b *backend) { b.delay = 10 * time.Second })
		all[1].set(func(b *backend) { b.delay = time.Second })
		require.NoError(t, p.Check(t.Context()))
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for range 5 {
					require.NoError(t, detect(t, p))
				}
			})
		}
		callers.Wait()
		require.Greater(t, all[1].calls.Load(), 2*all[0].calls.Load(), "the slow server holds its calls longer, so it gets fewer")
	})
}

func TestPoolRetriesElsewhereAndEjects(t *testing.T) {
	var log bytes.Buffer
	inPool(t, 2, oip.PoolOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, p *oip.Pool, all []*backend) {
		require.NoError(t, p.Check(t.Context()))
		all[0].set(down)
		for range 10 {
			require.NoError(t, detect(t, p), "the other server takes over")
		}
		require.Equal(t, []int32{1, 10}, counts(all), "one failure takes a server out")

		// It is probed again, less and less often, and never gets a call before it is
		// ready.
		time.Sleep(time.Hour)
		before := all[0].probes.Load()
		for range 60 {
			require.NoError(t, detect(t, p))
			time.Sleep(time.Second)
		}
		require.EqualValues(t, 5, all[0].probes.Load()-before, "at once, then after 2, 4, 8 and 16 s")
		require.EqualValues(t, 1, all[0].calls.Load())

		all[0].set(up)
		time.Sleep(time.Minute)
		require.NoError(t, detect(t, p))
		synctest.Wait() // for the probe
		for range 10 {
			require.NoError(t, detect(t, p))
		}
		require.EqualValues(t, 6, all[0].calls.Load(), "in use again, with half of the calls")
	})
	require.Equal(t, 1, strings.Count(log.String(), `level=WARN msg="inference server out of use" server=s0`), "said once")
	require.Equal(t, 1, strings.Count(log.String(), `msg="inference server in use again" server=s0`))
}

// TestPoolLeavesAServerAloneThatIsReadyAndFails: readiness alone must not bring it back
// every second.
func TestPoolLeavesAServerAloneThatIsReadyAndFails(t *testing.T) {
	inPool(t, 2, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		all[0].set(func(b *backend) { b.err = errDown })
		for range 300 {
			require.NoError(t, detect(t, p))
			time.Sleep(time.Second)
		}
		require.Less(t, all[0].calls.Load(), int32(20))
	})
}

func TestPoolRepeatsNoInferenceError(t *testing.T) {
	inPool(t, 2, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		for _, b := range all {
			b.set(func(b *backend) { b.err = &gpu.InferenceError{Err: errors.New("frame 1 is odd")} })
		}
		err := detect(t, p)
		_, refused := errors.AsType[*gpu.InferenceError](err)
		require.True(t, refused, "%v", err)
		require.EqualValues(t, 1, all[0].calls.Load()+all[1].calls.Load())
	})
}

func TestPoolOfOneKeepsAsking(t *testing.T) {
	inPool(t, 1, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		all[0].set(down)
		for range 3 {
			requireUnavailable(t, detect(t, p))
		}
		require.EqualValues(t, 3, all[0].probes.Load())
		requireUnavailable(t, p.Ready(t.Context()))
		all[0].set(up)
		require.NoError(t, p.Ready(t.Context()))
		require.NoError(t, detect(t, p))
	})
}

func TestPoolWithoutServers(t *testing.T) {
	inPool(t, 4, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		for _, b := range all {
			b.set(func(b *backend) { b.err = errDown })
		}
		requireUnavailable(t, detect(t, p))
		calls := int32(0)
		for _, n := range counts(all) {
			calls += n
		}
		require.EqualValues(t, 3, calls, "a call is tried at most three times")
	})
}

func TestPoolWaitsForRoom(t *testing.T) {
	inPool(t, 2, oip.PoolOptions{Wait: 3 * time.Second}, func(t *testing.T, p *oip.Pool, all []*backend) {
		require.NoError(t, p.Check(t.Context()))
		for _, b := range all {
			b.set(func(b *backend) { b.delay = 2 * time.Second })
		}
		var callers sync.WaitGroup
		var done, refused atomic.Int32
		for range 20 {
			callers.Go(func() {
				err := detect(t, p)
				if errors.Is(err, gpu.ErrSaturated) {
					requireUnavailable(t, err)
					refused.Add(1)
				} else {
					require.NoError(t, err)
					done.Add(1)
				}
			})
		}
		callers.Wait()
		// Two servers take 4 calls each: 8 start at 0 s and 8 at 2 s. The last 4 would
		// start at 4 s.
		require.EqualValues(t, 16, done.Load())
		require.EqualValues(t, 4, refused.Load())
		require.EqualValues(t, 4, all[0].most.Load())
		require.EqualValues(t, 4, all[1].most.Load())
	})
}

func TestPoolQueueIsBounded(t *testing.T) {
	inPool(t, 1, oip.PoolOptions{Wait: time.Hour}, func(t *testing.T, p *oip.Pool, all []*backend) {
		require.NoError(t, p.Check(t.Context()))
		all[0].set(func(b *backend) { b.delay = time.Minute })
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for range 4 + 256 {
			callers.Go(func() { _, _ = p.Detect(ctx, request()) })
		}
		synctest.Wait()
		start := time.Now()
		require.ErrorIs(t, detect(t, p), gpu.ErrSaturated)
		require.ErrorIs(t, p.Ready(t.Context()), gpu.ErrSaturated)
		require.Zero(t, time.Since(start), "no call waits for room in the queue")
		cancel()
		callers.Wait()
		require.NoError(t, p.Ready(t.Context()))
	})
}

func TestPoolDistinguishesSaturationFromFailure(t *testing.T) {
	inPool(t, 2, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		require.NoError(t, p.Check(t.Context()))
		all[0].set(func(b *backend) { b.err = errBusy })
		for range 4 {
			require.NoError(t, detect(t, p))
		}
		require.Equal(t, []int32{1, 4}, counts(all), "a server that refused is asked last for a while")
		require.NoError(t, p.Ready(t.Context()))

		all[1].set(func(b *backend) { b.err = errBusy })
		require.ErrorIs(t, detect(t, p), gpu.ErrSaturated)
		err := p.Ready(t.Context())
		require.ErrorIs(t, err, gpu.ErrSaturated)
		requireUnavailable(t, err)

		time.Sleep(6 * time.Second)
		require.NoError(t, p.Ready(t.Context()), "a refusal is forgotten")
	})
}

func TestPoolRefusesMixedWeights(t *testing.T) {
	other := map[string]func(*backend){
		"weights": func(b *backend) { b.info.Weights = "w2" },
		"digest":  func(b *backend) { b.info.Digest = "2" },
		"terms":   func(b *backend) { b.info.Vocabulary = []string{"cat"} },
		"colors":  func(b *backend) { b.info.Colors = []string{"red"} },
	}
	for name, change := range other {
		t.Run(name, func(t *testing.T) {
			inPool(t, 3, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
				all[1].set(down) // a server that is down cannot be compared
				require.NoError(t, p.Check(t.Context()))
				all[2].set(change)
				_, err := p.Info(t.Context())
				require.NoError(t, err)
				_, err = p.Info(t.Context())
				require.NoError(t, err)
				time.Sleep(time.Minute)
				require.ErrorIs(t, p.Check(t.Context()), oip.ErrOtherModel)
			})
		})
	}
}

// TestPoolReplacesWeights replaces one server after another. Answers never mix, and at the
// end the new weights serve.
func TestPoolReplacesWeights(t *testing.T) {
	inPool(t, 2, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		require.NoError(t, p.Check(t.Context()))
		renew := func(b *backend) {
			b.set(down)
			require.NoError(t, detect(t, p))
			require.NoError(t, detect(t, p))
			b.set(func(b *backend) { up(b); b.info.Weights = "w2" })
			time.Sleep(time.Minute)
			require.NoError(t, detect(t, p))
			synctest.Wait()
		}
		renew(all[0])
		info, err := p.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, "w1", info.Weights, "the new server waits")
		all[1].set(down)
		require.NoError(t, detect(t, p), "the last server with old weights is gone")
		info, err = p.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, "w2", info.Weights)
	})
}

func TestPoolInfoCountsAllServers(t *testing.T) {
	inPool(t, 3, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		all[2].set(down)
		require.NoError(t, p.Check(t.Context()))
		got, err := p.Info(t.Context())
		require.NoError(t, err)
		want := all[0].info
		want.Concurrency = 4
		require.Empty(t, cmp.Diff(want, got))
	})
}

func TestPoolLetsCallersGo(t *testing.T) {
	inPool(t, 2, oip.PoolOptions{}, func(t *testing.T, p *oip.Pool, all []*backend) {
		for _, b := range all {
			b.set(func(b *backend) { b.delay = time.Hour })
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Detect(ctx, request())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, p.Ready(t.Context()), "the caller went away, not the server")
		require.EqualValues(t, 1, all[0].calls.Load()+all[1].calls.Load())
	})
}

func TestOpenRefusesBadLists(t *testing.T) {
	t.Parallel()
	for name, urls := range map[string][]string{
		"nothing":              nil,
		"an empty element":     {"http://a", ""},
		"twice the same":       {"http://a:1", " http://a:1"},
		"another scheme":       {"http://a:1", "ftp://u:hunter2@b"},
		"gRPC without a port":  {"grpc://a"},
		"gRPC with a path":     {"grpc://a:1/v2"},
		"gRPC with a password": {"grpc://u:hunter2@a:1"},
	} {
		_, err := oip.Open(urls, oip.PoolOptions{})
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "hunter2", name)
	}
	p, err := oip.Open([]string{"http://a:1", " grpc://b:2", "grpcs://c:3"}, oip.PoolOptions{})
	require.NoError(t, err)
	p.Close()
}
