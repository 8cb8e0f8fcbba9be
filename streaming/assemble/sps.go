package assemble

import "slices"

// maxSide bounds the sides of a picture in pixels, as the levels of H.264 do.
const maxSide = 16384

// withChroma are the profiles whose sequence parameter sets name the chroma format.
var withChroma = []uint32{100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135}

// parseSPS returns the size of the pictures in pixels, and how they become light, from 7.3.2.1.1 of
// the H.264 standard.
func parseSPS(unit []byte) (width, height int, light Light, ok bool) {
	b := &bits{data: unescape(unit[1:])}
	profile := b.read(8)
	b.read(16) // constraints, level
	b.golomb() // id
	chroma, separate := uint32(1), false
	if slices.Contains(withChroma, profile) {
		if chroma = b.golomb(); chroma == 3 {
			separate = b.flag()
		}
		b.golomb() // depth of luma
		b.golomb() // depth of chroma
		b.flag()   // lossless
		if b.flag() {
			skipScaling(b, chroma)
		}
	}
	b.golomb() // frame numbers
	skipOrder(b)
	b.golomb() // reference frames
	b.flag()   // gaps of frame numbers
	columns, rows := b.golomb()+1, b.golomb()+1
	fields := uint32(2)
	if b.flag() {
		fields = 1
	} else {
		b.flag() // adaptive fields
	}
	b.flag() // direct inference
	var crop [4]uint32
	if b.flag() {
		for i := range crop {
			crop[i] = b.golomb()
		}
	}
	if b.short || chroma > 3 || columns > maxSide/16 || rows > maxSide/16 {
		return 0, 0, Light{}, false
	}
	light = parseLight(b)
	unitX, unitY := uint32(1), fields
	if !separate && (chroma == 1 || chroma == 2) {
		unitX = 2
	}
	if !separate && chroma == 1 {
		unitY *= 2
	}
	w, okWidth := cropped(columns*16, unitX, crop[0], crop[1])
	h, okHeight := cropped(rows*16*fields, unitY, crop[2], crop[3])
	return w, h, light, okWidth && okHeight
}

// extendedAspect is the code of a pixel aspect that follows in two numbers.
const extendedAspect = 255

// parseLight reads the start of the usability information, from E.1.1 of the H.264 standard.
func parseLight(b *bits) Light {
	if !b.flag() {
		return Light{}
	}
	if b.flag() && b.read(8) == extendedAspect {
		b.read(32)
	}
	if b.flag() { // overscan
		b.flag()
	}
	if !b.flag() {
		return Light{}
	}
	b.read(4) // format, range
	if !b.flag() {
		return Light{}
	}
	primaries, transfer := int(b.read(8)), int(b.read(8))
	if b.short {
		return Light{}
	}
	return Light{Transfer: transfer, Primaries: primaries}
}

// cropped returns size without the cropped units on both sides.
func cropped(size, unit, before, after uint32) (int, bool) {
	if before > maxSide || after > maxSide || unit*(before+after) >= size {
		return 0, false
	}
	return int(size - unit*(before+after)), true
}

// skipScaling skips the scaling matrices.
func skipScaling(b *bits, chroma uint32) {
	lists := 8
	if chroma == 3 {
		lists = 12
	}
	for i := range lists {
		if !b.flag() {
			continue
		}
		size := 16
		if i >= 6 {
			size = 64
		}
		last, next := int32(8), int32(8)
		for j := 0; j < size && !b.short; j++ {
			if next != 0 {
				next = (last + b.signed()) & 0xff
			}
			if next != 0 {
				last = next
			}
		}
	}
}

// skipOrder skips the fields for the order of output.
func skipOrder(b *bits) {
	switch b.golomb() {
	case 0:
		b.golomb()
	case 1:
		b.flag()
		b.signed()
		b.signed()
		for n := b.golomb(); n > 0 && !b.short; n-- {
			b.signed()
		}
	}
}

// unescape removes the bytes that keep start codes out of a NAL unit.
func unescape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	zeros := 0
	for _, c := range b {
		if zeros >= 2 && c == 3 {
			zeros = 0
			continue
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
