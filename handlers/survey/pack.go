package survey

import (
	"encoding/binary"
	"errors"
	"math"
	mathbits "math/bits"

	"vqa/domain/evidence"
)

// A frame is packed without loss, in two parts. The first is a number of detections, each
// with what details the second part has of it, its term, and its score and box. The second
// are the shades of the frame and, of each detection in turn, the joints and the colours
// that it has. Engines tell numbers of 32 bits, and most colours are not in a box: so
// numbers are as wide as they need, and colours that are 0 take a bit.

// The details of a detection.
const (
	hasJoints = 1 << iota
	hasColours
)

// How wide some numbers are.
const (
	narrow = 4
	wide   = 8
)

var order = binary.LittleEndian

func appendBoxes(out []byte, all []evidence.Detection) []byte {
	out = binary.AppendVarint(out, int64(len(all)))
	for _, d := range all {
		details := byte(0)
		if len(d.Keypoints) > 0 {
			details |= hasJoints
		}
		if len(d.Colors) > 0 {
			details |= hasColours
		}
		out = binary.AppendVarint(append(out, details), int64(d.Term))
		out = appendNumbers(out, d.Score, d.Box.X1, d.Box.Y1, d.Box.X2, d.Box.Y2)
	}
	return out
}

func appendCloser(out []byte, f evidence.Frame) []byte {
	out = append(binary.AppendVarint(out, int64(len(f.Shades))), f.Shades...)
	for _, d := range f.Detections {
		if len(d.Keypoints) > 0 {
			numbers := make([]float64, 0, 3*len(d.Keypoints))
			for _, k := range d.Keypoints {
				numbers = append(numbers, k.X, k.Y, k.Score)
			}
			out = appendNumbers(binary.AppendVarint(out, int64(len(d.Keypoints))), numbers...)
		}
		if len(d.Colors) > 0 {
			out = appendShares(binary.AppendVarint(out, int64(len(d.Colors))), d.Colors)
		}
	}
	return out
}

// appendNumbers writes numbers, and before them how wide they are.
func appendNumbers(out []byte, numbers ...float64) []byte {
	for _, x := range numbers {
		if math.Float64bits(float64(float32(x))) != math.Float64bits(x) {
			out = append(out, wide)
			for _, x := range numbers {
				out = order.AppendUint64(out, math.Float64bits(x))
			}
			return out
		}
	}
	out = append(out, narrow)
	for _, x := range numbers {
		out = order.AppendUint32(out, math.Float32bits(float32(x)))
	}
	return out
}

// appendShares writes a bit for each share, and those that are not 0.
func appendShares(out []byte, shares []float32) []byte {
	bits := len(out)
	out = append(out, make([]byte, (len(shares)+7)/8)...)
	for i, x := range shares {
		if b := math.Float32bits(x); b != 0 {
			out[bits+i/8] |= 1 << (i % 8)
			out = order.AppendUint32(out, b)
		}
	}
	return out
}

// unpacker reads what was packed. After an error it reads zeros.
type unpacker struct {
	rest []byte
	err  error
}

var errDamaged = errors.New("what was seen is damaged")

// take returns the next n bytes, nil where there are fewer.
func (u *unpacker) take(n int) []byte {
	if n < 0 || n > len(u.rest) {
		u.rest, u.err = nil, errDamaged
		return nil
	}
	taken := u.rest[:n]
	u.rest = u.rest[n:]
	return taken
}

func (u *unpacker) byte() byte {
	if b := u.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (u *unpacker) integer() int {
	n, size := binary.Varint(u.rest)
	if size <= 0 {
		size = -1
	}
	u.take(size)
	return int(n)
}

// count reads how many things follow, so many of them in a byte at most.
func (u *unpacker) count(dense int) int {
	n := u.integer()
	if n < 0 || n > dense*len(u.rest) {
		u.rest, u.err = nil, errDamaged
		return 0
	}
	return n
}

func (u *unpacker) numbers(into []float64) {
	switch u.byte() {
	case narrow:
		if packed := u.take(4 * len(into)); packed != nil {
			for i := range into {
				into[i] = float64(math.Float32frombits(order.Uint32(packed[4*i:])))
			}
		}
	case wide:
		if packed := u.take(8 * len(into)); packed != nil {
			for i := range into {
				into[i] = math.Float64frombits(order.Uint64(packed[8*i:]))
			}
		}
	default:
		u.rest, u.err = nil, errDamaged
	}
}

// boxes reads the first part, and which details of each the second has.
func (u *unpacker) boxes() (all []evidence.Detection, details []byte) {
	n := u.count(1)
	if n == 0 {
		return nil, nil
	}
	all, details = make([]evidence.Detection, n), make([]byte, n)
	for i := range all {
		var numbers [5]float64
		details[i], all[i].Term = u.byte(), u.integer()
		u.numbers(numbers[:])
		all[i].Score = numbers[0]
		all[i].Box = evidence.Box{X1: numbers[1], Y1: numbers[2], X2: numbers[3], Y2: numbers[4]}
	}
	return all, details
}

// closer reads the second part: details into all, and the shades.
func (u *unpacker) closer(all []evidence.Detection, details []byte) (shades []byte) {
	if n := u.count(1); n > 0 {
		shades = u.take(n)
	}
	for i := range all {
		if details[i]&hasJoints != 0 {
			all[i].Keypoints = u.joints()
		}
		if details[i]&hasColours != 0 {
			all[i].Colors = u.shares()
		}
	}
	return shades
}

func (u *unpacker) joints() []evidence.Keypoint {
	list := make([]evidence.Keypoint, u.count(1))
	numbers := make([]float64, 3*len(list))
	u.numbers(numbers)
	for i := range list {
		list[i] = evidence.Keypoint{X: numbers[3*i], Y: numbers[3*i+1], Score: numbers[3*i+2]}
	}
	return list
}

func (u *unpacker) shares() []float32 {
	shares := make([]float32, u.count(8))
	bits := u.take((len(shares) + 7) / 8)
	for i := range bits {
		for b := bits[i]; b != 0; b &= b - 1 {
			packed, at := u.take(4), 8*i+mathbits.TrailingZeros8(b)
			if packed == nil || at >= len(shares) {
				u.rest, u.err = nil, errDamaged
				return shares
			}
			shares[at] = math.Float32frombits(order.Uint32(packed))
		}
	}
	return shares
}
