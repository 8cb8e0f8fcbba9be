package main_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAStreamOfAStoppedNode stops the service with SIGTERM while a stream is live. The stream ends at once, is
// billed to its last picture, and its client is told.
func TestAStreamOfAStoppedNode(t *testing.T) {
	t.Parallel()
	clip, err := longClip()
	require.NoError(t, err)
	s := ownService(t, patientStreams...)
	c := s.account(t, 600)
	sent := c.broadcast(t, clip, "Is there a stop sign?")
	_, n := sent.await("heartbeat", 0, tells("metering", ""))
	sent.await("answer", n, tells("result", "yes"))
	require.NoError(t, s.terminate())
	require.NotContains(t, s.said.String(), "cut off")
	require.NoError(t, s.start())
	st := c.call(t, http.MethodGet, "/v1/streams", nil)
	require.Equal(t, "ended", st.text("data.0.status"), "%s", st.raw)
	require.Equal(t, "error", st.text("data.0.end_reason"))
	require.Contains(t, string(s.tool(t, "why", st.text("data.0.id"))), "The node of the stream was shut down.")
	billed := st.number("data.0.usage.billed_seconds")
	require.Positive(t, billed)
	account := c.credits(t)
	require.Equal(t, 600-billed, account.number("balance_seconds"), "%s", account.raw)
	require.Zero(t, account.number("held_seconds"))
}

// TestACutSenderMissesNoResult cuts all connections between vqa stream and the service, again and again. Each result
// is printed once, in order.
func TestACutSenderMissesNoResult(t *testing.T) {
	t.Parallel()
	clip, err := longClip()
	require.NoError(t, err)
	s := ownServiceLater(t, patientStreams...)
	between := newCable(t, s.addr)
	s.env = append(s.env, "VQA_PUBLIC_URL=http://"+between.Addr().String())
	require.NoError(t, s.start())
	sent := s.account(t, 600).broadcast(t, clip, "Is there a stop sign?")
	_, n := sent.await("answer", 0, tells("result", "yes"))
	for range 3 {
		for range 40 { // 2 s, in which no socket lives
			between.cut()
			time.Sleep(50 * time.Millisecond)
		}
		_, n = sent.await("ready message of the next socket", n, tells("ready", ""))
		for range 5 {
			_, n = sent.await("result", n, tells("result", ""))
		}
	}
	require.Equal(t, "completed", sent.stop()["end_reason"])
	seq := 0.0
	for _, m := range sent.all() {
		if m["type"] == "result" {
			require.Equal(t, seq+1, m["seq"])
			seq++
		}
	}
	require.Greater(t, seq, 15.0)
}
