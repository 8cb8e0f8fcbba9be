package camera_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/camera"
	"vqa/domain/answer"
	"vqa/domain/stream"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/assemble"
	"vqa/streaming/message"
	"vqa/streaming/peer"
)

// service is the end of the service: a socket for signaling and a peer for the video. It sends a result
// for each tenth picture.
type service struct {
	t     testing.TB
	http  *httptest.Server
	peers *peer.Server

	mu       sync.Mutex
	pictures []assemble.Picture
	peer     *peer.Peer
	sockets  int
	received []string // the types of the messages
	// cutAfter closes the first socket after so many results. 0 means never.
	cutAfter int
	// refuse is the answer to an offer, if it is set.
	refuse *message.Error
	// endAfter ends the stream with the reason after so many results. 0 means never.
	endAfter  int
	endReason stream.EndReason
	// through makes all packets of the video pass a link, if it is set.
	through func() *link
}

func newService(t testing.TB) *service {
	t.Helper()
	s := &service{t: t}
	var err error
	s.peers, err = peer.Listen(peer.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	require.NoError(t, err)
	s.http = httptest.NewServer(s)
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
		if s.peer != nil {
			s.peer.Close()
		}
		require.NoError(t, s.peers.Close())
	})
	return s
}

// ServeHTTP is one socket.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("token") != "secret" {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.mu.Lock()
	s.sockets++
	first := s.sockets == 1
	s.mu.Unlock()
	var writing sync.Mutex
	send := func(m message.Server) {
		raw, err := message.Encode(m)
		if err != nil {
			s.t.Error(err)
		}
		writing.Lock()
		defer writing.Unlock()
		_ = conn.Write(ctx, websocket.MessageText, raw)
	}
	go s.results(ctx, send, func() {
		if first {
			_ = conn.CloseNow()
		}
	})
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		m, err := message.Decode(raw)
		if err != nil {
			s.t.Error(err)
			return
		}
		s.mu.Lock()
		s.received = append(s.received, m.Type())
		s.mu.Unlock()
		switch m := m.(type) {
		case message.Join:
			send(message.Queued{Position: 1})
			send(message.Ready{Limits: message.Limits{MaxSessionS: 60, WarnAtRemainingS: 10}})
		case message.Offer:
			s.answer(ctx, m.SDP, send)
		case message.ClientEnd:
			send(message.ServerEnd{Reason: stream.Completed})
			return
		}
	}
}

func (s *service) answer(ctx context.Context, offer string, send func(message.Server)) {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		send(*refuse)
		return
	}
	s.mu.Lock()
	p := s.peer
	s.mu.Unlock()
	if p != nil {
		s.answerTo(ctx, p, offer, send)
		return
	}
	p, err := s.peers.Open(peer.Session{
		ID: "st_1", H264Only: true,
		Picture: func(p assemble.Picture) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pictures = append(s.pictures, p)
		},
		Changed: func(st peer.State) {
			if st == peer.Connected {
				send(message.Live{LiveStartedAt: time.Now()})
			}
		},
	})
	if err != nil {
		s.t.Error(err)
		return
	}
	s.mu.Lock()
	s.peer = p
	s.mu.Unlock()
	s.answerTo(ctx, p, offer, send)
}

func (s *service) answerTo(ctx context.Context, p *peer.Peer, offer string, send func(message.Server)) {
	s.mu.Lock()
	through := s.through
	s.mu.Unlock()
	if through != nil {
		offer = regexp.MustCompile(`a=candidate:.*\r\n`).ReplaceAllString(offer, "")
	}
	sdp, err := p.Answer(ctx, offer)
	if err != nil {
		s.t.Error(err)
		return
	}
	if through != nil {
		sdp = regexp.MustCompile(`a=candidate:.* tcp .*\r\n`).ReplaceAllString(sdp, "")
		sdp = strings.ReplaceAll(sdp, fmt.Sprintf(" %d typ", s.peers.Media().Port()), fmt.Sprintf(" %d typ", through().port()))
	}
	send(message.Answer{SDP: sdp})
}

