package live_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/streaming/live"
)

// node owns all streams of the tests.
const node = "node-1"

// ledger is a log of one stream with an account, on the rules of package stream.
type ledger struct {
	mu      sync.Mutex
	state   stream.State
	events  []stream.Event
	balance int64 // posted
	held    int64
	settled int
	down    error
}

// newLedger returns the log of a stream that has a slot. The account has a balance, of which the stream
// holds at most a slice.
func newLedger(t testing.TB, c stream.Create, balance int64) *ledger {
	t.Helper()
	l := &ledger{balance: balance}
	if c.Livemode {
		l.held = min(balance, 60)
		c.HeldSeconds = l.held
	}
	for _, command := range []stream.Command{c, stream.GrantSlot{Node: node}} {
		_, _, err := l.Record(t.Context(), c.ID, command)
		require.NoError(t, err)
	}
	return l
}

func creation() stream.Create {
	prompt := "Is there a dog?"
	return stream.Create{
		ID: "st_1", AccountID: "acct_1", Livemode: true, Prompt: &prompt, Query: english.Compile(prompt),
		ParseMode: stream.ParseHeuristic, Model: "m", MaxSessionSeconds: 3600, WarnAtSeconds: 60,
	}
}

// Record implements live.Log.
func (l *ledger) Record(ctx context.Context, _ string, c stream.Command) (stream.State, live.Funds, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(ctx.Err(), l.down); err != nil {
		lost := l.state // it was not stored
		lost.Status = stream.EndedStatus
		return lost, live.Funds{}, err
	}
	now := time.Now()
	switch m := c.(type) {
	case stream.Meter:
		if l.state.Status == stream.Live && l.state.Livemode && l.held*1000-m.ClockMillis <= 30_000 {
			l.held += min(60, l.balance-l.held, l.state.MaxSessionSeconds-l.held)
		}
		m.HeldSeconds = l.held
		c = m
	case stream.End:
		m.Usage.BilledSeconds = l.state.Billable(m, now)
		c = m
	}
	events, err := stream.Decide(l.state, c, now)
	for _, e := range events {
		l.state = stream.Evolve(l.state, e)
		if ended, is := e.(stream.Ended); is {
			l.balance -= ended.Usage.BilledSeconds
			l.held = 0
			l.settled++
		}
	}
	l.events = append(l.events, events...)
	if err != nil {
		return l.state, live.Funds{}, err
	}
	return l.state, live.Funds{Balance: l.balance, Available: l.balance - l.held}, nil
}

// buy adds credits.
func (l *ledger) buy(seconds int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.balance += seconds
}

// setDown lets all calls fail until it is called with nil.
func (l *ledger) setDown(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = err
}

// types returns the types of all events.
func (l *ledger) types() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, e := range l.events {
		all = append(all, e.EventType())
	}
	return all
}

// ended checks the end of the stream: once, with a reason, for some seconds of the clock and of the bill.
func (l *ledger) ended(t testing.TB, reason stream.EndReason, clockMillis, billed int64) stream.State {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Equal(t, stream.EndedStatus, l.state.Status)
	require.Equal(t, reason, l.state.Reason, l.state.Detail)
	require.InDelta(t, clockMillis, l.state.ClockMillis, 100, "as exact as the pictures of the test")
	require.Equal(t, billed, l.state.Usage.BilledSeconds)
	require.Equal(t, 1, l.settled, "one settlement")
	return l.state
}

var errDown = fault.New(fault.DBUnavailable, "")
