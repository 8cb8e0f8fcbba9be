package admission_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/admission"
)

var start = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

// node is a simulated node with a gate, in steps of a millisecond. It serves its creates one after
// the other, at the set rate.
type node struct {
	gate *admission.Gate
	now  time.Time
	// rate is the number of creates that the node serves in a second, and progress the part of the
	// next one that is done.
	rate, progress float64
	// line has the arrival times of the creates that wait, and inside those of the creates in
	// service, which entered at the times of entered.
	line, inside, entered []time.Time
	// accepted are the times from arrival to end.
	accepted []time.Duration
	refused  int
}

func newNode(rate float64) *node {
	return &node{gate: admission.New(admission.Default), now: start, rate: rate}
}

// arrive offers a create and returns its verdict.
func (n *node) arrive() admission.Verdict {
	verdict := n.gate.Enter(n.now)
	switch verdict {
	case admission.Serve:
		n.serve(n.now)
	case admission.Wait:
		n.line = append(n.line, n.now)
	case admission.Refuse:
		n.refused++
	}
	return verdict
}

func (n *node) serve(arrived time.Time) {
	n.inside, n.entered = append(n.inside, arrived), append(n.entered, n.now)
}

// patience is the time after which a create leaves the line.
const patience = time.Second

// step lets a millisecond pass.
func (n *node) step() {
	n.now = n.now.Add(time.Millisecond)
	for len(n.line) > 0 && n.now.Sub(n.line[0]) > patience {
		n.gate.Abandon(n.now)
		n.refused++
		n.line = n.line[1:]
	}
	for n.progress += n.rate / 1000; n.progress >= 1 && len(n.inside) > 0; n.progress-- {
		n.accepted = append(n.accepted, n.now.Sub(n.inside[0]))
		n.gate.Leave(n.now, n.now.Sub(n.entered[0]), true)
		n.inside, n.entered = n.inside[1:], n.entered[1:]
		for n.gate.Next(n.now) {
			n.serve(n.line[0])
			n.line = n.line[1:]
		}
	}
	n.progress = min(n.progress, 1)
}

// offer lets creates arrive evenly at a rate, for a time. It returns the creates served in a second.
func (n *node) offer(rate float64, period time.Duration) (served float64) {
	before, due := len(n.accepted), 0.0
	for end := n.now.Add(period); n.now.Before(end); n.step() {
		for due += rate / 1000; due >= 1; due-- {
			n.arrive()
		}
	}
	return float64(len(n.accepted)-before) / period.Seconds()
}

// quantile returns the time that a share of the accepted creates does not exceed.
func (n *node) quantile(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(n.accepted))
	return sorted[int(share*float64(len(sorted)-1))]
}

// TestGoodput offers more and more to nodes of different speeds.
func TestGoodput(t *testing.T) {
	t.Parallel()
	for _, capacity := range []float64{30, 150, 1000} {
		best, last := 0.0, 0.0
		for _, load := range []float64{0.5, 1, 2, 5, 20} {
			n := newNode(capacity)
			n.offer(load*capacity, 5*time.Second)
			n.accepted = nil
			last = n.offer(load*capacity, 20*time.Second)
			best = max(best, last)
			require.Less(t, n.quantile(0.95), 500*time.Millisecond, "capacity %v, load %v", capacity, load)
			if load < 1 {
				require.Zero(t, n.refused, "capacity %v, load %v", capacity, load)
			}
		}
		require.Greater(t, last, 0.9*best, "capacity %v", capacity)
		require.Greater(t, best, 0.9*capacity)
	}
}

// TestSlowness slows a node down for ten seconds. It sheds meanwhile, and stops when it is quick again.
func TestSlowness(t *testing.T) {
	t.Parallel()
	n := newNode(200)
	n.offer(100, 10*time.Second)
	require.Zero(t, n.refused)
	n.rate = 5
	n.offer(100, 10*time.Second)
	require.Greater(t, n.refused, 800)
	require.True(t, n.gate.Slow())
	n.rate = 200
	n.offer(100, 2*time.Second)
	n.refused = 0
	n.offer(100, 10*time.Second)
	require.Zero(t, n.refused)
	require.False(t, n.gate.Slow() && n.gate.Waiting() > 0)
}

// TestStall stops a node completely.
func TestStall(t *testing.T) {
	t.Parallel()
	n := newNode(0)
	n.offer(100, 5*time.Second)
	require.True(t, n.gate.Slow())
	require.Less(t, n.gate.Inside()+n.gate.Waiting(), 150)
	n.refused = 0
	n.offer(100, time.Second)
	require.InDelta(t, 100, n.refused, 1)
}

// TestBurst offers many creates at once to an idle node. They wait in line, and none is refused.
func TestBurst(t *testing.T) {
	t.Parallel()
	n := newNode(200)
	n.offer(20, time.Second)
	for range 64 {
		require.NotEqual(t, admission.Refuse, n.arrive())
	}
	n.offer(0, time.Second)
	require.Zero(t, n.gate.Waiting())
	require.Less(t, n.quantile(1), 500*time.Millisecond)
}

// TestRetryAfter lets the refused clients of a burst come back when they were asked to.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	n := newNode(200)
	back := map[time.Time]int{}
	const burst = 2 * time.Second
	returned, again := 0, 0
	for end := n.now.Add(40 * time.Second); n.now.Before(end); n.step() {
		for range back[n.now] {
			refused := n.arrive() == admission.Refuse
			if n.now.Sub(start) < burst {
				continue // new clients still take the places
			}
			if returned++; refused {
				again++
			}
		}
		if n.now.Sub(start) < burst { // five times the capacity
			if n.arrive() == admission.Refuse {
				after := n.gate.Book(n.now)
				require.GreaterOrEqual(t, after, 1)
				require.LessOrEqual(t, after, admission.Default.Longest)
				back[n.now.Add(time.Duration(after)*time.Second)]++
			}
		}
	}
	require.Greater(t, returned, 1000)
	require.Less(t, again, returned/50, "refused again of %d", returned)
}

// TestBounds holds the bounds of a gate under any sequence of calls and clocks.
func TestBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := admission.Default
		g, now := admission.New(p), start
		for range rapid.IntRange(1, 300).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.IntRange(-2000, 2000).Draw(t, "passed")) * time.Millisecond)
			switch rapid.IntRange(0, 3).Draw(t, "call") {
			case 0, 1:
				if g.Enter(now) == admission.Refuse {
					s := g.Book(now)
					require.True(t, s >= 1 && s <= p.Longest, "%d", s)
				}
			case 2:
				if g.Inside() > 0 {
					g.Leave(now, time.Duration(rapid.IntRange(-10, 5000).Draw(t, "took"))*time.Millisecond, rapid.Bool().Draw(t, "counts"))
					for g.Next(now) {
						require.LessOrEqual(t, g.Inside(), g.Bound())
					}
				}
			case 3:
				if g.Waiting() > 0 {
					g.Abandon(now)
				}
			}
			require.True(t, g.Bound() >= p.Least && g.Bound() <= p.Most)
			require.True(t, g.Inside() >= 0 && g.Inside() <= p.Most && g.Waiting() >= 0)
		}
	})
}
