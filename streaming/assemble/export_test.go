package assemble

// Held returns the number of packets that wait and of packets that are missing.
func (a *Assembler) Held() (pending, missing int) { return len(a.pending), len(a.missing) }

// PictureBytes returns the size of the picture that is not complete.
func (a *Assembler) PictureBytes() int {
	switch p := a.parts.(type) {
	case *h264:
		return len(p.data)
	case *vp8:
		return len(p.data)
	case *vp9:
		return len(p.data)
	}
	return 0
}

// ParseSPS exports parseSPS.
func ParseSPS(unit []byte) (width, height int, light Light, ok bool) { return parseSPS(unit) }
