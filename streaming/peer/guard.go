package peer

import (
	"io"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/stun/v4"
	"github.com/pion/transport/v5/packetio"
	"github.com/pion/webrtc/v4"
)

const (
	// maxSources bounds the RTP and RTCP sources (SSRC) of a client at a time. A track with retransmission has four.
	maxSources = 64
	// The bounds of the unread packets of a source in bytes: of video, and of reports.
	videoBytes, reportBytes = 512 << 10, 64 << 10
)

// parts make the API of each peer.
type parts struct {
	settings webrtc.SettingEngine
	engine   *webrtc.MediaEngine
	registry *interceptor.Registry
}

// with returns an API. change may change the settings.
func (s parts) with(change func(*webrtc.SettingEngine)) *webrtc.API {
	settings := s.settings
	change(&settings)
	return webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(s.engine), webrtc.WithInterceptorRegistry(s.registry))
}

// guard lets a connection follow a client whose address changes, and bounds what it keeps of it.
func (p *Peer) guard(settings *webrtc.SettingEngine) {
	settings.SetICEBindingRequestHandler(p.follows)
	settings.BufferFactory = p.buffer
}

// follows reports whether the connection moves to the pair of a check that arrived. A NAT may give the client another
// address, which the client does not notice: it nominates no other pair. So a lost connection moves to a pair
// that has answered, and checks are authenticated.
func (p *Peer) follows(_ *stun.Message, _, _ ice.Candidate, pair *ice.CandidatePair) bool {
	switch p.pc.ICEConnectionState() {
	case webrtc.ICEConnectionStateDisconnected, webrtc.ICEConnectionStateFailed:
		return pair.ResponsesReceived() > 0
	default:
		return false
	}
}

// buffer returns the buffer of a new source. pion keeps each source of an authenticated client, so a client with too
// many is cut off.
func (p *Peer) buffer(kind packetio.BufferPacketType, _ uint32) io.ReadWriteCloser {
	if p.sources.Add(1) == maxSources+1 {
		go func() { _ = p.pc.Close() }() // the session learns the state Closed, and closes the peer
	}
	b := source{Buffer: packetio.NewBuffer(), peer: p}
	b.SetLimitSize(videoBytes)
	if kind == packetio.RTCPBufferPacket {
		b.SetLimitSize(reportBytes)
	}
	return b
}

// source is the buffer of an SSRC, with the reads and writes that pion uses.
type source struct {
	*packetio.Buffer
	peer *Peer
}

// Read implements io.Reader.
func (s source) Read(b []byte) (int, error) {
	n, _, err := s.Buffer.Read(b, nil)
	return n, err
}

// Write implements io.Writer.
func (s source) Write(b []byte) (int, error) { return s.Buffer.Write(b, nil) }

// ReadWithAttributes reads a packet with its attributes.
func (s source) ReadWithAttributes(b []byte, a packetio.Attributes) (int, packetio.Attributes, error) {
	return s.Buffer.Read(b, a)
}

// WriteWithAttributes writes a packet with its attributes.
func (s source) WriteWithAttributes(b []byte, a packetio.Attributes) (int, error) {
	return s.Buffer.Write(b, a)
}

// Close implements io.Closer.
func (s source) Close() error {
	s.peer.sources.Add(-1)
	return s.Buffer.Close()
}
