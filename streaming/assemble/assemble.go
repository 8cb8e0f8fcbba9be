package assemble

import (
	"slices"
	"time"

	"github.com/pion/rtp"
)

// ClockRate is the number of ticks of Picture.Time in a second, for each codec.
const ClockRate = 90_000

const (
	// maxSpan is the largest distance from the first missing packet to the newest one: 4 s of
	// 2.5 Mbit/s.
	maxSpan = 1024
	// maxPicture bounds one picture, in bytes. A keyframe of 4K video has about 0.5 MB.
	maxPicture = 4 << 20
)

// Codec is a video codec.
type Codec uint8

// The codecs that can be assembled.
const (
	H264 Codec = iota + 1
	VP8
	VP9
)

// String returns the name of the codec in SDP.
func (c Codec) String() string {
	switch c {
	case H264:
		return "H264"
	case VP8:
		return "VP8"
	case VP9:
		return "VP9"
	default:
		return "unknown"
	}
}

// Picture is one complete picture as the sender encoded it.
type Picture struct {
	Codec Codec
	// Key says that the picture refers to no other one.
	Key bool
	// Time is the RTP time in ticks, counted from the first packet of the stream. It can be
	// negative for a packet that was sent before the first one to arrive.
	Time int64
	// Width and Height are the size in pixels, from the last keyframe.
	Width, Height int
	// Rotation is the clockwise rotation in degrees, 0, 90, 180 or 270, after which the picture is upright.
	Rotation int
	// Light is that of the last keyframe. VP8 and VP9 do not say it.
	Light Light
	// Data is an access unit in Annex-B format, or a VP8 or VP9 frame. The receiver owns it.
	Data []byte
	// At is the time at which the last packet arrived.
	At time.Time
}

// Light says how samples become light: code points of ITU-T H.273. The zero value means that the
// stream does not say.
type Light struct{ Transfer, Primaries int }

// Counts describes a stream so far.
type Counts struct {
	// Packets arrived, Late ones among them came twice or after they were given up.
	Packets, Late int64
	// Lost packets were given up, Requests were made for missing packets.
	Lost, Requests int64
	// Pictures were delivered. Dropped ones were incomplete, malformed, or came before a keyframe.
	Pictures, Dropped int64
	// KeyframeRequests were made.
	KeyframeRequests int64
}

// Plus returns the sums of two streams.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		Packets: c.Packets + o.Packets, Late: c.Late + o.Late, Lost: c.Lost + o.Lost, Requests: c.Requests + o.Requests,
		Pictures: c.Pictures + o.Pictures, Dropped: c.Dropped + o.Dropped, KeyframeRequests: c.KeyframeRequests + o.KeyframeRequests,
	}
}

// depacketizer collects the payloads of one picture.
type depacketizer interface {
	// opens reports whether the payload begins a keyframe, so that no part of the picture comes
	// before it.
	opens(payload []byte) bool
	// add appends a payload. It returns false when the payload is malformed.
	add(payload []byte) bool
	// take returns the picture; ok is false when it is malformed. Without any picture, as in a
	// packet of parameter sets, data is nil.
	take() (p encoded, ok bool)
	// reset drops the payloads of the picture.
	reset()
}

type encoded struct {
	data          []byte
	key           bool
	width, height int
	light         Light
}

// packet waits for the packets before it.
type packet struct {
	payload  []byte
	time     uint32
	marker   bool
	rotation []byte // the value of the extension, or nil
	at       time.Time
}

// Assembler makes pictures of packets. It is for one goroutine.
type Assembler struct {
	codec   Codec
	deliver func(Picture)
	parts   depacketizer

	started bool
	next    int64 // the first sequence number that is not consumed
	newest  int64 // the highest one that arrived
	pending map[int64]packet
	missing []gap // in order; the first one is next when any packet is pending

	// The picture that next belongs to.
	open   bool   // it has a packet
	intact bool   // all of its packets were consumed, from its beginning on
	time   uint32 // its RTP time
	at     time.Time
	// boundary says that the packet before next ended a picture.
	boundary bool
	// waiting says that only a keyframe can be delivered.
	waiting bool

	clock         int64 // extended time of the current picture
	width, height int
	light         Light
	orientation   uint8 // the id of the extension, or 0
	rotation      int
	requests      requests
	counts        Counts
}

// New returns an assembler that calls deliver with each complete picture, within Push and Feedback.
func New(codec Codec, deliver func(Picture)) *Assembler {
	a := &Assembler{codec: codec, deliver: deliver, pending: map[int64]packet{}, waiting: true, requests: newRequests()}
	switch codec {
	case VP8:
		a.parts = &vp8{}
	case VP9:
		a.parts = &vp9{}
	default:
		a.parts = &h264{}
	}
	return a
}

