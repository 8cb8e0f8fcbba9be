package main_test

import (
	"flag"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// longStream is the length of the streams of TestLongStreams in seconds. 0 skips it and the other tests of `make streams`, which need about
// a minute each.
var longStream = flag.Int("stream.seconds", 0, "seconds of a live stream that takes several slices of credit")

// sliceSeconds is the credit that a live stream holds ahead.
const sliceSeconds = 60

// TestLongStreams sends media for several slices of credit: one stream until its credits end, and one that its client
// ends in the middle of a slice. Both are billed to the second.
func TestLongStreams(t *testing.T) {
	t.Parallel()
	if *longStream == 0 {
		t.Skip("make streams runs it")
	}
	require.Greater(t, *longStream, 2*sliceSeconds, "several slices")
	s := ownService(t, append(patientStreams, "VQA_STREAM_SLOTS=2")...)
	clip, err := longClip()
	require.NoError(t, err)
	paid, open := s.account(t, *longStream), s.account(t, 10*(*longStream))
	untilPaid := paid.broadcast(t, clip, "Is there a stop sign?")
	untilEnded := open.broadcast(t, clip, "Is there a stop sign?", "--recording")

	// In the middle of the second slice, less than two are held.
	half := float64(sliceSeconds * 3 / 2)
	for !untilEnded.elapsed(half) {
		require.Less(t, open.credits(t).number("held_seconds"), float64(2*sliceSeconds+1))
		select {
		case <-untilEnded.ended:
			require.Fail(t, "the stream ended before its time")
		case <-time.After(time.Second):
		}
	}
	ended := untilEnded.stop()
	require.Equal(t, "completed", ended["end_reason"], "%v", ended)
	billed := requireBill(t, open, 10*(*longStream), ended)
	require.InDelta(t, half, billed, 8, "the heartbeat that ended it was less than 6 s ago")
	requireSteady(t, untilEnded, billed)
	requireRecording(t, open, ended["id"].(string))

	select {
	case <-untilPaid.ended:
	case <-time.After(time.Duration(*longStream) * time.Second):
	}
	ended = untilPaid.over()
	require.Equal(t, "insufficient_credits", ended["end_reason"], "%v", ended)
	billed = requireBill(t, paid, *longStream, ended)
	require.EqualValues(t, *longStream, billed, "all credits, and no second more")
	requireSteady(t, untilPaid, billed)
	require.Contains(t, kinds(untilPaid.all()), "warning")
	requireLedgerClean(t, s)
}

// elapsed reports whether the clock of the latest heartbeat is at least so many seconds.
func (b *broadcast) elapsed(seconds float64) bool {
	for _, m := range b.all() {
		if m["type"] == "metering" && m["elapsed_s"].(float64) >= seconds {
			return true
		}
	}
	return false
}

// requireBill compares the bill of an ended stream with the account, and returns its seconds.
func requireBill(t *testing.T, c *apiClient, grant int, ended map[string]any) float64 {
	t.Helper()
	read := c.call(t, http.MethodGet, "/v1/streams/"+ended["id"].(string), nil)
	billed := read.number("usage.billed_seconds")
	require.Equal(t, read.number("duration_s"), billed)
	account := c.credits(t)
	require.Equal(t, float64(grant)-billed, account.number("balance_seconds"), "%s", account.raw)
	require.Zero(t, account.number("held_seconds"))
	require.Equal(t, -billed, account.number("transactions.0.seconds_delta"))
	return billed
}

// requireSteady checks that heartbeats and results came all the time, over the ends of the slices.
func requireSteady(t *testing.T, b *broadcast, billed float64) {
	t.Helper()
	clock, seq, results := 0.0, 0.0, 0.0
	for _, m := range b.all() {
		switch m["type"] {
		case "metering":
			elapsed := m["elapsed_s"].(float64)
			require.InDelta(t, clock+5, elapsed, 2, "a heartbeat every 5 s")
			require.InDelta(t, elapsed, m["billed_seconds"], 1)
			clock = elapsed
		case "result":
			require.Equal(t, seq+1, m["seq"])
			require.Less(t, m["t_s"].(float64)-results, 20.0, "a gap before result %v, also on a busy machine", m["seq"])
			seq, results = m["seq"].(float64), m["t_s"].(float64)
		}
	}
	require.InDelta(t, billed, clock, 6)
	require.InDelta(t, billed, results, 20)
}

// kinds returns the types of messages.
func kinds(messages []map[string]any) []string {
	var all []string
	for _, m := range messages {
		if kind, ok := m["type"].(string); ok {
			all = append(all, kind)
		}
	}
	return all
}
