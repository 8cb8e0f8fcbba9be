package signal_test

import (
	"bytes"
	"context"
	"image/jpeg"
	"io"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/query/vocabulary"
	"vqa/domain/stream"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/live"
	"vqa/streaming/message"
	"vqa/streaming/peer"
	"vqa/streaming/signal"
)

// stage is a node whose stream has a real session: a real server of peers and a real ffmpeg.
type stage struct {
	*node
	log     *ledger
	host    *live.Host
	session *live.Session
}

func newStage(t testing.TB) *stage {
	t.Helper()
	peers, err := peer.Listen(peer.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, peers.Close()) })
	g := &stage{log: newLedger(t, streamID)}
	g.host = live.NewHost(live.Options{
		Peers: live.WebRTC(peers), Engine: eye{}, Log: g.log, FFmpeg: ffmpegtest.Runner(t),
		Windows: stream.Windows{Join: patience, ICE: patience, FirstFrame: patience}, Grace: patience, Meter: 200 * time.Millisecond,
		Compile: func(_ context.Context, _ bool, prompt string) (query.Query, stream.ParseMode, error) {
			return english.Compile(prompt), stream.ParseHeuristic, nil
		},
		Canned: func(query.Query) stream.Result { return stream.Result{} },
	})
	t.Cleanup(func() { require.NoError(t, g.host.Close(context.WithoutCancel(t.Context()))) })
	g.session, err = g.host.Open(g.log.read())
	require.NoError(t, err)
	g.node = newNode(t, func(o *signal.Options) { o.Heartbeat = time.Second })
	g.streams.put(streamID, signal.Place{Session: signal.Live(g.session), Ready: message.Ready{Limits: message.Limits{MaxSessionS: 3600, WarnAtRemainingS: 60}}})
	return g
}

// ended checks how the stream has ended.
func (g *stage) ended(via string, reason stream.EndReason) {
	g.t.Helper()
	select {
	case <-g.session.Done():
	case <-time.After(patience):
		require.Fail(g.t, "the stream has not ended", "%+v", g.log.read())
	}
	st := g.log.read()
	require.Equal(g.t, reason, st.Reason, st.Detail)
	require.Positive(g.t, st.Summary.ResultFrames)
	require.Equal(g.t, st.DurationSeconds(), st.Usage.BilledSeconds)
	g.log.mu.Lock()
	defer g.log.mu.Unlock()
	for _, e := range g.log.events {
		if offered, is := e.(stream.Offered); is {
			require.Equal(g.t, via, offered.Via)
			return
		}
	}
	require.Fail(g.t, "no offer")
}

// ledger is a log of one stream of an account with enough credits, on the rules of package stream.
type ledger struct {
	mu     sync.Mutex
	state  stream.State
	events []stream.Event
}

func newLedger(t testing.TB, streamID string) *ledger {
	t.Helper()
	l := &ledger{}
	prompt := "Is there a dog?"
	for _, c := range []stream.Command{
		stream.Create{
			ID: streamID, AccountID: "acct_1", Livemode: true, Prompt: &prompt, Query: english.Compile(prompt), ParseMode: stream.ParseHeuristic,
			Model: "m", HeldSeconds: 60, MaxSessionSeconds: 3600, WarnAtSeconds: 60,
		}, stream.GrantSlot{Node: "node-1"},
	} {
		_, _, err := l.Record(t.Context(), streamID, c)
		require.NoError(t, err)
	}
	return l
}

// Record implements live.Log.
func (l *ledger) Record(_ context.Context, _ string, c stream.Command) (stream.State, live.Funds, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if end, is := c.(stream.End); is {
		end.Usage.BilledSeconds = l.state.Billable(end, now)
		c = end
	}
	events, err := stream.Decide(l.state, c, now)
	for _, e := range events {
		l.state = stream.Evolve(l.state, e)
	}
	l.events = append(l.events, events...)
	return l.state, live.Funds{Balance: 1000, Available: 1000 - l.state.HeldSeconds}, err
}

func (l *ledger) read() stream.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// eye is an engine that finds a dog in bright samples.
type eye struct{}

// Info implements live.Engine.
func (eye) Info(context.Context) (live.Info, error) {
	return live.Info{Weights: answer.CPUWeights, Vocabulary: vocabulary.COCO().Names()}, nil
}

// Detect implements live.Engine.
func (eye) Detect(_ context.Context, r live.Request) (live.Response, error) {
	known := make([]bool, len(r.Terms))
	var found []evidence.Detection
	img, err := jpeg.Decode(bytes.NewReader(r.JPEG))
	if err != nil {
		return live.Response{}, err
	}
	b, bright := img.Bounds(), 0
	for x := range 10 {
		if red, _, _, _ := img.At(b.Dx()*x/10, b.Dy()/2).RGBA(); red > 1<<15 {
			bright++
		}
	}
	for i, term := range r.Terms {
		known[i] = true
		if term == "dog" && bright > 5 {
			found = append(found, evidence.Detection{Term: i, Score: .9, Box: evidence.Box{X1: .1, Y1: .2, X2: .6, Y2: .7}})
		}
	}
	return live.Response{Detections: found, Known: known}, nil
}

// encode returns the H.264 pictures of a bright scene of one second. The first one is a keyframe.
func encode(t testing.TB) [][]byte {
	t.Helper()
	p, err := ffmpegtest.Runner(t).Start(t.Context(), ffmpeg.Job{
		InputArgs: []string{"-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", "320x180", "-framerate", "30"},
		OutputArgs: []string{
			"-g", "30", "-keyint_min", "30", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-sc_threshold", "0",
			"-x264-params", "aud=1", "-f", "h264", "pipe:1",
		},
	})
	require.NoError(t, err)
	go func() {
		for i := range 30 {
			luma := bytes.Repeat([]byte{byte(230 - i)}, 320*180)
			if _, err := p.Stdin.Write(append(luma, bytes.Repeat([]byte{128}, 320*180/2)...)); err != nil {
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
	require.Len(t, pictures, 30)
	return pictures
}
