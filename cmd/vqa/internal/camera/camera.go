package camera

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"

	"vqa/domain/stream"
	"vqa/handlers/intake/ffmpeg"
	"vqa/streaming/message"
)

const (
	// endTime is the time that the service has for the end of the stream.
	endTime = 15 * time.Second
	// lastResults is the time for the results of the last pictures. It is not billed, because the clock
	// stands without pictures.
	lastResults = time.Second
	// gatherTime bounds the search for addresses of this machine.
	gatherTime = 5 * time.Second
	// A connection without packets for disconnectedAfter is lost. It can come back by itself for patience; then ICE
	// starts again, with the addresses that this machine has by then, once in restartEvery.
	disconnectedAfter, failedAfter, keepalive = 3 * time.Second, 10 * time.Second, time.Second
	patience, restartEvery                    = time.Second, 5 * time.Second
	// missedTime bounds the search for results that were missed.
	missedTime = 5 * time.Second
	// awayTime bounds a lost connection. The service ends the stream after its grace window, 20 s by default.
	awayTime = time.Minute
)

// errAway is the end of a stream whose connection did not come back.
var errAway = errors.New("the connection for the video was lost and did not come back: the network lets no packets through, or the server is gone")

// Options of Run. All fields but Loop and Missed are required.
type Options struct {
	// URL is that of the WebSocket, without a token.
	URL string
	// Token returns a token for it. It is called again for each new socket.
	Token func(ctx context.Context) (string, error)
	// FFmpeg reads Source, the path of a file or an rtsp URL. Loop repeats a file without end.
	FFmpeg *ffmpeg.Runner
	Source string
	Loop   bool
	// Received is called with each message of the service, on one goroutine.
	Received func(Received)
	// Missed returns the results between two numbers, which the service sent while the socket was cut. Without it they
	// are lost.
	Missed func(ctx context.Context, after, before int64) ([]json.RawMessage, error)
	// Notice is called on the same goroutine with a text for the user, when a connection is lost or comes back.
	Notice func(text string)
}

// Run sends the source to the stream until the source, the service or ctx ends, and returns the reason of
// the end. The stream may still live when Run returns an error.
func Run(ctx context.Context, o Options) (stream.EndReason, error) {
	// The end of ctx is a message to the service, so the connections outlive it.
	connections, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &sender{options: o, ctx: connections, changed: make(chan struct{}, 1), played: make(chan error, 1)}
	defer func() {
		cancel()
		if s.socket != nil {
			s.socket.close()
		}
		if s.pc != nil {
			_ = s.pc.Close()
		}
		s.playing.Wait()
	}()
	var err error
	if s.socket, err = dial(ctx, connections, o); err != nil {
		return "", err
	}
	return s.run(ctx)
}

// sender is a running stream. Only the goroutine of Run uses its fields, except the channels.
type sender struct {
	options Options
	ctx     context.Context //nolint:containedctx // the life of all connections
	socket  *socket
	pc      *webrtc.PeerConnection
	track   *webrtc.TrackLocalStaticSample
	// early are candidates that came before the answer.
	early    []webrtc.ICECandidateInit
	answered bool

	changed         chan struct{} // has a token when the state of pc has changed
	played          chan error
	playing         sync.WaitGroup
	started, ending bool
	// away is since when the connection is lost, or zero. At retry, ICE starts again.
	away  time.Time
	retry <-chan time.Time
	// seq is the number of the latest result, or 0.
	seq int64
	// failure is why the source ended early. It counts when the stream has ended.
	failure error
}

func (s *sender) run(ctx context.Context) (stream.EndReason, error) {
	stopped := ctx.Done()
	var over, late <-chan time.Time
	end := func() error {
		stopped, late, s.ending = nil, time.After(endTime), true
		return s.socket.write(s.ctx, message.ClientEnd{})
	}
	for {
		var err error
		select {
		case m, open := <-s.socket.messages:
			if !open {
				err = s.reopen()
				break
			}
			s.catchUp(m.Message)
			s.options.Received(m)
			if e, ok := m.Message.(message.ServerEnd); ok {
				return e.Reason, s.verdict(e.Reason)
			}
			err = s.handle(m.Message)
		case <-s.changed:
			err = s.follow()
		case <-s.retry:
			err = s.restart()
		case s.failure = <-s.played:
			over = time.After(lastResults)
		case <-over:
			err = end()
		case <-stopped:
			err = end()
		case <-late:
			err = fmt.Errorf("the server did not end the stream within %s", endTime)
		}
		if err != nil {
			return "", err
		}
	}
}

