package oip_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"vqa/gpu"
	"vqa/gpu/oip"
)

// turn is a change of a server at some moment.
type turn struct {
	after  time.Duration
	server int
	what   string
}

var turns = map[string]func(*backend){
	"down":   down,
	"up":     up,
	"busy":   func(b *backend) { b.err = errBusy },
	"fails":  func(b *backend) { b.err, b.ready = errDown, nil },
	"slow":   func(b *backend) { b.delay = 7 * time.Second },
	"quick":  func(b *backend) { b.delay = 20 * time.Millisecond },
	"other":  func(b *backend) { b.info.Weights = "w2" },
	"proper": func(b *backend) { b.info.Weights = "w1" },
}

// TestPoolSurvivesAnything changes servers at random while callers ask. No server gets more
// calls than its limit. Every call ends in time, and every error allows the caller to try
// again. When all servers work again, all are used again.
func TestPoolSurvivesAnything(t *testing.T) {
	t.Parallel()
	names := []string{"down", "up", "busy", "fails", "slow", "quick", "other", "proper"}
	rapid.Check(t, func(rt *rapid.T) {
		servers := rapid.IntRange(1, 4).Draw(rt, "servers")
		callers := rapid.IntRange(1, 24).Draw(rt, "callers")
		script := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) turn {
			return turn{
				after:  time.Duration(rapid.IntRange(0, 5000).Draw(rt, "after_ms")) * time.Millisecond,
				server: rapid.IntRange(0, servers-1).Draw(rt, "server"),
				what:   rapid.SampledFrom(names).Draw(rt, "what"),
			}
		}), 0, 20).Draw(rt, "script")
		var broken []string
		// The value of rapid must not leave its goroutine.
		synctest.Test(t, func(t *testing.T) { broken = play(t, servers, callers, script) })
		if len(broken) > 0 {
			rt.Fatalf("%v", broken)
		}
	})
}

// play runs a script and returns the guarantees that did not hold.
func play(t *testing.T, servers, callers int, script []turn) (broken []string) {
	t.Helper()
	var all []*backend
	var members []oip.Server
	for i := range servers {
		b := newBackend()
		all = append(all, b)
		members = append(members, oip.Server{Name: fmt.Sprint("s", i), Engine: b})
	}
	p := oip.NewPool(members, oip.PoolOptions{Wait: 3 * time.Second, Log: slog.New(slog.DiscardHandler)})
	defer p.Close()
	var mu sync.Mutex
	report := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		broken = append(broken, fmt.Sprintf(format, args...))
	}
	var asking sync.WaitGroup
	for range callers {
		asking.Go(func() {
			for range 5 {
				began := time.Now()
				err := detect(t, p)
				if _, away := errors.AsType[*gpu.UnavailableError](err); err != nil && !away {
					report("an error that is not of gpu's kinds: %v", err)
				}
				// Three times: a wait for room, which a probe may prolong, and a slow call.
				if took := time.Since(began); took > 3*(3+7)*time.Second {
					report("a call took %v", took)
				}
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
	for _, s := range script {
		time.Sleep(s.after)
		all[s.server].set(turns[s.what])
	}
	asking.Wait()
	for i, b := range all {
		if most := b.most.Load(); most > 4 {
			report("%d calls at once on server %d", most, i)
		}
		b.set(func(b *backend) { up(b); b.delay = 0; b.info.Weights = "w1" })
	}
	// The servers in use may have other weights now, which the next Info finds.
	for range servers {
		_, _ = p.Info(t.Context())
	}
	time.Sleep(time.Minute)
	_ = detect(t, p)
	synctest.Wait()
	before := counts(all)
	for range 4 * servers {
		if err := detect(t, p); err != nil {
			report("all servers are healthy: %v", err)
		}
	}
	if after := counts(all); slices.ContainsFunc(all, func(b *backend) bool { i := slices.Index(all, b); return after[i] == before[i] }) {
		report("a healthy server is not used: %v, then %v", before, after)
	}
	return broken
}
