package assemble

import (
	"encoding/binary"

	"github.com/pion/rtp/codecs"
)

// buffer collects the payloads of a VP8 or VP9 picture.
type buffer struct{ data []byte }

func (b *buffer) reset() { b.data = b.data[:0] }

func (b *buffer) append(payload []byte) bool {
	if len(b.data)+len(payload) > maxPicture {
		return false
	}
	b.data = append(b.data, payload...)
	return true
}

// copied returns the picture as a slice of its own.
func (b *buffer) copied() []byte { return append([]byte(nil), b.data...) }

// vp8 makes frames of RFC 7741 payloads.
type vp8 struct{ buffer }

func (v *vp8) opens(payload []byte) bool {
	var p codecs.VP8Packet
	data, err := p.Unmarshal(payload)
	return err == nil && p.S == 1 && p.PID == 0 && len(data) > 0 && data[0]&1 == 0
}

func (v *vp8) add(payload []byte) bool {
	var p codecs.VP8Packet
	data, err := p.Unmarshal(payload)
	begins := p.S == 1 && p.PID == 0
	return err == nil && begins == (len(v.data) == 0) && v.append(data)
}

// vp8Header is the length of the header of a keyframe, from 9.1 of RFC 6386.
const vp8Header = 10

func (v *vp8) take() (encoded, bool) {
	if len(v.data) == 0 {
		return encoded{}, true
	}
	p := encoded{key: v.data[0]&1 == 0}
	if p.key {
		if len(v.data) < vp8Header || v.data[3] != 0x9d || v.data[4] != 0x01 || v.data[5] != 0x2a {
			return p, false
		}
		p.width = int(binary.LittleEndian.Uint16(v.data[6:]) & 0x3fff)
		p.height = int(binary.LittleEndian.Uint16(v.data[8:]) & 0x3fff)
		if p.width == 0 || p.height == 0 {
			return p, false
		}
	}
	p.data = v.copied()
	return p, true
}

// vp9 makes frames of RFC 9628 payloads.
type vp9 struct{ buffer }

func (v *vp9) opens(payload []byte) bool {
	var p codecs.VP9Packet
	_, err := p.Unmarshal(payload)
	return err == nil && p.B && !p.P && p.SID == 0
}

func (v *vp9) add(payload []byte) bool {
	var p codecs.VP9Packet
	data, err := p.Unmarshal(payload)
	if err == nil && p.SID > 0 {
		return len(v.data) > 0 // a higher layer, which the base layer does not need
	}
	return err == nil && p.B == (len(v.data) == 0) && v.append(data)
}

func (v *vp9) take() (encoded, bool) {
	if len(v.data) == 0 {
		return encoded{}, true
	}
	p, ok := parseVP9(v.data)
	p.data = v.copied()
	return p, ok
}

// parseVP9 reads the uncompressed header, from 6.2 of the VP9 specification.
func parseVP9(data []byte) (encoded, bool) {
	b := &bits{data: data}
	if b.read(2) != 2 {
		return encoded{}, false
	}
	profile := b.read(1) | b.read(1)<<1
	if profile == 3 {
		b.flag()
	}
	if b.flag() {
		return encoded{}, !b.short // an earlier frame is shown
	}
	if b.flag() {
		return encoded{}, !b.short // the frame refers to others
	}
	b.read(2) // shown, resilient
	if b.read(24) != 0x498342 {
		return encoded{}, false
	}
	if profile >= 2 {
		b.flag() // depth
	}
	const rgb = 7
	switch space := b.read(3); {
	case space == rgb && profile%2 == 0:
		return encoded{}, false
	case space == rgb:
		b.flag()
	case profile%2 == 1:
		b.read(4) // range, subsampling
	default:
		b.flag() // range
	}
	p := encoded{key: true, width: int(b.read(16)) + 1, height: int(b.read(16)) + 1}
	return p, !b.short
}
