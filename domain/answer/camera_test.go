package answer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/query/english"
)

// wall is the brightness of a background with marks of many sizes, at a place in widths of
// the frame.
func wall(x, y float64) float64 {
	return 15 + 6*math.Sin(9*x+4*y) + 5*math.Sin(23*x-17*y) + 4*math.Sin(41*y+8*x)
}

// shadesAt is the picture of the wall by a camera that has turned by x and y frames.
func shadesAt(x, y float64) []byte {
	shades := make([]byte, evidence.Cells*evidence.Cells)
	for i := range shades {
		u, v := (float64(i%evidence.Cells)+.5)/evidence.Cells, (float64(i/evidence.Cells)+.5)/evidence.Cells
		shades[i] = byte(min(max(wall(x+u, y+v), 0), evidence.MaxShade))
	}
	return shades
}

// filmed adds to frames, half a second apart, the background for the place of the camera in
// each.
func filmed(prompt string, frames [][]thing, camera func(i int) (x, y float64)) answer.Result {
	q := english.Compile(prompt)
	ev := sampled(q, frames...)
	for i := range ev.Frames {
		ev.Frames[i].Shades = shadesAt(camera(i))
	}
	return answer.Decide(q, ev, answer.CPU())
}

func TestCameraMotionIsRemoved(t *testing.T) {
	t.Parallel()
	stands := func(int) (float64, float64) { return 0, 0 }
	pans := func(i int) (float64, float64) { return .12 * float64(i), 0 }
	// The background moves against the camera.
	passed, followed := going("person", 6, .85, -.12), trembling(6)
	lost := func(i int) (float64, float64) { return .77 * float64(i), 0 }
	shaking := func(i int) (float64, float64) { return .08 * float64(i%2), .05 * float64(i/2%2) }
	shaken := trembling(10)
	for i, f := range shaken {
		x, y := shaking(i)
		b := &f[0].box
		b.X1, b.X2, b.Y1, b.Y2 = b.X1-x, b.X2-x, b.Y1-y, b.Y2-y
	}
	for _, tt := range []struct {
		name   string
		prompt string
		frames [][]thing
		camera func(int) (float64, float64)
		want   answer.Answer
	}{
		{"a runner", "Is a person running?", passed, stands, answer.Yes},
		{"a runner whom a camera follows too fast", "Is a person running?", followed, lost, answer.Indeterminate},
		{"a standing person before a panning camera", "Is a person running?", passed, pans, answer.No},
		{"a standing person before a panning camera", "Is a person moving?", passed, pans, answer.No},
		{"a standing person", "Is a person running?", followed, stands, answer.No},
		{"a runner whom the camera follows", "Is a person running?", followed, pans, answer.Yes},
		{"a standing person before a shaking camera", "Is a person walking?", shaken, shaking, answer.No},
		{"a person in a still picture", "Is a person walking?", going("person", 10, .5, 0), stands, answer.Indeterminate},
	} {
		require.Equal(t, tt.want, filmed(tt.prompt, tt.frames, tt.camera).Answer, "%s: %s", tt.name, tt.prompt)
	}
}

// TestCameraThatIsNotKnownStands: before a plain wall, or where only the object itself is
// visible, nothing shows that the camera moves.
func TestCameraThatIsNotKnownStands(t *testing.T) {
	t.Parallel()
	plain := make([]byte, evidence.Cells*evidence.Cells)
	moving := func(frames [][]thing, shades func(i int) []byte) answer.Answer {
		q := english.Compile("Is the car moving?")
		ev := sampled(q, frames...)
		for i := range ev.Frames {
			ev.Frames[i].Shades = shades(i)
		}
		return answer.Decide(q, ev, answer.CPU()).Answer
	}
	car := going("car", 6, .85, -.12)
	require.Equal(t, answer.Yes, moving(car, func(int) []byte { return plain }))
	require.Equal(t, answer.Yes, moving(car, func(int) []byte { return []byte{1, 2} }))
	require.Equal(t, answer.Yes, moving(car, func(i int) []byte {
		seen := make([]byte, len(plain))
		for k, shade := range shadesAt(.12*float64(i), 0) {
			u, v := float64(k%evidence.Cells)/evidence.Cells, float64(k/evidence.Cells)/evidence.Cells
			if b := car[i][0].box; u > b.X1 && u < b.X2-.04 && v > b.Y1 && v < b.Y2-.04 {
				seen[k] = shade
			}
		}
		return seen
	}), "the marks of the car go with it")
	require.Equal(t, answer.No, moving(car, func(i int) []byte { return shadesAt(.12*float64(i), 0) }))
}
