package live_test

import (
	"bytes"
	"context"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/assemble"
	"vqa/streaming/assemble/assembletest"
	"vqa/streaming/live"
	"vqa/streaming/message"
	"vqa/streaming/peer"
	"vqa/streaming/record"
)

// patience bounds the wait for anything, on a slow machine.
const patience = 30 * time.Second

// sceneLength is the number of pictures of a scene, which is repeated.
const sceneLength = 30

// encode returns the H.264 pictures of a scene, with a keyframe every second.
func encode(t testing.TB, format string, width, height int, picture func(i int) []byte) [][]byte {
	t.Helper()
	p, err := ffmpegtest.Runner(t).Start(t.Context(), ffmpeg.Job{
		InputArgs: []string{"-f", "rawvideo", "-pix_fmt", format, "-video_size", strconv.Itoa(width) + "x" + strconv.Itoa(height), "-framerate", "30"},
		OutputArgs: []string{
			"-g", "30", "-keyint_min", "30", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency",
			"-sc_threshold", "0", "-x264-params", "aud=1", "-f", "h264", "pipe:1",
		},
	})
	require.NoError(t, err)
	go func() {
		for i := range sceneLength {
			if _, err := p.Stdin.Write(picture(i)); err != nil {
				break
			}
		}
		_ = p.Stdin.Close()
	}()
	out, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	require.NoError(t, p.Wait())
	var pictures [][]byte
	delimiter := []byte{0, 0, 0, 1, 9}
	for _, picture := range bytes.Split(out, delimiter)[1:] {
		pictures = append(pictures, append(bytes.Clone(delimiter), picture...))
	}
	require.Len(t, pictures, sceneLength)
	return pictures
}

// plain returns a scene of one brightness with a stripe that moves.
func plain(t testing.TB, luma byte) [][]byte {
	const width, height = 320, 180
	return encode(t, "yuv420p", width, height, func(i int) []byte {
		picture := bytes.Repeat([]byte{luma}, width*height)
		for y := range height {
			for x := range 8 {
				picture[y*width+(i*8+x)%width] = 128
			}
		}
		return append(picture, bytes.Repeat([]byte{128}, width*height/2)...)
	})
}

// camera is a pion sender that shows one of two scenes: bright, in which the model sees a dog, or dark.
type camera struct {
	pc           *webrtc.PeerConnection
	track        atomic.Pointer[webrtc.TrackLocalStaticRTP]
	bright, dark [][]byte
	again        atomic.Bool // the encoder starts again, with other numbers and times
	showsDark    atomic.Bool // which scene is sent
	off          atomic.Bool // nothing is sent
	refresh      atomic.Bool // a keyframe was requested
}

func newCamera(t testing.TB, bright, dark [][]byte) *camera {
	t.Helper()
	settings := webrtc.SettingEngine{LoggerFactory: &logging.DefaultLoggerFactory{Writer: io.Discard}}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetICETimeouts(3*time.Second, patience, 200*time.Millisecond)
	pc, err := webrtc.NewAPI(webrtc.WithSettingEngine(settings)).NewPeerConnection(webrtc.Configuration{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	c := &camera{pc: pc, bright: bright, dark: dark}
	c.add(t)
	return c
}

// add adds a track and sends on it.
func (c *camera) add(t testing.TB) {
	t.Helper()
	track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264, ClockRate: 90000}, "video", "camera")
	require.NoError(t, err)
	sender, err := c.pc.AddTrack(track)
	require.NoError(t, err)
	c.track.Store(track)
	go func() {
		for {
			packets, _, err := sender.ReadRTCP()
			if err != nil {
				return
			}
			for _, p := range packets {
				if _, is := p.(*rtcp.PictureLossIndication); is {
					c.refresh.Store(true)
				}
			}
		}
	}()
}

// offer sends an offer and takes the answer.
func (c *camera) offer(t testing.TB, s *live.Session, restart bool) {
	t.Helper()
	offer, err := c.pc.CreateOffer(&webrtc.OfferOptions{ICERestart: restart})
	require.NoError(t, err)
	gathered := webrtc.GatheringCompletePromise(c.pc)
	require.NoError(t, c.pc.SetLocalDescription(offer))
	<-gathered
	sdp, err := s.Answer(t.Context(), "signaling", c.pc.LocalDescription().SDP)
	require.NoError(t, err)
	require.NoError(t, c.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: sdp}))
}

