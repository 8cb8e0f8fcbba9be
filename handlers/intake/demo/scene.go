package demo

import (
	"strconv"
	"time"

	"vqa/domain/id"
	"vqa/handlers/intake/demo/paint"
)

// The frame of every clip, pixels, and its rate, pictures a second.
const (
	Width  = 640
	Height = 360
	fps    = 24
)

// Scene is one clip and what is asked about it.
type Scene struct {
	// Name is unique among the scenes, and the file's name without its ending.
	Name        string
	DisplayName string
	// Prompts are questions for the engine, the first being what the scene is about.
	Prompts []string
	// ThumbnailS is when its subject is seen best, in seconds.
	ThumbnailS float64
	durationS  int
	// revision is raised whenever the drawing changes.
	revision int
	// painter draws what stays once, and returns what draws the picture of a time.
	painter func() func(atS float64) canvas
}

// canvas is a picture of a scene.
type canvas struct{ paint.Canvas }

func newCanvas() canvas { return canvas{paint.New(Width, Height)} }

// over returns a copy of a finished picture to paint on.
func (c canvas) over() canvas { return canvas{c.Over()} }

// began is the time in the ids of all scenes.
var began = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// VideoID is the id of the scene's video, in this revision.
func (s Scene) VideoID() string {
	return id.Derived(id.Video, began, "demo", s.Name, strconv.Itoa(s.revision))
}

// Filename is what the clip is called.
func (s Scene) Filename() string { return s.Name + ".mp4" }

// Scenes are all of them, in the order of the list.
func Scenes() []Scene {
	return []Scene{
		{
			Name: "stop-signs", DisplayName: "Stop signs along a street", durationS: streetDurationS, revision: 1, painter: street,
			Prompts:    []string{"Is there a stop sign?", "How many stop signs are there?", "Is there a dog?"},
			ThumbnailS: 3,
		},
		{
			Name: "tennis-ball", DisplayName: "A ball bounces across a tennis court", durationS: 8, revision: 1, painter: court,
			Prompts:    []string{"Is there a ball?", "How many balls are there?", "Are there no people?"},
			ThumbnailS: 4.5,
		},
		{
			Name: "kites", DisplayName: "Kites and a boat at the shore", durationS: 8, revision: 1, painter: shore,
			Prompts:    []string{"How many kites are there?", "Is there a boat?", "Are there more than five kites?"},
			ThumbnailS: 5.5,
		},
	}
}
