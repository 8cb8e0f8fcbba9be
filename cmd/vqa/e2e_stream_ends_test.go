package main_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"
)

// endings are settings with which each end of a stream comes soon.
var endings = []string{
	"VQA_MEDIA_ADDR=0.0.0.0:0", "VQA_STREAM_ICE_TIMEOUT=5s", "VQA_STREAM_FIRST_FRAME=10s", "VQA_STREAM_MAX_SESSION=15",
	"VQA_STREAM_WARN_AT=2", "VQA_STREAM_GRACE=3s", "VQA_STREAM_SLOTS=8",
}

// viewer is a socket of a stream.
type viewer struct {
	t    *testing.T
	conn *websocket.Conn
}

// watch creates a stream and joins it.
func (c *apiClient) watch(t *testing.T) (v *viewer, streamID string) {
	t.Helper()
	created := c.call(t, http.MethodPost, "/v1/streams", map[string]any{"prompt": "Is there a stop sign?"})
	require.Equal(t, http.StatusCreated, created.status, "%s", created.raw)
	v = c.joinStream(t, created.text("id"))
	require.Equal(t, "ready", v.next()["type"])
	return v, created.text("id")
}

// joinStream opens a socket of a stream with a client token.
func (c *apiClient) joinStream(t *testing.T, streamID string) *viewer {
	t.Helper()
	minted := c.call(t, http.MethodPost, "/v1/client_tokens", map[string]any{"scopes": []string{"streams:signal"}, "stream_id": streamID})
	require.Equal(t, http.StatusCreated, minted.status, "%s", minted.raw)
	conn, _, err := websocket.Dial(t.Context(), "ws://"+c.addr+"/v1/streams/"+streamID+"/signal?token="+minted.text("token"), nil) //nolint:bodyclose // the library closes it
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	v := &viewer{t, conn}
	v.send(map[string]any{"type": "join"})
	return v
}

func (v *viewer) send(message map[string]any) {
	v.t.Helper()
	// The type comes first.
	kind, err := json.Marshal(message["type"])
	require.NoError(v.t, err)
	delete(message, "type")
	rest, err := json.Marshal(message)
	require.NoError(v.t, err)
	text := `{"type":` + string(kind)
	if len(message) > 0 {
		text += "," + string(rest[1:])
	} else {
		text += "}"
	}
	require.NoError(v.t, v.conn.Write(v.t.Context(), websocket.MessageText, []byte(text)))
}

func (v *viewer) next() map[string]any {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), streamPatience)
	defer cancel()
	_, raw, err := v.conn.Read(ctx)
	require.NoError(v.t, err)
	var m map[string]any
	require.NoError(v.t, json.Unmarshal(raw, &m))
	return m
}

// end reads until the message end, which is the last one.
func (v *viewer) end() (reason string, before []map[string]any) {
	v.t.Helper()
	for {
		m := v.next()
		if m["type"] != "end" {
			before = append(before, m)
			continue
		}
		ctx, cancel := context.WithTimeout(v.t.Context(), streamPatience)
		defer cancel()
		_, _, err := v.conn.Read(ctx)
		require.Equal(v.t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
		return m["reason"].(string), before
	}
}

// offer returns a client with one silent track and its offer.
func offer(t *testing.T) (*webrtc.PeerConnection, string) {
	t.Helper()
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264}, "video", "camera")
	require.NoError(t, err)
	_, err = pc.AddTrack(track)
	require.NoError(t, err)
	sdp, err := pc.CreateOffer(nil)
	require.NoError(t, err)
	gathered := webrtc.GatheringCompletePromise(pc)
	require.NoError(t, pc.SetLocalDescription(sdp))
	<-gathered
	return pc, pc.LocalDescription().SDP
}

