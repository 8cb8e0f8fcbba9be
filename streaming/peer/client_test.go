package peer_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/logging"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/transport/v5"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/assemble/assembletest"
	"vqa/streaming/peer"
)

// patience bounds the wait for anything, on a slow machine.
const patience = 30 * time.Second

// sink collects what a peer reports.
type sink struct {
	mu     sync.Mutex
	frames []assemble.Picture
	states []peer.State
	news   chan struct{} // closed at each report
}

func newSink() *sink { return &sink{news: make(chan struct{})} }

func (s *sink) session(id string) peer.Session {
	return peer.Session{
		ID: id, Relay: id,
		Picture: func(f assemble.Picture) { s.note(func() { s.frames = append(s.frames, f) }) },
		Changed: func(st peer.State) { s.note(func() { s.states = append(s.states, st) }) },
	}
}

func (s *sink) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.news)
	s.news = make(chan struct{})
}

// wait waits until the reports fulfill a condition.
func (s *sink) wait(t testing.TB, what string, fulfilled func() bool) {
	t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		done, news := fulfilled(), s.news
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-late:
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Fatalf("no %s; %d frames, states %v", what, len(s.frames), s.states)
		}
	}
}

func (s *sink) waitState(t testing.TB, state peer.State) {
	t.Helper()
	s.wait(t, "state "+state.String(), func() bool { return len(s.states) > 0 && s.states[len(s.states)-1] == state })
}

func (s *sink) waitFrames(t testing.TB, n int) {
	t.Helper()
	s.wait(t, "more frames", func() bool { return len(s.frames) >= n })
}

// client is a pion sender.
type client struct {
	pc      *webrtc.PeerConnection
	track   *webrtc.TrackLocalStaticRTP
	encoder *assembletest.Encoder
	extend  func(*rtp.Header) // adds extensions; may be nil

	mu       sync.Mutex
	keyframe bool
	pictures [][]byte
	keys     []bool
}

// clientOptions describe a client.
type clientOptions struct {
	net       transport.Net
	mime      string // the only codec of the offer; the default is an offer of all and a track of H.264
	config    webrtc.Configuration
	configure func(*webrtc.SettingEngine)
	turns     bool     // the client offers the extension for its rotation
	layers    []string // of a simulcast; pictures are sent as the last one
}

var silent = &logging.DefaultLoggerFactory{Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled}

func codecOf(mime string) assemble.Codec {
	switch mime {
	case webrtc.MimeTypeVP8:
		return assemble.VP8
	case webrtc.MimeTypeVP9:
		return assemble.VP9
	}
	return assemble.H264
}

// codecsOf returns the parameters of a codec and of its retransmission.
func codecsOf(all []webrtc.RTPCodecParameters, mime string) []webrtc.RTPCodecParameters {
	var found []webrtc.RTPCodecParameters
	for _, c := range all {
		if c.MimeType == mime {
			found = append(found, c)
			for _, r := range all {
				if r.SDPFmtpLine == fmt.Sprintf("apt=%d", c.PayloadType) {
					found = append(found, r)
				}
			}
		}
	}
	return found
}