// catchUp passes on the results before m that this program has not received.
func (s *sender) catchUp(m message.Server) {
	r, is := m.(message.Result)
	if !is {
		return
	}
	after := s.seq
	s.seq = r.Seq
	if after == 0 || r.Seq <= after+1 || s.options.Missed == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, missedTime)
	defer cancel()
	missed, err := s.options.Missed(ctx, after, r.Seq)
	for _, raw := range missed {
		if m, err := message.DecodeServer(raw); err == nil {
			s.options.Received(Received{Message: m, Raw: raw})
		}
	}
	if err != nil {
		s.options.Notice("some results are lost: " + err.Error())
	}
}

// verdict returns the error of a stream that the service ended.
func (s *sender) verdict(reason stream.EndReason) error {
	if s.failure == nil && reason == stream.Completed && !s.ending && !s.away.IsZero() {
		return errAway
	}
	return s.failure
}

// follow reads the state of the connection: it starts to send, or plans to start ICE again.
func (s *sender) follow() error {
	switch st := s.pc.ConnectionState(); {
	case st == webrtc.PeerConnectionStateConnected:
		if !s.away.IsZero() {
			s.options.Notice("the connection for the video is back")
		}
		s.away, s.retry = time.Time{}, nil
		s.play()
	case st != webrtc.PeerConnectionStateDisconnected && st != webrtc.PeerConnectionStateFailed:
	case !s.started && st == webrtc.PeerConnectionStateFailed:
		return errors.New("the connection for the video failed: the network lets no packets through, or the server is gone")
	case s.started && s.away.IsZero():
		s.away, s.retry = time.Now(), time.After(patience)
		s.options.Notice("the connection for the video is lost; connecting again")
	}
	return nil
}

// restart offers new addresses of this machine. An offer that was not answered, perhaps because the socket was cut, is
// sent again.
func (s *sender) restart() error {
	if time.Since(s.away) > awayTime {
		return errAway
	}
	s.retry = time.After(restartEvery)
	if s.pc.SignalingState() == webrtc.SignalingStateStable {
		return s.describe(&webrtc.OfferOptions{ICERestart: true})
	}
	s.send(message.Offer{SDP: s.pc.LocalDescription().SDP})
	return nil
}

// send sends a message. A socket that was cut is noticed by its reader.
func (s *sender) send(m message.Client) { _ = s.socket.write(s.ctx, m) }

// reopen replaces a socket that was cut.
func (s *sender) reopen() error {
	cut := s.socket.err
	s.socket.close()
	if s.ending || !s.started {
		return fmt.Errorf("the signaling connection was cut: %w", cut)
	}
	s.options.Notice("the connection to the server was cut; connecting again")
	for began := time.Now(); time.Since(began) < reopenTime; {
		next, err := dial(s.ctx, s.ctx, s.options)
		if err == nil {
			s.socket = next
			s.options.Notice("connected with the server again")
			return nil
		}
		select {
		case <-time.After(reopenEvery):
		case <-s.ctx.Done():
		}
	}
	return fmt.Errorf("the signaling connection was cut, and the server is out of reach: %w", cut)
}

// handle does what a message asks for.
func (s *sender) handle(m message.Server) error {
	switch m := m.(type) {
	case message.Ready:
		if s.pc == nil {
			return s.offer(m)
		}
		if !s.away.IsZero() {
			return s.restart() // the socket before may have taken the offer with it
		}
	case message.Answer:
		return s.accept(m.SDP)
	case message.ServerICE:
		if m.Candidate != nil {
			return s.add(*m.Candidate)
		}
	case message.Error:
		if !s.answered {
			return fmt.Errorf("%s: %s", m.Code, m.Message)
		}
	}
	return nil
}

