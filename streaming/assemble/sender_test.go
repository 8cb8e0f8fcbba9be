package assemble_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"

	"vqa/streaming/assemble"
)

// writer writes the fields of a header.
type writer struct {
	data []byte
	n    int
}

func (w *writer) write(v uint32, n int) {
	for i := n - 1; i >= 0; i-- {
		if w.n%8 == 0 {
			w.data = append(w.data, 0)
		}
		w.data[w.n/8] |= byte(v>>i&1) << (7 - w.n%8)
		w.n++
	}
}

func (w *writer) golomb(v uint32) {
	n := 0
	for v+1 >= 2<<n {
		n++
	}
	w.write(0, n)
	w.write(v+1, n+1)
}

// sps returns a sequence parameter set of the baseline profile. Sides are even.
func sps(width, height int) []byte {
	w := &writer{}
	w.write(66, 8)
	w.write(0xe01f, 16)
	columns, rows := (width+15)/16, (height+15)/16
	for _, v := range []int{0, 0, 2, 1} { // id, frame numbers, order, references
		w.golomb(uint32(v))
	}
	w.write(0, 1)
	w.golomb(uint32(columns - 1))
	w.golomb(uint32(rows - 1))
	w.write(0b11, 2)
	w.write(1, 1)
	for _, v := range []int{0, (16*columns - width) / 2, 0, (16*rows - height) / 2} {
		w.golomb(uint32(v))
	}
	w.write(1, 2)
	return escape(append([]byte{0x67}, w.data...))
}

// escape keeps start codes out of a NAL unit.
func escape(b []byte) []byte {
	var out []byte
	zeros := 0
	for _, c := range b {
		if zeros >= 2 && c <= 3 {
			out, zeros = append(out, 3), 0
		}
		if c == 0 {
			zeros++
		} else {
			zeros = 0
		}
		out = append(out, c)
	}
	return out
}

var startCode = []byte{0, 0, 0, 1}

func annexB(units ...[]byte) []byte {
	var out []byte
	for _, u := range units {
		out = append(append(out, startCode...), u...)
	}
	return out
}

// sender encodes pictures of random content and splits them into packets.
type sender struct {
	codec         assemble.Codec
	random        *rand.Rand
	seq           uint16
	time          uint32
	width, height int
	payloader     rtp.Payloader
	slices        int // of an H.264 picture
}

func newSender(codec assemble.Codec, random *rand.Rand) *sender {
	s := &sender{codec: codec, random: random, seq: uint16(random.Uint32()), time: random.Uint32(), width: 640, height: 360, slices: 2}
	switch codec {
	case assemble.VP8:
		s.payloader = &codecs.VP8Payloader{EnablePictureID: true}
	case assemble.VP9:
		s.payloader = &codecs.VP9Payloader{}
	default:
		s.payloader = &codecs.H264Payloader{}
	}
	return s
}

// noise returns random bytes without zeros, so that they contain no start code.
func (s *sender) noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(1 + s.random.IntN(255))
	}
	return b
}

// encode returns a picture.
func (s *sender) encode(key bool) []byte {
	n := 1 + s.random.IntN(4000)
	if key {
		n *= 3
	}
	switch s.codec {
	case assemble.VP8:
		if !key {
			return append([]byte{0x11}, s.noise(n)...)
		}
		head := binary.LittleEndian.AppendUint16([]byte{0x10, 1, 1, 0x9d, 0x01, 0x2a}, uint16(s.width))
		return append(binary.LittleEndian.AppendUint16(head, uint16(s.height)), s.noise(n)...)
	case assemble.VP9:
		if !key {
			return append([]byte{0x86}, s.noise(n)...)
		}
		w := &writer{}
		w.write(0x82498342, 32)
		w.write(2, 4)
		w.write(uint32(s.width-1), 16)
		w.write(uint32(s.height-1), 16)
		return append(w.data, s.noise(n)...)
	default:
		var units [][]byte
		head := byte(0x41)
		if key {
			head = 0x65
			units = append(units, sps(s.width, s.height), append([]byte{0x68}, s.noise(4)...))
		}
		for range s.slices {
			units = append(units, append([]byte{head}, s.noise(1+n/s.slices)...))
		}
		return annexB(units...)
	}
}

// packets splits a picture. The last packet has the marker.
func (s *sender) packets(picture []byte) []*rtp.Packet {
	payloads := s.payloader.Payload(1200, picture)
	packets := make([]*rtp.Packet, len(payloads))
	for i, p := range payloads {
		packets[i] = s.packet(p, i == len(payloads)-1)
	}
	s.time += 3000
	return packets
}

func (s *sender) packet(payload []byte, marker bool) *rtp.Packet {
	p := &rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: s.seq, Timestamp: s.time, Marker: marker}, Payload: bytes.Clone(payload)}
	s.seq++
	return p
}
