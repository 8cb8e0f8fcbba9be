package signal_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/logging"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
)

// camera is a pion sender of a bright scene.
type camera struct {
	t      testing.TB
	pc     *webrtc.PeerConnection
	sought chan *webrtc.ICECandidate // the candidates; nil is the last one
}

func newCamera(t testing.TB) *camera {
	t.Helper()
	settings := webrtc.SettingEngine{LoggerFactory: &logging.DefaultLoggerFactory{Writer: io.Discard}}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetICETimeouts(3*time.Second, patience, 200*time.Millisecond)
	pc, err := webrtc.NewAPI(webrtc.WithSettingEngine(settings)).NewPeerConnection(webrtc.Configuration{})
	require.NoError(t, err)
	c := &camera{t: t, pc: pc, sought: make(chan *webrtc.ICECandidate, 100)}
	pc.OnICECandidate(func(found *webrtc.ICECandidate) { c.sought <- found })
	track, err := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264, ClockRate: 90000}, "video", "camera")
	require.NoError(t, err)
	_, err = pc.AddTrack(track)
	require.NoError(t, err)
	scene := encode(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var sending sync.WaitGroup
	sending.Go(func() {
		tick := time.NewTicker(time.Second / 30)
		defer tick.Stop()
		for at := 0; ctx.Err() == nil; at++ {
			_ = track.WriteSample(media.Sample{Data: scene[at%len(scene)], Duration: time.Second / 30})
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() { cancel(); sending.Wait(); _ = pc.Close() })
	return c
}

// offer returns an offer without candidates.
func (c *camera) offer(restart bool) string {
	c.t.Helper()
	offer, err := c.pc.CreateOffer(&webrtc.OfferOptions{ICERestart: restart})
	require.NoError(c.t, err)
	require.NoError(c.t, c.pc.SetLocalDescription(offer))
	return offer.SDP
}

// candidates returns all candidates.
func (c *camera) candidates() []webrtc.ICECandidateInit {
	c.t.Helper()
	var all []webrtc.ICECandidateInit
	for {
		select {
		case found := <-c.sought:
			if found == nil {
				return all
			}
			all = append(all, found.ToJSON())
		case <-time.After(patience):
			require.Fail(c.t, "the candidates were not found")
		}
	}
}

func (c *camera) accept(sdp string) {
	c.t.Helper()
	require.NoError(c.t, c.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: sdp}))
}

// await returns the first message of a type that fulfills a condition.
func await[M message.Server](c *client, fulfills func(M) bool) M {
	c.t.Helper()
	for {
		m := c.next()
		if e, is := m.(message.Error); is {
			require.Fail(c.t, "an error", "%+v", e)
		}
		if m, is := m.(M); is && fulfills(m) {
			return m
		}
	}
}

func anyOf[M any](M) bool { return true }

// TestPionOverTheSocket negotiates with trickle ICE over the socket, closes it, and comes back with a restart
// of ICE over another one.
func TestPionOverTheSocket(t *testing.T) {
	t.Parallel()
	g, cam := newStage(t), newCamera(t)
	connect := func(restart bool) *client {
		c := g.dial()
		c.send(`{"type":"join"}`)
		await(c, anyOf[message.Ready])
		offer, err := message.Encode(message.Offer{SDP: cam.offer(restart)})
		require.NoError(t, err)
		c.send(string(offer))
		cam.accept(await(c, anyOf[message.Answer]).SDP)
		for _, candidate := range cam.candidates() {
			raw, err := json.Marshal(map[string]any{"type": "ice", "candidate": candidate})
			require.NoError(t, err)
			c.send(string(raw))
		}
		c.send(`{"type":"ice","candidate":null}`)
		return c
	}
	c := connect(false)
	await(c, anyOf[message.Live])
	first := await(c, func(r message.Result) bool { return r.Answer == "yes" && len(r.Detections) == 1 })
	c.send(`{"type":"update_prompt","prompt":"Is no dog visible?"}`)
	require.Equal(t, "Is no dog visible?", await(c, anyOf[message.PromptUpdated]).Prompt)
	await(c, func(r message.Result) bool { return r.Answer == "no" })
	require.NotZero(t, await(c, func(m message.Metering) bool { return m.BilledSeconds > 0 }).BilledSeconds)
	require.NoError(t, c.conn.Close(websocket.StatusNormalClosure, ""))

	c = connect(true)
	second := await(c, func(r message.Result) bool { return r.Answer == "no" })
	require.Greater(t, second.Seq, first.Seq)
	c.send(`{"type":"end"}`)
	require.Equal(t, stream.Completed, await(c, anyOf[message.ServerEnd]).Reason)
	c.closed(websocket.StatusNormalClosure, "completed")
	g.ended("signaling", stream.Completed)
}