// offer makes the connection for the video and offers it with all addresses of this machine.
func (s *sender) offer(ready message.Ready) error {
	config := webrtc.Configuration{}
	for _, server := range ready.ICEServers {
		ice := webrtc.ICEServer{URLs: server.URLs}
		if server.Username != nil && server.Credential != nil {
			ice.Username, ice.Credential = *server.Username, *server.Credential
		}
		config.ICEServers = append(config.ICEServers, ice)
	}
	settings := webrtc.SettingEngine{}
	settings.SetICETimeouts(disconnectedAfter, failedAfter, keepalive)
	settings.SetIncludeLoopbackCandidate(true) // the server may run on this machine, without a network
	engine, interceptors := &webrtc.MediaEngine{}, &interceptor.Registry{}
	err := engine.RegisterDefaultCodecs()
	if err == nil {
		err = webrtc.RegisterDefaultInterceptors(engine, interceptors) // they send lost packets again
	}
	if err != nil {
		return err
	}
	api := webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(interceptors))
	if s.pc, err = api.NewPeerConnection(config); err != nil {
		return fmt.Errorf("the server gave ICE servers that cannot be used: %w", err)
	}
	s.pc.OnConnectionStateChange(func(webrtc.PeerConnectionState) { signal(s.changed) })
	capability := webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264, ClockRate: 90_000,
		SDPFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"}
	if s.track, err = webrtc.NewTrackLocalStaticSample(capability, "video", "vqa"); err != nil {
		return err
	}
	rtp, err := s.pc.AddTrack(s.track)
	if err != nil {
		return err
	}
	go drain(rtp)
	return s.describe(nil)
}

// describe sends an offer with all addresses of this machine.
func (s *sender) describe(o *webrtc.OfferOptions) error {
	description, err := s.pc.CreateOffer(o)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(s.pc)
	if err := s.pc.SetLocalDescription(description); err != nil {
		return err
	}
	select {
	case <-gathered:
	case <-time.After(gatherTime):
	case <-s.ctx.Done():
	}
	s.send(message.Offer{SDP: s.pc.LocalDescription().SDP})
	return nil
}

// drain reads the feedback of the service, which the interceptors need, until the connection is closed.
func drain(rtp *webrtc.RTPSender) {
	buffer := make([]byte, 1500)
	for {
		if _, _, err := rtp.Read(buffer); err != nil {
			return
		}
	}
}

func (s *sender) accept(sdp string) error {
	if s.pc == nil || s.pc.SignalingState() != webrtc.SignalingStateHaveLocalOffer {
		return nil
	}
	if err := s.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: sdp}); err != nil {
		return fmt.Errorf("the answer of the server cannot be used: %w", err)
	}
	s.answered = true
	early := s.early
	s.early = nil
	for _, c := range early {
		if err := s.pc.AddICECandidate(c); err != nil {
			return fmt.Errorf("an address of the server cannot be used: %w", err)
		}
	}
	return nil
}

func (s *sender) add(c message.Candidate) error {
	init := webrtc.ICECandidateInit{Candidate: c.Candidate, SDPMid: c.SDPMid, SDPMLineIndex: c.SDPMLineIndex, UsernameFragment: c.UsernameFragment}
	if !s.answered {
		s.early = append(s.early, init)
		return nil
	}
	return s.pc.AddICECandidate(init)
}

// play starts to send the source. It does nothing when that was done before.
func (s *sender) play() {
	if s.started {
		return
	}
	s.started = true
	s.playing.Go(func() { s.played <- s.stream() })
}

// stream sends the source until it ends.
func (s *sender) stream() (err error) {
	pictures, err := Open(s.ctx, s.options.FFmpeg, s.options.Source, s.options.Loop)
	if err != nil {
		return err
	}
	defer func() {
		exit := pictures.Close()
		if exit != nil && err == nil {
			err = fmt.Errorf("read %s: %w", name(s.options.Source), exit)
		}
	}()
	for {
		data, err := pictures.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.track.WriteSample(media.Sample{Data: data, Duration: time.Second / rate}); err != nil {
			return fmt.Errorf("send the video: %w", err)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
