package assembletest

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

func (w *writer) write(v, n int) {
	for i := n - 1; i >= 0; i-- {
		if w.n%8 == 0 {
			w.data = append(w.data, 0)
		}
		w.data[w.n/8] |= byte(v>>i&1) << (7 - w.n%8)
		w.n++
	}
}

func (w *writer) golomb(v int) {
	n := 0
	for v+1 >= 2<<n {
		n++
	}
	w.write(0, n)
	w.write(v+1, n+1)
}

// SPS returns a sequence parameter set of the baseline profile. Sides are even.
func SPS(width, height int) []byte {
	w := &writer{}
	w.write(66, 8)
	w.write(0xe01f, 16)
	columns, rows := (width+15)/16, (height+15)/16
	for _, v := range []int{0, 0, 2, 1} { // id, frame numbers, order, references
		w.golomb(v)
	}
	w.write(0, 1)
	w.golomb(columns - 1)
	w.golomb(rows - 1)
	w.write(0b11, 2)
	w.write(1, 1)
	for _, v := range []int{0, (16*columns - width) / 2, 0, (16*rows - height) / 2} {
		w.golomb(v)
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

// AnnexB joins NAL units with start codes.
func AnnexB(units ...[]byte) []byte {
	var out []byte
	for _, u := range units {
		out = append(append(out, startCode...), u...)
	}
	return out
}

// Encoder encodes pictures of random content and splits them into packets. They have valid headers,
// but no decoder can show them.
type Encoder struct {
	Codec         assemble.Codec
	Random        *rand.Rand
	Seq           uint16 // of the next packet
	Time          uint32 // of the next picture
	Width, Height uint16
	payloader     rtp.Payloader
}

// New returns an encoder of pictures with 640x360 pixels.
func New(codec assemble.Codec, random *rand.Rand) *Encoder {
	e := &Encoder{Codec: codec, Random: random, Seq: uint16(random.Uint32() & 0xffff), Time: random.Uint32(), Width: 640, Height: 360}
	switch codec {
	case assemble.VP8:
		e.payloader = &codecs.VP8Payloader{EnablePictureID: true}
	case assemble.VP9:
		e.payloader = &codecs.VP9Payloader{}
	default:
		e.payloader = &codecs.H264Payloader{}
	}
	return e
}

// Noise returns random bytes without zeros, so that they contain no start code.
func (e *Encoder) Noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(e.Random.IntN(255)&0xff) + 1
	}
	return b
}

// Encode returns a picture.
func (e *Encoder) Encode(key bool) []byte {
	n := 1 + e.Random.IntN(4000)
	if key {
		n *= 3
	}
	switch e.Codec {
	case assemble.VP8:
		if !key {
			return append([]byte{0x11}, e.Noise(n)...)
		}
		head := binary.LittleEndian.AppendUint16([]byte{0x10, 1, 1, 0x9d, 0x01, 0x2a}, e.Width)
		return append(binary.LittleEndian.AppendUint16(head, e.Height), e.Noise(n)...)
	case assemble.VP9:
		if !key {
			return append([]byte{0x86}, e.Noise(n)...)
		}
		w := &writer{}
		w.write(0x82498342, 32)
		w.write(2, 4)
		w.write(int(e.Width)-1, 16)
		w.write(int(e.Height)-1, 16)
		return append(w.data, e.Noise(n)...)
	default:
		var units [][]byte
		head := byte(0x41)
		if key {
			head = 0x65
			units = append(units, SPS(int(e.Width), int(e.Height)), append([]byte{0x68}, e.Noise(4)...))
		}
		for range 2 { // slices
			units = append(units, append([]byte{head}, e.Noise(1+n/2)...))
		}
		return AnnexB(units...)
	}
}

// Packets splits a picture. The last packet has the marker.
func (e *Encoder) Packets(picture []byte) []*rtp.Packet {
	payloads := e.payloader.Payload(1200, picture)
	packets := make([]*rtp.Packet, len(payloads))
	for i, p := range payloads {
		packets[i] = e.Packet(p, i == len(payloads)-1)
	}
	e.Time += 3000
	return packets
}

// Packet returns the next packet, with the time of the next picture.
func (e *Encoder) Packet(payload []byte, marker bool) *rtp.Packet {
	p := &rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: e.Seq, Timestamp: e.Time, Marker: marker}, Payload: bytes.Clone(payload)}
	e.Seq++
	return p
}
