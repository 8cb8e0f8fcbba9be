package peer

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"vqa/streaming/assemble"
)

const (
	// packetBytes bounds a packet, as pion does.
	packetBytes = 1500
	// stopEvery is the time between two attempts to wake a reader that must end.
	stopEvery = 10 * time.Millisecond
	// roundTripEvery is the time between two looks at the round-trip time.
	roundTripEvery = time.Second
)

// receive reads a video track until it ends, or until another one replaces it. The newest track counts: a client that
// starts its encoder again, or that negotiates again, may send another one.
func (p *Peer) receive(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
	codec := codecOf(track.Codec().MimeType)
	r := &reader{peer: p, track: track, receiver: receiver, done: make(chan struct{}), pictures: assemble.New(codec, p.session.Picture)}
	p.mu.Lock()
	if p.closed || codec == 0 {
		p.mu.Unlock()
		return
	}
	before := p.reader
	p.reader = r
	p.reading.Add(1)
	p.mu.Unlock()
	defer p.reading.Done()
	defer close(r.done)
	if before != nil {
		before.stop()
		r.earlier = before.total()
	}
	for _, e := range receiver.GetParameters().HeaderExtensions {
		if e.URI == orientation {
			r.pictures.WithOrientation(uint8(e.ID)) //nolint:gosec // an id has 8 bits
		}
	}
	if !repairs(track.Codec()) {
		r.pictures.WithoutRepair()
	}
	r.run()
}

// repairs reports whether the sender answers requests for packets.
func repairs(c webrtc.RTPCodecParameters) bool {
	for _, f := range c.RTCPFeedback {
		if f.Type == "nack" && f.Parameter == "" {
			return true
		}
	}
	return false
}

// RequestKeyframe asks the client for a keyframe, until one arrives.
func (p *Peer) RequestKeyframe() { p.refresh.Store(true) }

// reader moves packets from a track to the assembler. It runs on one goroutine.
type reader struct {
	peer     *Peer
	track    *webrtc.TrackRemote
	receiver *webrtc.RTPReceiver
	pictures *assemble.Assembler
	earlier  assemble.Counts // of the tracks before
	due      time.Time       // the deadline of the track
	looked   time.Time       // at the round-trip time

	replaced atomic.Bool
	done     chan struct{} // closed when the reader has ended
}

// stop ends the reader and waits for it.
func (r *reader) stop() {
	r.replaced.Store(true)
	for {
		// The reader may set its own deadline in between.
		_ = r.track.SetReadDeadline(time.Unix(1, 0)) // it fails when the track has ended
		select {
		case <-r.done:
			return
		case <-time.After(stopEvery):
		}
	}
}

// total returns the counts of all tracks so far.
func (r *reader) total() assemble.Counts { return r.earlier.Plus(r.pictures.Counts()) }

func (r *reader) run() {
	buffer := make([]byte, packetBytes)
	for !r.replaced.Load() {
		n, _, err := r.track.Read(buffer)
		if timeout, ok := errors.AsType[net.Error](err); err != nil && !(ok && timeout.Timeout()) {
			return
		}
		now := r.peer.server.options.Now()
		if err == nil {
			r.push(buffer[:n], now)
		}
		r.ask(now)
	}
}

func (r *reader) push(packet []byte, now time.Time) {
	var h rtp.Header
	n, err := h.Unmarshal(packet)
	if err != nil {
		return
	}
	payload := packet[n:]
	if h.Padding && len(payload) > 0 {
		payload = payload[:max(0, len(payload)-int(payload[len(payload)-1]))]
	}
	r.pictures.Push(&h, payload, now)
}

// ask sends the requests that are due and wakes the reader for the next ones.
func (r *reader) ask(now time.Time) {
	if r.peer.refresh.Swap(false) {
		r.pictures.Refresh(now)
	}
	f := r.pictures.Feedback(now)
	var packets []rtcp.Packet
	if len(f.Missing) > 0 {
		packets = append(packets, &rtcp.TransportLayerNack{MediaSSRC: uint32(r.track.SSRC()), Nacks: rtcp.NackPairsFromSequenceNumbers(f.Missing)})
		r.look(now)
	}
	if f.Keyframe {
		packets = append(packets, &rtcp.PictureLossIndication{MediaSSRC: uint32(r.track.SSRC())})
	}
	if len(packets) > 0 {
		_ = r.peer.pc.WriteRTCP(packets) // a lost request is repeated
	}
	if due := r.pictures.Due(); !due.Equal(r.due) {
		r.due = due
		// The clock of the service may not be the one of the machine.
		deadline := due
		if !due.IsZero() {
			deadline = time.Now().Add(max(0, due.Sub(now)))
		}
		_ = r.track.SetReadDeadline(deadline) // it fails when the track has ended, which Read reports
	}
	r.peer.mu.Lock()
	defer r.peer.mu.Unlock()
	r.peer.counts = r.total()
}

// look passes the round-trip time of the connection to the assembler.
func (r *reader) look(now time.Time) {
	if now.Sub(r.looked) < roundTripEvery {
		return
	}
	r.looked = now
	if pair, ok := r.receiver.Transport().ICETransport().GetSelectedCandidatePairStats(); ok && pair.CurrentRoundTripTime > 0 {
		r.pictures.SetRoundTrip(time.Duration(pair.CurrentRoundTripTime * float64(time.Second)))
	}
}
