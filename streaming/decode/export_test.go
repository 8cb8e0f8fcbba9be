package decode

// Held returns the number of pictures that wait for ffmpeg, and their bytes.
func (d *Decoder) Held() (pictures, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue), d.bytes
}

// The parsers of ffmpeg's output.
var (
	ReadPart = readPart
	ReadTime = readTime
)
