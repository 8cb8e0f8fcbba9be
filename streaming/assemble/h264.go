package assemble

import (
	"bytes"
	"encoding/binary"
)

// The types of NAL units that matter here, and of the packets that carry several or a part.
const (
	nalSlice = 1
	nalIDR   = 5
	nalSPS   = 7
	nalPPS   = 8
	nalSTAPA = 24
	nalFUA   = 28
)

// maxSets bounds the parameter sets of a stream, in bytes.
const maxSets = 16 << 10

var startCode = []byte{0, 0, 0, 1}

// h264 makes access units in Annex-B format of RFC 6184 payloads, in the single NAL unit and the
// non-interleaved mode.
type h264 struct {
	data          []byte
	fragment      bool // the last NAL unit is not complete
	key, slice    bool
	fresh         bool   // the picture has a sequence parameter set
	sets          []byte // parameter sets from the last sequence parameter set on
	width, height int
	light         Light
}

func (h *h264) reset() {
	h.data, h.fragment, h.key, h.slice, h.fresh = h.data[:0], false, false, false, false
}

func (h *h264) opens(payload []byte) bool {
	switch kind(payload) {
	case nalSPS:
		return true
	case nalSTAPA:
		found := false
		aggregated(payload, func(unit []byte) bool {
			t := kind(unit)
			found = t == nalSPS
			return !found && t > nalIDR // stop at a slice: the sets come before it
		})
		return found
	default:
		return false
	}
}

func (h *h264) add(payload []byte) bool {
	switch t := kind(payload); {
	case t == nalFUA:
		return h.addFragment(payload)
	case h.fragment:
		return false
	case t == nalSTAPA:
		return aggregated(payload, h.addUnit)
	case t >= nalSlice && t < nalSTAPA:
		return h.addUnit(payload)
	default:
		return false
	}
}

// addUnit appends a whole NAL unit.
func (h *h264) addUnit(unit []byte) bool {
	switch t := kind(unit); {
	case t < nalSlice || t >= nalSTAPA:
		return false
	case t == nalSPS:
		width, height, light, ok := parseSPS(unit)
		if !ok {
			return false
		}
		if !h.fresh {
			h.sets = h.sets[:0]
		}
		h.fresh, h.width, h.height, h.light = true, width, height, light
		h.keep(unit)
	case t == nalPPS:
		h.keep(unit)
	default:
		h.note(t)
	}
	return h.append(startCode) && h.append(unit)
}

// addFragment appends a part of a NAL unit.
func (h *h264) addFragment(payload []byte) bool {
	if len(payload) < 3 {
		return false
	}
	first, last := payload[1]&0x80 != 0, payload[1]&0x40 != 0
	t := payload[1] & 0x1f
	if first == h.fragment || first && last || t < nalSlice || t >= nalSTAPA {
		return false
	}
	h.fragment = !last
	if first {
		h.note(t)
		if !h.append(startCode) || !h.append([]byte{payload[0]&0xe0 | t}) {
			return false
		}
	}
	return h.append(payload[2:])
}

// note records that the picture has a NAL unit of type t.
func (h *h264) note(t byte) {
	h.slice = h.slice || t >= nalSlice && t <= nalIDR
	h.key = h.key || t == nalIDR
}

// keep stores a parameter set for later keyframes.
func (h *h264) keep(unit []byte) {
	if len(h.sets)+len(startCode)+len(unit) <= maxSets && !bytes.Contains(h.sets, unit) {
		h.sets = append(append(h.sets, startCode...), unit...)
	}
}

func (h *h264) append(b []byte) bool {
	if len(h.data)+len(b) > maxPicture {
		return false
	}
	h.data = append(h.data, b...)
	return true
}

func (h *h264) take() (encoded, bool) {
	switch {
	case h.fragment:
		return encoded{}, false
	case !h.slice:
		return encoded{}, true
	case h.key && h.width == 0:
		return encoded{}, false // no decoder could begin here
	}
	p := encoded{key: h.key, width: h.width, height: h.height, light: h.light}
	if h.key && !h.fresh {
		p.data = append(p.data, h.sets...)
	}
	p.data = append(p.data, h.data...)
	return p, true
}

// kind returns the type of a NAL unit, or 0 when it is empty or marked as damaged.
func kind(unit []byte) byte {
	if len(unit) == 0 || unit[0]&0x80 != 0 {
		return 0
	}
	return unit[0] & 0x1f
}

// aggregated calls each with the NAL units of a STAP-A payload, until it returns false. It returns
// false when the payload is malformed, or each returned false.
func aggregated(payload []byte, each func(unit []byte) bool) bool {
	rest := payload[1:]
	if len(rest) == 0 {
		return false
	}
	for len(rest) > 0 {
		if len(rest) < 2 {
			return false
		}
		n := int(binary.BigEndian.Uint16(rest))
		if n == 0 || n > len(rest)-2 {
			return false
		}
		if !each(rest[2 : 2+n]) {
			return false
		}
		rest = rest[2+n:]
	}
	return true
}