// results sends a result for each tenth picture that comes while the socket is open.
func (s *service) results(ctx context.Context, send func(message.Server), cut func()) {
	s.mu.Lock()
	sent := len(s.pictures) / 10
	s.mu.Unlock()
	for ctx.Err() == nil {
		s.mu.Lock()
		n, cutAfter, endAfter := len(s.pictures)/10, s.cutAfter, s.endAfter
		s.mu.Unlock()
		for ; sent < n; sent++ {
			send(message.Result{Seq: int64(sent + 1), AtS: float64(sent) / 3, Answer: answer.Yes, Confidence: 0.9, Detections: []stream.Detection{}})
		}
		switch {
		case endAfter > 0 && sent >= endAfter:
			send(message.ServerEnd{Reason: s.endReason})
			return
		case cutAfter > 0 && sent >= cutAfter:
			cut()
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// clip writes a file of n pictures at 15 per second and returns its path.
func clip(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.mp4")
	picture := bytes.Repeat([]byte{40, 90, 160, 255}, 160*90)
	require.NoError(t, ffmpegtest.Encode(t, path, ffmpegtest.Format{Width: 160, Height: 90, FPS: 15}, n, func(float64) []byte { return picture }))
	return path
}

// outcome collects what Run reports.
type outcome struct {
	types  []string
	raw    []json.RawMessage
	told   []string
	reason stream.EndReason
	err    error
}

func run(ctx context.Context, t testing.TB, s *service, change func(*camera.Options)) outcome {
	t.Helper()
	var out outcome
	o := camera.Options{
		URL: "ws" + strings.TrimPrefix(s.http.URL, "http"), Token: func(context.Context) (string, error) { return "secret", nil },
		FFmpeg: ffmpegtest.Runner(t),
		Received: func(r camera.Received) {
			out.types, out.raw = append(out.types, r.Message.Type()), append(out.raw, r.Raw)
		},
		Notice: func(text string) { out.told = append(out.told, text) },
	}
	change(&o)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out.reason, out.err = camera.Run(ctx, o)
	return out
}

func TestSendsAFileToItsEnd(t *testing.T) {
	t.Parallel()
	s := newService(t)
	out := run(t.Context(), t, s, func(o *camera.Options) { o.Source = clip(t, 45) })
	require.NoError(t, out.err)
	require.Equal(t, stream.Completed, out.reason)
	require.Equal(t, []string{"queued", "ready", "answer", "live"}, out.types[:4])
	require.Contains(t, out.types, "result")
	require.Equal(t, "end", out.types[len(out.types)-1])
	require.Contains(t, string(out.raw[len(out.raw)-1]), `"completed"`)
	// 3 s at 30 pictures per second. The first ones can be sent before the connection is up.
	require.InDelta(t, 85, len(s.pictures), 6)
	require.True(t, s.pictures[0].Key)
	require.Equal(t, 160, s.pictures[0].Width)
	require.Equal(t, 90, s.pictures[0].Height)
	last := s.pictures[len(s.pictures)-1].Time - s.pictures[0].Time
	require.InDelta(t, len(s.pictures)*3000, last, 9000)
}

func TestACutSocketIsOpenedAgain(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.cutAfter = 2
	out := run(t.Context(), t, s, func(o *camera.Options) { o.Source = clip(t, 60) })
	require.NoError(t, out.err)
	require.Equal(t, stream.Completed, out.reason)
	require.Equal(t, 2, s.sockets)
	offers := 0
	for _, m := range s.received {
		if m == "offer" {
			offers++
		}
	}
	require.Equal(t, 1, offers, "the video goes on as it was")
	require.Greater(t, len(s.pictures), 100)
}

func TestAnInterruptEndsTheStream(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ctx, interrupt := context.WithCancel(t.Context())
	out := run(ctx, t, s, func(o *camera.Options) {
		o.Source, o.Loop = clip(t, 15), true
		inner := o.Received
		o.Received = func(r camera.Received) {
			inner(r)
			if m, ok := r.Message.(message.Result); ok && m.Seq == 6 { // the file has 30 pictures
				interrupt()
			}
		}
	})
	require.NoError(t, out.err)
	require.Equal(t, stream.Completed, out.reason)
	require.Equal(t, "end", s.received[len(s.received)-1])
}

func TestTheServiceEndsTheStream(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.endAfter, s.endReason = 1, stream.InsufficientCredits
	out := run(t.Context(), t, s, func(o *camera.Options) { o.Source, o.Loop = clip(t, 15), true })
	require.NoError(t, out.err)
	require.Equal(t, stream.InsufficientCredits, out.reason)
}

func TestProblemsAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*service, *camera.Options)
		want   string
	}{
		"a refused offer": {func(s *service, _ *camera.Options) {
			s.refuse = &message.Error{Code: "validation_failed", Message: "The offer has no video."}
		}, "validation_failed: The offer has no video."},
		"a refused token": {func(_ *service, o *camera.Options) {
			o.Token = func(context.Context) (string, error) { return "other", nil }
		}, "refused the signaling connection: 401"},
		"no token": {func(_ *service, o *camera.Options) {
			o.Token = func(context.Context) (string, error) { return "", errors.New("no credits") }
		}, "no credits"},
		"no server":        {func(_ *service, o *camera.Options) { o.URL = "ws://127.0.0.1:1/x" }, "cannot reach the signaling of the server at 127.0.0.1:1"},
		"no such file":     {func(_ *service, o *camera.Options) { o.Source = "missing.mp4" }, "No such file"},
		"no video in it":   {func(_ *service, o *camera.Options) { o.Source = "camera_test.go" }, "Invalid data"},
		"a camera is away": {func(_ *service, o *camera.Options) { o.Source = "rtsp://user:geheim@127.0.0.1:1/x" }, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			out := run(t.Context(), t, s, func(o *camera.Options) {
				o.Source = clip(t, 1)
				test.change(s, o)
			})
			require.ErrorContains(t, out.err, test.want)
			require.NotContains(t, out.err.Error(), "geheim")
			require.NotContains(t, out.err.Error(), "token=")
		})
	}
}