// WithOrientation reads the rotation of pictures from the RTP header extension with the id: urn:3gpp:video-orientation
// (3GPP TS 26.114, section 7.4.5). A sender may leave it out until it changes, or until a keyframe.
func (a *Assembler) WithOrientation(id uint8) { a.orientation = id }

// Counts returns the counts of the stream so far.
func (a *Assembler) Counts() Counts { return a.counts }

// Push adds a packet that arrived at the given time. It does not keep payload.
func (a *Assembler) Push(h *rtp.Header, payload []byte, at time.Time) {
	a.counts.Packets++
	seq := a.extend(h.SequenceNumber)
	p := packet{payload: payload, time: h.Timestamp, marker: h.Marker, at: at}
	if a.orientation > 0 {
		p.rotation = h.GetExtension(a.orientation)
	}
	if !a.started {
		a.started, a.next, a.newest, a.time = true, seq, seq-1, p.time
		// The beginning of the first keyframe may be late or lost.
		wait := reordering
		if a.parts.opens(payload) {
			wait = keyframeWait
		}
		a.requests.keyframeAt(at.Add(wait))
	}
	_, twice := a.pending[seq]
	switch {
	case seq < a.next || twice:
		a.counts.Late++
		return
	case seq-a.next >= maxSpan:
		a.lose(at)
		a.restart(seq)
	case seq > a.next && a.waiting && a.parts.opens(payload) && (!a.open || !a.intact || a.time != p.time):
		a.restart(seq)
	}
	a.reveal(seq, at)
	if seq > a.next {
		p.payload, p.rotation = slices.Clone(payload), slices.Clone(p.rotation)
		a.pending[seq] = p
		return
	}
	a.consume(p)
	a.drain()
}

// extend returns the sequence number without wrap-around: the one nearest to the newest.
func (a *Assembler) extend(seq uint16) int64 {
	if !a.started {
		return int64(seq)
	}
	return a.newest + int64(int16(seq-uint16(a.newest))) //nolint:gosec // the wrap-around is the purpose
}

// restart drops all packets before seq.
func (a *Assembler) restart(seq int64) {
	for s := range a.pending {
		if s < seq {
			delete(a.pending, s)
		}
	}
	a.forget(seq)
	a.newest = max(a.newest, seq-1)
	a.next, a.open, a.boundary = seq, false, false
}

// drain consumes the pending packets up to the next gap.
func (a *Assembler) drain() {
	for len(a.pending) > 0 {
		p, ok := a.pending[a.next]
		if !ok {
			return
		}
		delete(a.pending, a.next)
		a.consume(p)
	}
}

// consume adds the packet with the number next to its picture.
func (a *Assembler) consume(p packet) {
	a.next++
	if len(p.payload) == 0 {
		return // padding
	}
	if a.open && p.time != a.time {
		a.finish()
	}
	if len(p.rotation) > 0 {
		a.rotation = int(p.rotation[0]&3) * 90 // browsers ignore the bit of a mirrored picture, too
	}
	if !a.open {
		a.open, a.intact = true, a.boundary
		a.clock += int64(int32(p.time - a.time)) //nolint:gosec // the wrap-around is the purpose
		a.time = p.time
		a.parts.reset()
	}
	a.at = p.at
	if !a.intact && a.parts.opens(p.payload) {
		a.parts.reset()
		a.intact = true
	}
	if a.intact && !a.parts.add(p.payload) {
		a.intact = false
	}
	if p.marker {
		a.finish()
	}
}

// finish ends the current picture.
func (a *Assembler) finish() {
	a.open, a.boundary = false, true
	if !a.intact {
		a.counts.Dropped++
		a.await(a.at)
		return
	}
	p, ok := a.parts.take()
	switch {
	case !ok:
		a.counts.Dropped++
		a.await(a.at)
		return
	case p.data == nil:
		return
	case a.waiting && !p.key:
		a.counts.Dropped++
		return
	case p.key:
		a.waiting, a.width, a.height, a.light = false, p.width, p.height, p.light
		a.requests.keyframeArrived()
	}
	a.counts.Pictures++
	a.deliver(Picture{Codec: a.codec, Key: p.key, Time: a.clock, Width: a.width, Height: a.height, Rotation: a.rotation, Light: a.light, Data: p.data, At: a.at})
}

// lose drops the current picture, of which a packet is missing for good.
func (a *Assembler) lose(now time.Time) {
	if a.open {
		a.counts.Dropped++
	}
	a.open, a.boundary = false, false
	a.await(now)
}

// await delivers nothing until the next keyframe, and requests one.
func (a *Assembler) await(now time.Time) {
	if !a.waiting {
		a.waiting = true
		a.requests.keyframeAt(now)
	}
}
