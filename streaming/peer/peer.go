package peer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"vqa/streaming/assemble"
)

const (
	// maxOffer bounds an offer, in bytes. Chromium's has 6 kB.
	maxOffer = 64 << 10
	// maxCandidates bounds the candidates of a client from one offer to the next, because each is sent checks.
	maxCandidates = 64
)

// Candidate is an RTCIceCandidateInit.
type Candidate = webrtc.ICECandidateInit

// State is the state of the connection of a peer.
type State uint8

// The states of a peer.
const (
	// Waiting means that there was no offer yet, or that ICE looks for a path.
	Waiting State = iota
	// Connected means that packets arrive. They need not carry video.
	Connected
	// Disconnected means that nothing arrived for 3 s. The connection may come back by itself, or by an
	// offer with an ICE restart.
	Disconnected
	// Failed means that no path was found in time, or that none came back. It can still connect, by
	// itself or by an offer with an ICE restart.
	Failed
	// Closed means that the client closed the connection. It is final.
	Closed
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{"waiting", "connected", "disconnected", "failed", "closed"}[s]
}

// Session describes the peer that Open creates. The functions are called one at a time, except that
// Picture and Changed may run beside each other. They must not block and must not call Answer or Close.
type Session struct {
	// ID is the id of the stream, unique among the open peers.
	ID string
	// Relay is the id of the client at the TURN server, as in ICEServers. The reason of a refusal there is part of the
	// diagnosis.
	Relay string
	// H264Only refuses offers without H.264.
	H264Only bool
	// Transport limits the ways that are tried. The zero value tries all.
	Transport Transport
	// Picture gets each complete picture.
	Picture func(assemble.Picture)
	// Changed gets each change of the state.
	Changed func(State)
}

// Peer is the connection to one client. It is safe for concurrent use.
type Peer struct {
	server  *Server
	session Session
	pc      *webrtc.PeerConnection
	reading sync.WaitGroup

	refresh   atomic.Bool  // a keyframe is wanted
	sources   atomic.Int64 // SSRCs that are kept
	unchecked atomic.Bool  // the client named an address that gets no checks

	negotiating sync.Mutex // held by Answer

	mu         sync.Mutex
	early      []Candidate // that came before the offer
	candidates int
	closed     bool
	reader     *reader // of the newest track
	counts     assemble.Counts
	errors     []ClientError
	relay      string // why the TURN server refused the client

	changing sync.Mutex   // held while Changed runs
	state    atomic.Int32 // a State; written with changing held
	late     bool         // no connection came in time
	limit    *time.Timer  // of the wait for a connection
}

// ErrClosed is returned by a peer that was closed.
var ErrClosed = errors.New("peer: closed")

// Open returns a peer that waits for an offer. The caller must call Close.
func (s *Server) Open(session Session) (*Peer, error) {
	p := &Peer{server: s, session: session}
	pc, err := s.parts.with(p.guard).NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	p.pc = pc
	// ICE itself never fails: it forgets its candidates then, which the diagnosis needs.
	p.limit = time.AfterFunc(math.MaxInt64, func() { p.setLate(true) })
	pc.OnConnectionStateChange(func(webrtc.PeerConnectionState) { p.change() })
	pc.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) { p.receive(track, receiver) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peers[session.ID] != nil {
		_ = pc.Close()
		return nil, fmt.Errorf("peer: %s is open already", session.ID)
	}
	s.peers[session.ID] = p
	return p, nil
}

// change reports the state. The calls of pion can overtake each other, so it reads the state again.
func (p *Peer) change() {
	p.changing.Lock()
	defer p.changing.Unlock()
	var now State
	switch p.pc.ConnectionState() {
	case webrtc.PeerConnectionStateConnected:
		now = Connected
	case webrtc.PeerConnectionStateDisconnected:
		now = Disconnected
	case webrtc.PeerConnectionStateFailed:
		now = Failed
	case webrtc.PeerConnectionStateClosed:
		now = Closed
	default:
		now = Waiting
	}
	if p.late && (now == Waiting || now == Disconnected) {
		now = Failed
	}
	if before := p.State(); now == before || before == Closed || p.isClosed() {
		return
	}
	p.state.Store(int32(now))
	switch now {
	case Connected:
		p.late = false
		p.limit.Stop()
	case Disconnected:
		p.limit.Reset(p.server.options.ConnectTimeout)
	default: // the limit goes on, or there is none
	}
	if p.session.Changed != nil {
		p.session.Changed(now)
	}
}

// setLate sets whether the time for a connection is over, and reports a change.
func (p *Peer) setLate(late bool) {
	p.changing.Lock()
	p.late = late
	p.changing.Unlock()
	p.change()
}

// State returns the state of the connection.
func (p *Peer) State() State { return State(p.state.Load()) } //nolint:gosec // it has few values