// TestHostileMessagesToARealSession sends offers and candidates that cannot work, out of order and repeated, and
// then connects.
func TestHostileMessagesToARealSession(t *testing.T) {
	t.Parallel()
	g, cam := newStage(t), newCamera(t)
	c := g.dial()
	c.send(`{"type":"join"}`)
	await(c, anyOf[message.Ready])
	c.send(`{"type":"ice","candidate":{"candidate":"candidate:1 1 udp 1 192.0.2.1 5000 typ host","sdpMid":"9"}}`) // before the offer
	c.send(`{"type":"ice","candidate":null}`)
	for _, sdp := range []string{"x", "v=0\r\n", "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n", strings.Repeat("a=x\r\n", 5000)} {
		raw, err := message.Encode(message.Offer{SDP: sdp})
		require.NoError(t, err)
		c.send(string(raw))
		c.refused(fault.ValidationFailed, "")
	}
	for range 70 { // more than the peer takes
		c.send(`{"type":"ice","candidate":{"candidate":"candidate:garbage","sdpMid":"0"},"errors":[{"url":"turn:x","errorCode":701}]}`)
	}
	offer, err := message.Encode(message.Offer{SDP: cam.offer(false)})
	require.NoError(t, err)
	for range 3 { // repeated
		c.send(string(offer))
	}
	sdp := ""
	for answers := 0; answers < 3; {
		if a, is := c.next().(message.Answer); is { // errors about candidates come before
			sdp = a.SDP
			answers++
		}
	}
	cam.accept(sdp)
	for _, candidate := range cam.candidates() {
		raw, err := json.Marshal(map[string]any{"type": "ice", "candidate": candidate})
		require.NoError(t, err)
		c.send(string(raw))
	}
	for {
		if r, is := c.next().(message.Result); is && r.Answer == "yes" {
			break
		}
	}
	c.send(`{"type":"end"}`)
	c.closed(websocket.StatusNormalClosure, "completed")
	g.ended("signaling", stream.Completed)
}

// TestPionOverWHIP sends candidates and a restart of ICE by PATCH. DELETE ends the stream.
func TestPionOverWHIP(t *testing.T) {
	t.Parallel()
	g, cam := newStage(t), newCamera(t)
	status, answer, header := g.request(http.MethodPost, "whip", cam.offer(false), sdpType)
	require.Equal(t, http.StatusCreated, status, answer)
	cam.accept(answer)
	patch := func(tag string) (string, http.Header) {
		local := cam.pc.LocalDescription().SDP
		fragment := "a=ice-ufrag:" + value(local, "a=ice-ufrag:") + "\r\na=ice-pwd:" + value(local, "a=ice-pwd:") + "\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n"
		for _, candidate := range cam.candidates() {
			fragment += "a=" + candidate.Candidate + "\r\n"
		}
		status, body, header := g.request(http.MethodPatch, "whip", fragment+"a=end-of-candidates\r\n", http.Header{"Content-Type": {fragmentType}, "If-Match": {tag}})
		require.Less(t, status, 300, body)
		return body, header
	}
	body, _ := patch(header.Get("ETag"))
	require.Empty(t, body)
	next := g.events("")
	has := func(text string) {
		t.Helper()
		for {
			event := next()
			require.NotEmpty(t, event, "the events have ended")
			if strings.Contains(event, text) {
				return
			}
		}
	}
	has(`"type":"live"`)
	has(`"answer":"yes"`)

	// The answer to a restart has only the credentials and the candidates; the rest stays.
	remote := cam.pc.RemoteDescription().SDP
	cam.offer(true)
	body, after := patch("*")
	require.NotEqual(t, header.Get("ETag"), after.Get("ETag"))
	for _, name := range []string{"a=ice-ufrag:", "a=ice-pwd:"} {
		require.NotEqual(t, value(remote, name), value(body, name))
		remote = strings.ReplaceAll(remote, name+value(remote, name), name+value(body, name))
	}
	cam.accept(remote)
	wait(t, "the connection after the restart", func() bool { return cam.pc.ICEConnectionState() == webrtc.ICEConnectionStateConnected })
	has(`"answer":"yes"`)
	status, body, _ = g.request(http.MethodDelete, "whip", "", nil)
	require.Equal(t, http.StatusOK, status, body)
	has(`"reason":"completed"`)
	g.ended("whip", stream.Completed)
}

// value returns the rest of the line that begins with a name.
func value(sdp, name string) string {
	_, after, _ := strings.Cut(sdp, name)
	line, _, _ := strings.Cut(after, "\r\n")
	return line
}