// run sends 30 pictures per second until ctx ends. A change of the scene, and a request, begins with a
// keyframe.
func (c *camera) run(ctx context.Context) {
	packets := assembletest.New(assemble.H264, rand.New(rand.NewPCG(1, 2)))
	tick := time.NewTicker(time.Second / 30)
	defer tick.Stop()
	dark, at := false, 0
	for ctx.Err() == nil {
		if now := c.showsDark.Load(); now != dark || c.refresh.Swap(false) {
			dark, at = now, 0
		}
		if c.again.Swap(false) {
			seq := packets.Seq
			packets = assembletest.New(assemble.H264, rand.New(rand.NewPCG(uint64(seq), 2)))
			packets.Seq, packets.Time, at = seq+20000, 0, 0
		}
		scene := c.bright
		if dark {
			scene = c.dark
		}
		split := packets.Packets(scene[at%sceneLength])
		if !c.off.Load() {
			for _, p := range split {
				_ = c.track.Load().WriteRTP(p)
			}
			at++
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// eye is an engine that finds a dog in bright samples.
type eye struct {
	model
	calls atomic.Int64
}

// Detect implements live.Engine.
func (e *eye) Detect(ctx context.Context, r live.Request) (live.Response, error) {
	e.calls.Add(1)
	img, err := jpeg.Decode(bytes.NewReader(r.JPEG))
	if err != nil {
		return live.Response{}, err
	}
	b := img.Bounds()
	bright := 0
	for x := range 10 {
		if red, _, _, _ := img.At(b.Dx()*x/10, b.Dy()/2).RGBA(); red > 1<<15 {
			bright++
		}
	}
	r.JPEG = nil
	if bright > 5 {
		r.JPEG = []byte("dog")
	}
	return e.model.Detect(ctx, r)
}

// stage is a host with a real server of peers, a real ffmpeg and a camera.
type stage struct {
	testing.TB
	log     *ledger
	eye     *eye
	parts   *parts // of the recording
	host    *live.Host
	session *live.Session
	reader  *reader
	camera  *camera
	server  *peer.Server

	mu   sync.Mutex
	pids []int
}

func newStage(t testing.TB, c stream.Create) *stage {
	t.Helper()
	e := &eye{model: model{took: 20 * time.Millisecond}}
	g := newStageWith(t, c, e, newCamera(t, plain(t, 235), plain(t, 16)), nil)
	g.eye = e
	return g
}

func newStageWith(t testing.TB, c stream.Create, engine live.Engine, camera *camera, timed func(live.Timing)) *stage {
	t.Helper()
	g := &stage{TB: t, log: newLedger(t, c, 1000), camera: camera, parts: &parts{objects: map[string][]byte{}}}
	var err error
	g.server, err = peer.Listen(peer.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.server.Close()) })
	g.host = live.NewHost(live.Options{
		Peers: live.WebRTC(g.server), Engine: engine, Log: g.log, Windows: windows, Timed: timed,
		FFmpeg: ffmpegtest.Runner(t).Observed(func(pid int) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.pids = append(g.pids, pid)
		}),
		Compile: func(_ context.Context, _ bool, prompt string) (query.Query, stream.ParseMode, error) {
			return english.Compile(prompt), stream.ParseHeuristic, nil
		},
		Canned: func(query.Query) stream.Result { return stream.Result{Answer: "yes", Confidence: .9} },
		Record: func(_ stream.State, report live.Recording) (live.Recorder, error) {
			return record.New(record.Options{Folder: "st_1", Store: g.parts, Stored: func(p stream.Part) { g.parts.add(p); report.Stored(p) }}), nil
		},
	})
	t.Cleanup(func() { require.NoError(t, g.host.Close(context.Background())) })
	g.session, err = g.host.Open(g.log.state)
	require.NoError(t, err)
	g.session.Joined()
	g.reader = read(g.session.Subscribe(0))
	ctx, cancel := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	sending.Go(func() { g.camera.run(ctx) })
	t.Cleanup(func() { cancel(); sending.Wait() })
	return g
}

