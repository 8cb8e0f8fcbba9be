package peer_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/assemble/assembletest"
	"vqa/streaming/peer"
)

// another returns a track of an encoder that has just started: it has its own numbers and times.
func (c *client) another(t testing.TB, seed uint64) *webrtc.TrackLocalStaticRTP {
	t.Helper()
	track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264, ClockRate: 90000}, fmt.Sprint("video", seed), "camera")
	require.NoError(t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	seq := c.encoder.Seq
	c.encoder = assembletest.New(assemble.H264, rand.New(rand.NewPCG(seed, 1)))
	// Encryption refuses numbers that go back on the same SSRC.
	c.encoder.Seq, c.encoder.Time = seq+20000, 0
	c.keyframe, c.track = true, track
	return track
}

// TestATurnedClient sends its rotation as libwebrtc does: in the last packet of a picture, and only when it changes.
func TestATurnedClient(t *testing.T) {
	t.Parallel()
	for _, mime := range []string{webrtc.MimeTypeH264, webrtc.MimeTypeVP8} {
		t.Run(mime, func(t *testing.T) {
			t.Parallel()
			s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{turns: true, mime: mime})
			c.join(t, open(t, s, got.session("st_1")))
			got.waitState(t, peer.Connected)
			id := uint8(0)
			for _, e := range c.pc.GetSenders()[0].GetParameters().HeaderExtensions {
				if e.URI == "urn:3gpp:video-orientation" {
					id = uint8(e.ID)
				}
			}
			require.NotZero(t, id, "it is negotiated")
			var want []int
			for i := range 24 {
				c.extend = func(h *rtp.Header) {
					if i%6 == 0 && i > 0 && h.Marker {
						require.NoError(t, h.SetExtension(id, []byte{8 | byte(i/6)})) // with the bit of a camera at the back
					}
				}
				c.send()
				want = append(want, i/6*90)
				time.Sleep(10 * time.Millisecond)
			}
			got.waitFrames(t, len(want))
			got.mu.Lock()
			defer got.mu.Unlock()
			var rotations []int
			for _, f := range got.frames {
				rotations = append(rotations, f.Rotation)
			}
			require.Equal(t, want, rotations)
		})
	}
}

// TestTheTrackIsReplaced starts the encoder of the client again, in each way that keeps the connection.
func TestTheTrackIsReplaced(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(t *testing.T, c *client, p *peer.Peer, seed uint64){
		"replaceTrack": func(t *testing.T, c *client, _ *peer.Peer, seed uint64) {
			require.NoError(t, c.pc.GetSenders()[0].ReplaceTrack(c.another(t, seed)))
		},
		"a new track in the same section": func(t *testing.T, c *client, p *peer.Peer, seed uint64) {
			require.NoError(t, c.pc.RemoveTrack(c.pc.GetSenders()[0]))
			sender, err := c.pc.AddTrack(c.another(t, seed))
			require.NoError(t, err)
			go c.listen(sender)
			c.join(t, p)
		},
		"a new section": func(t *testing.T, c *client, p *peer.Peer, seed uint64) {
			old := c.pc.GetTransceivers()
			require.NoError(t, old[len(old)-1].Stop())
			next, err := c.pc.AddTransceiverFromTrack(c.another(t, seed), webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
			require.NoError(t, err)
			go c.listen(next.Sender())
			c.join(t, p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{})
			p := open(t, s, got.session("st_1"))
			c.join(t, p)
			got.waitState(t, peer.Connected)
			for round := range uint64(4) {
				if round > 0 {
					replace(t, c, p, round)
				}
				got.mu.Lock()
				before := len(got.frames)
				got.mu.Unlock()
				stop := c.streaming(t)
				got.waitFrames(t, before+20)
				stop()
			}
			require.GreaterOrEqual(t, p.Diagnostics().Media.Pictures, int64(80), "the counts go on")
			time.Sleep(50 * time.Millisecond) // the last picture may be on its way
			got.mu.Lock()
			defer got.mu.Unlock()
			c.check(t, got.frames)
			require.NotContains(t, got.states, peer.Closed)
		})
	}
}

// TestASimulcast offers three layers. The answer takes the last one, and its pictures arrive, also after a restart of ICE.
func TestASimulcast(t *testing.T) {
	t.Parallel()
	s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{layers: []string{"q", "h", "f"}})
	p := open(t, s, got.session("st_1"))
	for _, restart := range []bool{false, true} {
		answer, err := p.Answer(t.Context(), c.offer(t, &webrtc.OfferOptions{ICERestart: restart}))
		require.NoError(t, err)
		require.Equal(t, []string{"a=rid:f recv", "a=simulcast:recv f"}, regexp.MustCompile(`a=(rid|simulcast):.*\w`).FindAllString(answer, -1))
		c.accept(t, answer)
		c.extend = func(h *rtp.Header) {
			for _, e := range c.pc.GetSenders()[0].GetParameters().HeaderExtensions {
				if name := map[string]string{sdp.SDESMidURI: c.pc.GetTransceivers()[0].Mid(), sdp.SDESRTPStreamIDURI: "f"}[e.URI]; name != "" {
					require.NoError(t, h.SetExtension(uint8(e.ID), []byte(name)))
				}
			}
		}
		got.waitState(t, peer.Connected)
		stop := c.streaming(t)
		got.mu.Lock()
		before := len(got.frames)
		got.mu.Unlock()
		got.waitFrames(t, before+10)
		stop()
	}
	c.check(t, got.frames)
}

// TestOffersWithLayers has simulcasts of other clients.
func TestOffersWithLayers(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"a=rid:1 send\r\na=rid:2 send\r\na=simulcast:send 1,3;~2\r\n":                     "a=rid:1 send\r\na=simulcast:send 1\r\n",
		"a=rid:1 recv\r\na=rid:2 send max-fps=5\r\na=simulcast:recv 1 send 2\r\n":         "a=rid:2 send max-fps=5\r\na=simulcast:send 2\r\n",
		"a=rid:1 recv\r\na=simulcast:recv 1\r\n":                                          "",
		"a=rid:1 send\r\na=extmap:3 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n":    "",
		"a=simulcast:send\r\na=extmap:4/sendonly urn:ietf:params:rtp-hdrext:sdes:mid\r\n": "",
	} {
		const head = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n"
		got, _, err := peer.CheckOffer(head + lines)
		require.NoError(t, err)
		require.Equal(t, head+want, got)
	}
}