func (p *Peer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Answer returns the answer to an offer. It has all candidates of the service. A later offer with
// an ICE restart keeps the session: the same pictures go on.
//
// An *OfferError is for the client; the peer can then get another offer.
func (p *Peer) Answer(ctx context.Context, offer string) (string, error) {
	if len(offer) > maxOffer {
		return "", &OfferError{fmt.Sprintf("The offer has %d bytes. At most %d are allowed.", len(offer), maxOffer)}
	}
	offer, candidates, err := checkOffer(offer)
	if err != nil {
		return "", err
	}
	offer = filter(offer, p.wanted)
	p.negotiating.Lock()
	defer p.negotiating.Unlock()
	if p.isClosed() {
		return "", ErrClosed
	}
	if err := p.rehearse(offer); err != nil {
		return "", err
	}
	answer, err := p.negotiate(p.pc, offer)
	if err != nil {
		return "", err
	}
	p.setLate(false)
	if p.State() != Connected {
		p.limit.Reset(p.server.options.ConnectTimeout)
	}
	gathered := webrtc.GatheringCompletePromise(p.pc)
	if err := p.pc.SetLocalDescription(answer); err != nil {
		return "", fmt.Errorf("peer: %w", err)
	}
	select {
	case <-gathered:
	case <-ctx.Done():
		return "", fmt.Errorf("peer: %w", context.Cause(ctx))
	}
	p.mu.Lock()
	early := p.early
	p.early, p.candidates = nil, candidates+len(early)
	p.mu.Unlock()
	for _, c := range early {
		_ = p.pc.AddICECandidate(c) // its error was for the message that brought it
	}
	return filter(p.pc.LocalDescription().SDP, p.session.Transport.local), nil
}

// rehearse answers an offer with a connection that is thrown away, because pion cannot roll an offer
// back.
func (p *Peer) rehearse(offer string) error {
	pc, err := p.server.parts.with(func(*webrtc.SettingEngine) {}).NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	_, err = p.negotiate(pc, offer)
	return errors.Join(err, pc.Close())
}

func (p *Peer) negotiate(pc *webrtc.PeerConnection, offer string) (webrtc.SessionDescription, error) {
	if err := pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}); err != nil {
		return webrtc.SessionDescription{}, &OfferError{"The offer cannot be used: " + err.Error() + "."}
	}
	if err := choose(pc, p.session.H264Only, offer); err != nil {
		return webrtc.SessionDescription{}, err
	}
	answer, err := pc.CreateAnswer(nil)
	if err != nil {
		return answer, &OfferError{"The offer cannot be answered: " + err.Error() + "."}
	}
	return answer, nil
}

// AddCandidate adds a candidate of the client. It may come before the offer. An empty one says that
// all were sent.
func (p *Peer) AddCandidate(c Candidate) error {
	if c.Candidate == "" {
		return nil
	}
	if err := checkCandidate(c.Candidate); err != nil {
		return err
	}
	wanted := p.wanted(strings.TrimPrefix(c.Candidate, "candidate:"))
	p.mu.Lock()
	p.candidates++
	switch {
	case p.closed:
		p.mu.Unlock()
		return ErrClosed
	case p.candidates > maxCandidates:
		p.mu.Unlock()
		return &OfferError{fmt.Sprintf("The client sent more than %d candidates for one offer.", maxCandidates)}
	case !wanted:
		p.mu.Unlock()
		return nil
	case p.pc.RemoteDescription() == nil:
		p.early = append(p.early, c)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	if err := p.pc.AddICECandidate(c); err != nil {
		return &OfferError{"The candidate is not valid: " + err.Error() + "."}
	}
	return nil
}

// wanted reports whether a candidate that the client named is tried.
func (p *Peer) wanted(candidate string) bool {
	if !p.session.Transport.remote(candidate) {
		return false
	}
	c, err := ice.UnmarshalCandidate(candidate) // as pion reads it
	if err != nil || p.server.checks(c, p.session.Relay) {
		return true
	}
	p.unchecked.Store(true)
	return false
}

// checkCandidate refuses a candidate that pion cannot read, also before the offer. Candidates of other kinds are
// ignored later.
func checkCandidate(candidate string) error {
	_, err := ice.UnmarshalCandidate(strings.TrimPrefix(candidate, "candidate:"))
	if err == nil || errors.Is(err, ice.ErrUnknownCandidateTyp) || errors.Is(err, ice.ErrDetermineNetworkType) {
		return nil
	}
	return &OfferError{"The candidate is not valid: " + err.Error() + "."}
}

// Close ends the connection and tells the client. No function of the session runs after it has
// returned.
func (p *Peer) Close() {
	p.mu.Lock()
	already := p.closed
	p.closed = true
	p.mu.Unlock()
	if already {
		return
	}
	p.limit.Stop()
	_ = p.pc.Close()
	p.reading.Wait()
	p.changing.Lock()   // a running call of Changed ends first
	p.changing.Unlock() //nolint:staticcheck // waiting is the purpose
	p.server.mu.Lock()
	delete(p.server.peers, p.session.ID)
	p.server.mu.Unlock()
}
