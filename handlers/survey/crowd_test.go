package survey_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/evidence"
	"vqa/handlers/survey"
)

// crowded is a frame of 60 people, each with keypoints and colors. Its numbers have 32 bits, as
// those of engines have.
func crowded(i int) evidence.Frame {
	r := rand.New(rand.NewPCG(uint64(i), 0))
	number := func() float64 { return float64(r.Float32()) }
	f := evidence.Frame{At: float64(i) / 2, Shades: make([]byte, evidence.Cells*evidence.Cells), Detections: make([]evidence.Detection, 60)}
	for k := range f.Detections {
		d := evidence.Detection{
			Term: k % 3, Score: number(), Box: evidence.Box{X1: number(), Y1: number(), X2: number(), Y2: number()},
			Keypoints: make([]evidence.Keypoint, 17), Colors: make([]float32, 55),
		}
		for j := range d.Keypoints {
			d.Keypoints[j] = evidence.Keypoint{X: number(), Y: number(), Score: number()}
		}
		for j := range 20 {
			d.Colors[11*(j/4)+(k+j)%11] = float32(r.IntN(384)) / 384
		}
		f.Detections[k] = d
	}
	return f
}

// TestACrowdIsStored: a survey of a crowd is stored and read bit for bit, and takes hardly any
// memory. In memory, 60 people would take 44 kB per frame.
func TestACrowdIsStored(t *testing.T) {
	const frames, mostBytes = 4500, 240
	live := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := live()
	seen := survey.Survey{Engine: engine, Evidence: evidence.Evidence{Terms: []string{"dog", "cat", "person"}, Known: []bool{true, true, true}}}
	var scan survey.Scan
	for i := range frames {
		kept, err := seen.Spool([]evidence.Frame{crowded(i)})
		require.NoError(t, err)
		scan.Frames = append(scan.Frames, kept...)
	}
	require.NoError(t, seen.Add(scan))
	scan = survey.Scan{}
	inMemory := (live() - before) / frames
	require.Less(t, inMemory, float64(mostBytes), "bytes per frame")

	objects := store(t)
	require.NoError(t, objects.Save(t.Context(), "video_1", seen))
	require.NoError(t, seen.Close())
	object, err := objects.Objects.Stat(t.Context(), survey.Key("video_1"))
	require.NoError(t, err)
	require.Greater(t, object.SizeBytes, int64(64<<20), "the object must be as large as that of a crowd")
	t.Log("bytes per frame in memory:", inMemory, "in the object:", object.SizeBytes/frames)

	before = live()
	again, found, err := objects.Load(t.Context(), "video_1")
	require.NoError(t, err)
	require.True(t, found)
	ev := again.For([]string{"cat", "dog", "person"})
	asked := (live() - before) / frames
	require.Less(t, asked, float64(2*mostBytes), "bytes per frame, with the evidence for a question")
	require.Len(t, ev.Frames, frames)
	for i := range frames {
		require.True(t, reflect.DeepEqual(crowded(i), again.Evidence.Frames[i].Load(true)), "frame %d", i)
	}
	require.Len(t, ev.Frames[frames-1].Load(false).Detections, 60)
	t.Log("bytes per frame, with the evidence for a question:", asked)
	require.NoError(t, errors.Join(again.Err(), again.Close()))
}