// wait waits for a condition.
func (g *stage) wait(what string, met func() bool) {
	g.Helper()
	for late := time.Now().Add(patience); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			g.Fatalf("no %s; %v; %+v", what, g.log.types(), g.session.Diagnostics())
		}
	}
}

// last returns the latest result, or the zero value.
func (g *stage) last() message.Result {
	if all := of[message.Result](g.reader); len(all) > 0 {
		return all[len(all)-1]
	}
	return message.Result{}
}

func (g *stage) waitAnswer(a string) {
	g.Helper()
	g.wait("answer "+a, func() bool { return string(g.last().Answer) == a })
}

// TestACamera goes from the offer to the bill with a real sender and a real ffmpeg.
func TestACamera(t *testing.T) {
	t.Parallel()
	g := newStage(t, creation())
	g.camera.offer(t, g.session, false)
	g.waitAnswer("yes")
	require.Len(t, g.last().Detections, 1)
	g.camera.showsDark.Store(true)
	g.waitAnswer("no")
	require.Empty(t, g.last().Detections)

	require.NoError(t, g.session.UpdatePrompt(t.Context(), "Is no dog visible?"))
	g.waitAnswer("yes")

	g.camera.off.Store(true)
	g.wait("pause", func() bool { return !g.session.State().Running })
	g.camera.off.Store(false)
	g.wait("resume", func() bool { return g.session.State().Running })

	seq := g.last().Seq
	g.camera.offer(t, g.session, true)
	g.wait("results after a restart of ICE", func() bool { return g.last().Seq > seq+5 })
	require.Len(t, of[message.Live](g.reader), 1)
	for i, r := range of[message.Result](g.reader) {
		require.Equal(t, int64(i+1), r.Seq)
	}

	require.NoError(t, g.session.End(t.Context()))
	st := g.log.state
	require.Equal(t, stream.Completed, st.Reason)
	require.Equal(t, st.DurationSeconds(), st.Usage.BilledSeconds)
	require.Less(t, time.Duration(st.ClockMillis)*time.Millisecond, st.EndedAt.Sub(*st.LiveAt)-live.MaxGap, "the pause costs nothing")
	live := g.log.events[3].(stream.WentLive)
	require.Equal(t, "H264", live.Codec)
	require.Regexp(t, "^udp (host|prflx)$", live.Path)
}

// TestFFmpegIsKilled kills the decoder of a live stream.
func TestFFmpegIsKilled(t *testing.T) {
	t.Parallel()
	g := newStage(t, creation())
	g.camera.offer(t, g.session, false)
	g.waitAnswer("yes")
	g.mu.Lock()
	pid := g.pids[len(g.pids)-1]
	g.mu.Unlock()
	kill(t, pid)
	seq := g.last().Seq
	g.camera.showsDark.Store(true)
	g.waitAnswer("no")
	require.Greater(t, g.last().Seq, seq)
	require.True(t, g.session.State().Running, "the clock goes on")
}

// TestTheClientCloses ends streams by closing the connection.
func TestTheClientCloses(t *testing.T) {
	t.Parallel()
	c := creation()
	c.Livemode = false
	g := newStage(t, c)
	g.camera.offer(t, g.session, false)
	g.waitAnswer("yes")
	require.Zero(t, g.eye.calls.Load(), "test mode asks no engine")
	require.NoError(t, g.camera.pc.Close())
	<-g.session.Done()
	require.Equal(t, stream.Completed, g.log.state.Reason)
	require.Zero(t, g.log.state.Usage.BilledSeconds)
}

// TestNothingIsLeft opens and ends sessions and counts the goroutines. It does not run beside others.
func TestNothingIsLeft(t *testing.T) { //nolint:paralleltest // it counts all goroutines
	before := runtime.NumGoroutine()
	for range 3 {
		t.Run("session", func(t *testing.T) {
			g := newStage(t, creation())
			g.camera.offer(t, g.session, false)
			g.waitAnswer("yes")
			if t.Failed() {
				return
			}
			require.NoError(t, g.session.End(t.Context()))
		})
	}
	for late := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func kill(t testing.TB, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}
