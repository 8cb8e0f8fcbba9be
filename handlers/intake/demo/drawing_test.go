package demo

import (
	"flag"
	"testing"

	"vqa/handlers/intake/demo/paint"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

// update draws the clips again. The bytes depend on the release of ffmpeg.
var update = flag.Bool("update", false, "draw clips/*.mp4 instead of comparing with them")

// The height of every clip in pixels and its rate in frames per second.
const (
	height = 360
	fps    = 24
)

// drawing is how the clip of a scene is drawn.
type drawing struct {
	durationS int
	// painter draws the background once, and returns the function that draws one frame.
	painter func() func(atS float64) canvas
}

// drawings are the drawings by the names of the scenes.
var drawings = map[string]drawing{
	"stop-signs":  {durationS: streetDurationS, painter: street},
	"tennis-ball": {durationS: 8, painter: court},
	"kites":       {durationS: 8, painter: shore},
}

// canvas is a frame of a scene.
type canvas struct{ paint.Canvas }

func newCanvas() canvas { return canvas{paint.New(width, height)} }

// over returns a copy of a finished frame to paint on.
func (c canvas) over() canvas { return canvas{c.Over()} }

// draw draws the clip of a scene into a new file.
func draw(t testing.TB, scene Scene, path string) error {
	t.Helper()
	d := drawings[scene.Name]
	frame := d.painter()
	return ffmpegtest.Encode(t, path, ffmpegtest.Format{Width: width, Height: height, FPS: fps}, d.durationS*fps,
		func(atS float64) []byte { return frame(atS).Pix })
}
