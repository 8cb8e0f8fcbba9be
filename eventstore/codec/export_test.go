package codec

// NextRelease returns the codec that writes the newest version of every event, also of those that this
// release only reads.
func (c *Codec) NextRelease() *Codec {
	var all []Registration
	for _, r := range c.byName {
		r.readFirst = false
		all = append(all, r)
	}
	return New(all...)
}
