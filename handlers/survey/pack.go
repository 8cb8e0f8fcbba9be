package survey

import (
	"encoding/binary"
	"errors"
	"math"
	mathbits "math/bits"

	"vqa/domain/evidence"
)

// A frame is packed without loss, in two parts:
//   - the boxes: the number of detections, and for each one the kinds of details that follow
//     in the second part, its term, its score and its box
//   - the details: the shades of the frame, and the keypoints and colors of each detection
//
// Engines report 32-bit numbers, so numbers are packed in 32 bits when that loses nothing. Most
// colors do not occur in a box, so a share of 0 takes one bit.

// The kinds of details of a detection.
const (
	hasKeypoints = 1 << iota
	hasColors
	isTurned // not a detail: evidence.Detection.Turned
)

// The widths of numbers, in bytes.
const (
	narrow = 4
	wide   = 8
)

var order = binary.LittleEndian

func appendBoxes(out []byte, all []evidence.Detection) []byte {
	out = binary.AppendVarint(out, int64(len(all)))
	for _, d := range all {
		has := byte(0)
		if len(d.Keypoints) > 0 {
			has |= hasKeypoints
		}
		if len(d.Colors) > 0 {
			has |= hasColors
		}
		if d.Turned {
			has |= isTurned
		}
		out = binary.AppendVarint(append(out, has), int64(d.Term))
		out = appendNumbers(out, d.Score, d.Box.X1, d.Box.Y1, d.Box.X2, d.Box.Y2)
	}
	return out
}

func appendDetails(out []byte, f evidence.Frame) []byte {
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

// appendNumbers writes the width of the numbers and then the numbers.
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

// appendShares writes one bit for each share, and then the shares that are not 0.
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

// unpacker reads a packed frame. After an error it reads zeros.
type unpacker struct {
	rest []byte
	err  error
}

var errDamaged = errors.New("the stored detections are damaged")

// take returns the next n bytes, or nil when there are fewer.
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

// count reads the number of items that follow. perByte is the largest number of items in a byte.
func (u *unpacker) count(perByte int) int {
	n := u.integer()
	if n < 0 || n > perByte*len(u.rest) {
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

// boxes reads the first part. has are the kinds of details of each detection.
func (u *unpacker) boxes() (all []evidence.Detection, has []byte) {
	n := u.count(1)
	if n == 0 {
		return nil, nil
	}
	all, has = make([]evidence.Detection, n), make([]byte, n)
	for i := range all {
		var numbers [5]float64
		has[i], all[i].Term = u.byte(), u.integer()
		u.numbers(numbers[:])
		all[i].Score, all[i].Turned = numbers[0], has[i]&isTurned != 0
		all[i].Box = evidence.Box{X1: numbers[1], Y1: numbers[2], X2: numbers[3], Y2: numbers[4]}
	}
	return all, has
}

// details reads the second part. It adds the details to all and returns the shades.
func (u *unpacker) details(all []evidence.Detection, has []byte) (shades []byte) {
	if n := u.count(1); n > 0 {
		shades = u.take(n)
	}
	for i := range all {
		if has[i]&hasKeypoints != 0 {
			all[i].Keypoints = u.keypoints()
		}
		if has[i]&hasColors != 0 {
			all[i].Colors = u.shares()
		}
	}
	return shades
}

func (u *unpacker) keypoints() []evidence.Keypoint {
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
