package peer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

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
