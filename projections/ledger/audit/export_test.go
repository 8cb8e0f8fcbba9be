package audit

// InSmallPieces returns an auditor that reads ranges of two streams and parts of three
// events, so that a short log has every kind of piece.
func (a Auditor) InSmallPieces() *Auditor {
	a.sizes = sizes{rangeEvents: 4, rangeStreams: 2, part: 3, page: 2}
	return &a
}
