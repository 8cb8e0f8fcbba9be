package demo

import (
	"embed"
	"fmt"
	"strconv"
	"time"

	"vqa/domain/id"
)

// width is the width of every clip, in pixels.
const width = 640

// clips are the videos. The test of this package draws them.
//
//go:embed clips/*.mp4
var clips embed.FS

// Scene is one demo video and the questions about it.
type Scene struct {
	// Name is unique among the scenes. It is the file name without its extension.
	Name        string
	DisplayName string
	// Prompts are asked of the engine. The first one asks for the subject of the scene.
	Prompts []string
	// ThumbnailS is the time of the thumbnail, in seconds: the subject is easy to see then.
	ThumbnailS float64
	// revision is raised when the clip changes, so that the video gets a new id.
	revision int
}

// began is the time in the ids of all demo videos.
var began = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// VideoID is the id of the scene's video, in this revision.
func (s Scene) VideoID() string {
	return id.Derived(id.Video, began, "demo", s.Name, strconv.Itoa(s.revision))
}

// Filename is the name of the clip.
func (s Scene) Filename() string { return s.Name + videoExtension }

// clip returns the embedded video.
func (s Scene) clip() ([]byte, error) {
	data, err := clips.ReadFile("clips/" + s.Filename())
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	return data, nil
}

// Scenes returns all scenes in the order of the API's list.
func Scenes() []Scene {
	return []Scene{
		{
			Name: "stop-signs", DisplayName: "Stop signs along a street", revision: 1,
			Prompts:    []string{"Is there a stop sign?", "How many stop signs are there?", "Is there a dog?"},
			ThumbnailS: 3,
		},
		{
			Name: "tennis-ball", DisplayName: "A ball bounces across a tennis court", revision: 1,
			Prompts:    []string{"Is there a ball?", "How many balls are there?", "Are there no people?"},
			ThumbnailS: 4.5,
		},
		{
			Name: "kites", DisplayName: "Kites and a boat at the shore", revision: 1,
			Prompts:    []string{"How many kites are there?", "Is there a boat?", "Are there more than five kites?"},
			ThumbnailS: 5.5,
		},
	}
}
