package audit

// InSmallPieces returns an auditor that reads pieces of two streams and pages of three events, so that a short log has
// every kind of piece.
func (a Auditor) InSmallPieces() *Auditor {
	a.sizes = sizes{pieceEvents: 4, pieceStreams: 2, page: 3}
	return &a
}
