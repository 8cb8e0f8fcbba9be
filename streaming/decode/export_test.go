package decode

import "vqa/streaming/assemble"

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

// Pacer is a pacer.
type Pacer = pacer

// NewPacer returns a pacer with the defaults.
func NewPacer() Pacer {
	return newPacer(Options{FPS: defaultFPS, MaxGap: defaultMaxGap})
}

// Next places a picture and reports whether it becomes a sample.
func (p *pacer) Next(f assemble.Picture) (t int64, chosen bool) {
	t = p.place(f)
	return t, p.choose(f, t)
}