// TestEachEndOfAStream causes each end reason with the real program. It compares the message on the socket, the
// resource, the event, the bill and the ledger.
func TestEachEndOfAStream(t *testing.T) {
	t.Parallel()
	s := ownService(t, endings...)
	clip, err := longClip()
	require.NoError(t, err)
	const credits = 100.0
	ended := func(t *testing.T, c *apiClient, id, reason string, credits float64, billed func(float64)) answer {
		t.Helper()
		st := c.call(t, http.MethodGet, "/v1/streams/"+id, nil)
		require.Equal(t, "ended", st.text("status"), "%s", st.raw)
		require.Equal(t, reason, st.text("end_reason"), "%s", st.raw)
		billed(st.number("usage.billed_seconds"))
		left := credits - st.number("usage.billed_seconds")
		require.Equal(t, left, st.number("usage.credit_balance_after"))
		balance := c.call(t, http.MethodGet, "/v1/credits", nil)
		require.Equal(t, left, balance.number("available_seconds"), "%s", balance.raw)
		require.Zero(t, balance.number("held_seconds"))
		var events answer
		require.True(t, poll(streamPatience, func() bool {
			events = c.call(t, http.MethodGet, "/v1/events?type=stream.ended", nil)
			return events.text("data.0.id") != ""
		}))
		require.Equal(t, reason, events.text("data.0.data.end_reason"))
		return st
	}
	nothing := func(t *testing.T) func(float64) {
		return func(billed float64) { t.Helper(); require.Zero(t, billed) }
	}
	within := func(t *testing.T, least, most float64) func(float64) {
		return func(billed float64) {
			t.Helper()
			require.GreaterOrEqual(t, billed, least)
			require.LessOrEqual(t, billed, most)
		}
	}
	// live sends the clip until the first answer, and returns a second socket of the stream.
	live := func(t *testing.T, c *apiClient) (b *broadcast, v *viewer, id string) {
		t.Helper()
		b = c.broadcast(t, clip, "Is there a stop sign?")
		b.await("result", 0, tells("result", ""))
		id = c.call(t, http.MethodGet, "/v1/streams", nil).text("data.0.id")
		v = c.joinStream(t, id)
		require.Equal(t, "ready", v.next()["type"])
		return b, v, id
	}
	for name, play := range map[string]func(t *testing.T, c *apiClient){
		"canceled on the socket": func(t *testing.T, c *apiClient) {
			v, id := c.watch(t)
			v.send(map[string]any{"type": "end"})
			reason, _ := v.end()
			require.Equal(t, "canceled", reason)
			ended(t, c, id, "canceled", credits, nothing(t))
		},
		"canceled by a request": func(t *testing.T, c *apiClient) {
			v, id := c.watch(t)
			require.Equal(t, "canceled", c.call(t, http.MethodPost, "/v1/streams/"+id+"/end", nil).text("end_reason"))
			reason, _ := v.end()
			require.Equal(t, "canceled", reason)
			ended(t, c, id, "canceled", credits, nothing(t))
		},
		"ice_failed": func(t *testing.T, c *apiClient) {
			v, id := c.watch(t)
			_, sdp := offer(t)
			v.send(map[string]any{"type": "offer", "sdp": sdp}) // and does not use the answer
			reason, before := v.end()
			require.Equal(t, "ice_failed", reason, "%v", before)
			st := ended(t, c, id, "ice_failed", credits, nothing(t))
			require.NotEmpty(t, st.text("failure_diagnostic.hint"), "%s", st.raw)
			require.NotEmpty(t, st.text("failure_diagnostic.local_candidates.0"))
		},
		"media_timeout": func(t *testing.T, c *apiClient) {
			v, id := c.watch(t)
			pc, sdp := offer(t)
			v.send(map[string]any{"type": "offer", "sdp": sdp})
			got := v.next()
			require.Equal(t, "answer", got["type"], "%v", got)
			require.NoError(t, pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: got["sdp"].(string)}))
			require.Equal(t, "live", v.next()["type"])
			reason, _ := v.end()
			require.Equal(t, "media_timeout", reason)
			st := ended(t, c, id, "media_timeout", credits, nothing(t))
			require.Contains(t, st.text("failure_diagnostic.hint"), "no video arrived")
		},
		"completed": func(t *testing.T, c *apiClient) {
			_, v, id := live(t, c)
			v.send(map[string]any{"type": "end"})
			reason, _ := v.end()
			require.Equal(t, "completed", reason)
			ended(t, c, id, "completed", credits, within(t, 1, 15))
		},
		"timeout": func(t *testing.T, c *apiClient) {
			b, v, id := live(t, c)
			reason, before := v.end()
			require.Equal(t, "timeout", reason)
			require.Equal(t, "timeout", b.over()["end_reason"])
			b.await("warning", 0, tells("warning", ""))
			require.NotEmpty(t, before)
			ended(t, c, id, "timeout", credits, within(t, 11, 15))
		},
		"insufficient_credits": func(t *testing.T, _ *apiClient) {
			poor := s.account(t, 4)
			b, v, id := live(t, poor)
			reason, _ := v.end()
			require.Equal(t, "insufficient_credits", reason)
			require.Equal(t, "insufficient_credits", b.over()["end_reason"])
			ended(t, poor, id, "insufficient_credits", 4, within(t, 4, 4))
		},
		"error": func(t *testing.T, c *apiClient) {
			_, v, id := live(t, c)
			s.tool(t, "keys", "restrict", c.key.AccountID, "--reason", "fraud")
			reason, before := v.end()
			require.Equal(t, "error", reason)
			last := before[len(before)-1]
			require.Equal(t, "account_restricted", last["code"], "%v", before)
			s.tool(t, "keys", "unrestrict", c.key.AccountID, "--reason", "paid")
			ended(t, c, id, "error", credits, within(t, 1, 15))
			require.Contains(t, string(s.tool(t, "why", id)), "account_restricted")
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, s.account(t, int(credits)))
		})
	}
	requireLedgerClean(t, s)
}

// TestASecondEndChangesNothing: ends of all kinds at once end a stream once, with one bill.
func TestASecondEndChangesNothing(t *testing.T) {
	t.Parallel()
	s := ownService(t, endings...)
	c := s.account(t, 50)
	clip, err := longClip()
	require.NoError(t, err)
	b := c.broadcast(t, clip, "Is there a stop sign?")
	b.await("result", 0, tells("result", ""))
	id := c.call(t, http.MethodGet, "/v1/streams", nil).text("data.0.id")
	v := c.joinStream(t, id)
	require.Equal(t, "ready", v.next()["type"])
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() { answers <- c.call(t, http.MethodPost, "/v1/streams/"+id+"/end", nil) }()
	}
	v.send(map[string]any{"type": "update_prompt", "prompt": "Is there a cat?"})
	v.send(map[string]any{"type": "end"})
	bills := map[string]bool{}
	for range cap(answers) {
		got := <-answers
		require.Equal(t, http.StatusOK, got.status, "%s", got.raw)
		require.Equal(t, "completed", got.text("end_reason"))
		bills[got.text("ended_at")] = true
	}
	require.Len(t, bills, 1)
	time.Sleep(time.Second)
	balance := c.call(t, http.MethodGet, "/v1/credits", nil)
	require.Equal(t, "stream_debit", balance.text("transactions.0.kind"))
	require.NotEqual(t, "stream_debit", balance.text("transactions.1.kind"), "%s", balance.raw)
	requireLedgerClean(t, s)
}
