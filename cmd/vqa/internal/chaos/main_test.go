package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/terminal"
)

const (
	shortRun   = 105 * time.Second
	shortFault = 7 * time.Second
	// drainFor bounds the time in which everything that was begun must end after the last fault.
	drainFor = 5 * time.Minute
)

var (
	runFlag    = flag.Duration("chaos.run", shortRun, "time in which faults happen")
	faultFlag  = flag.Duration("chaos.fault", shortFault, "time that each fault lasts; lost nodes at least 17s")
	seedFlag   = flag.Uint64("chaos.seed", 0, "seed of the faults and the operations; 0 draws one")
	reportFlag = flag.String("chaos.report", "", "folder for the report and the picture; empty for none")
)

func TestMain(m *testing.M) {
	if addr := engineAddr(); addr != "" {
		fmt.Fprintln(os.Stderr, runEngine(addr))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestChaos breaks one thing after another while customers use three nodes behind one address.
// Afterwards all that was promised must hold.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64N(1_000_000) + 1
	}
	repeat := fmt.Sprintf("make chaos SECONDS=%d FAULT_SECONDS=%d SEED=%d", int(runFlag.Seconds()), int(faultFlag.Seconds()), seed)
	show := newShow(t, *reportFlag != "")
	show.line("seed %d; to repeat: %s", seed, repeat)
	faults := plan(seed, *runFlag, *faultFlag)
	w := newWorld(t)
	r := &records{}
	customers := newCustomers(t, w, r)

	ctx, cancel := context.WithTimeout(t.Context(), *runFlag+drainFor)
	defer cancel()
	began := time.Now()
	stop, watching := make(chan struct{}), sync.WaitGroup{}
	watchCtx, endWatch := context.WithCancel(ctx)
	var acting sync.WaitGroup
	for i, c := range customers {
		acting.Go(func() {
			if err := c.act(ctx, stop, operations(seed, i)); err != nil {
				r.blame("customer %d did not end: %v", i, err)
			}
		})
		watching.Go(func() { c.watcher.read(watchCtx) })
		watching.Go(func() { c.watcher.follow(watchCtx) })
	}
	show.follow(began, *runFlag)
	spells, err := w.strike(ctx, began, faults, func(what string) { show.line("%5.0fs  %s", time.Since(began).Seconds(), what) })
	if err != nil {
		r.blame("%v", err)
	}
	show.done()
	close(stop)
	show.line("all faults have healed; waiting for the work that was begun")
	w.awaitReady(t, nodeCount)
	acting.Wait()
	endWatch()
	watching.Wait()
	judge(t, ctx, w, r, customers)

	taken, err := w.takeovers(ctx, spells)
	require.NoError(t, err)
	sum := summarize(began, spells, r, taken)
	show.line("%s", sum.text)
	if *reportFlag != "" {
		require.NoError(t, sum.save(*reportFlag, seed))
	}
	for _, b := range r.blames {
		t.Error(b)
	}
	if t.Failed() {
		t.Logf("to repeat: %s", repeat)
	}
}

func newCustomers(t *testing.T, w *world, r *records) (customers []*customer) {
	t.Helper()
	pool := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4 * customerCount}}
	for i := range customerCount {
		c := &customer{client: &client{w.base, pool, r}, world: w, number: i, keys: map[string]string{}}
		c.accountID, c.keyID, c.key = w.newAccount(t)
		c.keys[c.keyID] = "active"
		c.watcher = &watcher{client: c.client, key: c.key, analyses: map[string]seen{}, bodies: map[string]any{}}
		customers = append(customers, c)
	}
	return customers
}

// show prints what happens: a bar and lines on a terminal, else lines. In make test it only logs.
type show struct {
	t    *testing.T
	live bool
	bar  *terminal.Progress
	end  chan struct{}
	over sync.WaitGroup
}

func newShow(t *testing.T, live bool) *show {
	s := &show{t: t, live: live, end: make(chan struct{})}
	return s
}

func (s *show) line(format string, args ...any) {
	if !s.live {
		s.t.Logf(format, args...)
		return
	}
	text := fmt.Sprintf(format, args...)
	if s.bar != nil && s.bar.Live() {
		text = "\r\033[K" + text
	}
	fmt.Println(text)
}

// follow draws a bar of the time.
func (s *show) follow(began time.Time, run time.Duration) {
	if !s.live {
		return
	}
	s.bar = terminal.NewProgress(os.Stdout, "breaking", "s")
	s.over.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.bar.Set(min(int64(time.Since(began).Seconds()), int64(run.Seconds())), int64(run.Seconds()))
			case <-s.end:
				return
			}
		}
	})
}

func (s *show) done() {
	close(s.end)
	s.over.Wait()
	if s.bar != nil {
		s.bar.Finish()
	}
}