func newClient(t testing.TB, o clientOptions) *client {
	t.Helper()
	settings := webrtc.SettingEngine{LoggerFactory: silent}
	settings.SetICETimeouts(3*time.Second, patience, 200*time.Millisecond)
	settings.SetRelayAcceptanceMinWait(0)
	if o.net != nil {
		settings.SetNet(o.net)
	} else {
		settings.SetIncludeLoopbackCandidate(true)
	}
	if o.configure != nil {
		o.configure(&settings)
	}
	engine, registry := &webrtc.MediaEngine{}, &interceptor.Registry{}
	require.NoError(t, engine.RegisterDefaultCodecs())
	require.NoError(t, webrtc.RegisterDefaultInterceptors(engine, registry))
	if o.turns {
		require.NoError(t, engine.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: "urn:3gpp:video-orientation"}, webrtc.RTPCodecTypeVideo))
	}
	api := webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry))
	pc, err := api.NewPeerConnection(o.config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	c := &client{pc: pc, encoder: assembletest.New(codecOf(o.mime), rand.New(rand.NewPCG(3, 4))), keyframe: true}
	track := func(layer ...func(*webrtc.TrackLocalStaticRTP)) *webrtc.TrackLocalStaticRTP {
		c.track, err = webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: cmp.Or(o.mime, webrtc.MimeTypeH264), ClockRate: 90000}, "video", "camera", layer...)
		require.NoError(t, err)
		return c.track
	}
	var sender *webrtc.RTPSender
	for i, layer := range o.layers {
		if i == 0 {
			sender, err = pc.AddTrack(track(webrtc.WithRTPStreamID(layer)))
		} else {
			err = sender.AddEncoding(track(webrtc.WithRTPStreamID(layer)))
		}
		require.NoError(t, err)
	}
	if sender == nil {
		sender, err = pc.AddTrack(track())
		require.NoError(t, err)
	}
	if o.mime != "" {
		require.NoError(t, pc.GetTransceivers()[0].SetCodecPreferences(codecsOf(sender.GetParameters().Codecs, o.mime)))
	}
	go c.listen(sender)
	return c
}

// listen notes requests of keyframes until the connection ends.
func (c *client) listen(sender *webrtc.RTPSender) {
	for {
		packets, _, err := sender.ReadRTCP()
		if err != nil {
			return
		}
		for _, p := range packets {
			if _, ok := p.(*rtcp.PictureLossIndication); ok {
				c.mu.Lock()
				c.keyframe = true
				c.mu.Unlock()
			}
		}
	}
}

// offer returns an offer with all candidates.
func (c *client) offer(t testing.TB, options *webrtc.OfferOptions) string {
	t.Helper()
	offer, err := c.pc.CreateOffer(options)
	require.NoError(t, err)
	gathered := webrtc.GatheringCompletePromise(c.pc)
	require.NoError(t, c.pc.SetLocalDescription(offer))
	<-gathered
	return c.pc.LocalDescription().SDP
}

func (c *client) accept(t testing.TB, answer string) {
	t.Helper()
	require.NoError(t, c.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))
}

// join connects the client to a peer.
func (c *client) join(t testing.TB, p *peer.Peer) {
	t.Helper()
	answer, err := p.Answer(t.Context(), c.offer(t, nil))
	require.NoError(t, err)
	c.accept(t, answer)
}

// send sends one picture, a keyframe if one was requested.
func (c *client) send() {
	c.mu.Lock()
	key := c.keyframe
	c.keyframe = false
	picture := c.encoder.Encode(key)
	c.pictures, c.keys = append(c.pictures, picture), append(c.keys, key)
	c.mu.Unlock()
	for _, p := range c.encoder.Packets(picture) {
		if c.extend != nil {
			c.extend(&p.Header)
		}
		_ = c.track.WriteRTP(p)
	}
}

// stream sends 30 pictures per second until ctx ends.
func (c *client) stream(ctx context.Context) {
	tick := time.NewTicker(time.Second / 30)
	defer tick.Stop()
	for ctx.Err() == nil {
		c.send()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// streaming sends pictures until the returned function is called.
func (c *client) streaming(t testing.TB) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { c.stream(ctx) })
	return func() { cancel(); done.Wait() }
}

// check fails when a delivered picture is not an original, or its predecessor was not delivered.
func (c *client) check(t testing.TB, frames []assemble.Picture) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	last, at := -1, 0
	for _, f := range frames {
		for ; at < len(c.pictures) && string(c.pictures[at]) != string(f.Data); at++ {
		}
		require.Less(t, at, len(c.pictures), "a delivered picture is not one of the originals")
		require.Equal(t, c.keys[at], f.Key)
		require.True(t, f.Key || last == at-1, "picture %d came without the one before it", at)
		last = at
		at++
	}
}

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

func listen(t testing.TB, o peer.Options) *peer.Server {
	t.Helper()
	if !o.Address.IsValid() {
		o.Address = loopback
	}
	s, err := peer.Listen(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func open(t testing.TB, s *peer.Server, session peer.Session) *peer.Peer {
	t.Helper()
	p, err := s.Open(session)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}
