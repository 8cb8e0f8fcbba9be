package assemble

// bits reads the fields of a header, most significant bit first. After the end of the data it
// returns zeros and short is true.
type bits struct {
	data  []byte
	at    int // in bits
	short bool
}

func (b *bits) read(n int) uint32 {
	var v uint32
	for range n {
		v <<= 1
		if b.at >= 8*len(b.data) {
			b.short = true
			continue
		}
		v |= uint32(b.data[b.at/8]>>(7-b.at%8)) & 1
		b.at++
	}
	return v
}

func (b *bits) flag() bool { return b.read(1) == 1 }

// golomb reads an unsigned Exp-Golomb code, as in 9.1 of the H.264 standard.
func (b *bits) golomb() uint32 {
	zeros := 0
	for !b.flag() {
		zeros++
		if zeros > 31 || b.short {
			b.short = true
			return 0
		}
	}
	return 1<<zeros - 1 + b.read(zeros)
}

// signed reads a signed Exp-Golomb code.
func (b *bits) signed() int32 {
	k := b.golomb()
	if k%2 == 0 {
		return -int32(k / 2) //nolint:gosec // k/2 fits
	}
	return int32(k/2) + 1 //nolint:gosec // k/2 fits
}
