package survey

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/handlers/media/objects"
)

const (
	// maxBytes bounds a survey as it is kept: about a day of video.
	maxBytes = 64 << 20
	// maxPlain bounds it as it is read.
	maxPlain = 512 << 20
	// form is raised when surveys of another form cannot be read any more.
	form = 3

	contentType = "application/octet-stream"
)

// Key is the object in which the survey of a video is kept.
func Key(videoID string) string { return "surveys/" + videoID }

// Store keeps surveys among the objects.
type Store struct{ Objects *objects.Store }

// kept is how a survey begins as it is written. So many of its frames follow, then of its
// fine ones, each by itself: one at a time is all that is in memory twice.
type kept struct {
	Form         int
	Survey       Survey
	Frames, Fine int
}

// Load returns the survey of a video, and false when there is none that can be read. An
// error says that the objects cannot be reached, or what is wrong with the one that cannot
// be read.
func (s Store) Load(ctx context.Context, videoID string) (Survey, bool, error) {
	object, err := s.Objects.Reader(ctx, Key(videoID))
	if fault.Has(err, fault.ResourceNotFound) {
		return Survey{}, false, nil
	}
	if err != nil {
		return Survey{}, false, fmt.Errorf("survey: %w", err)
	}
	defer func() { _ = object.Close() }()
	plain, err := gzip.NewReader(bufio.NewReader(object))
	if err != nil {
		return Survey{}, false, fmt.Errorf("survey of %s: %w", videoID, err)
	}
	survey, found, err := read(gob.NewDecoder(io.LimitReader(plain, maxPlain)))
	if err != nil {
		return Survey{}, false, fmt.Errorf("survey of %s: %w", videoID, err)
	}
	return survey, found, nil
}

// read returns false for a survey of another form.
func read(in *gob.Decoder) (Survey, bool, error) {
	var k kept
	if err := in.Decode(&k); err != nil || k.Form != form {
		return Survey{}, false, err
	}
	var err error
	if k.Survey.Evidence.Frames, err = readFrames(in, k.Frames); err != nil {
		return Survey{}, false, err
	}
	k.Survey.Evidence.Fine, err = readFrames(in, k.Fine)
	return k.Survey, err == nil, err
}

func readFrames(in *gob.Decoder, count int) ([]answer.Frame, error) {
	var frames []answer.Frame
	for range count {
		var f answer.Frame
		if err := in.Decode(&f); err != nil {
			return nil, err
		}
		frames = append(frames, f)
	}
	return frames, nil
}

func write(out *gob.Encoder, survey Survey) error {
	ev := survey.Evidence
	survey.Evidence.Frames, survey.Evidence.Fine = nil, nil
	if err := out.Encode(kept{form, survey, len(ev.Frames), len(ev.Fine)}); err != nil {
		return err
	}
	for _, frames := range [][]answer.Frame{ev.Frames, ev.Fine} {
		for _, f := range frames {
			if err := out.Encode(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// Save keeps the survey of a video in the place of an earlier one. A survey that is too
// large is an error, and the earlier one stays.
func (s Store) Save(ctx context.Context, videoID string, survey Survey) error {
	out, err := s.Objects.Writer(ctx, Key(videoID), contentType, maxBytes)
	if err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	defer out.Abort()
	plain, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	err = errors.Join(write(gob.NewEncoder(plain), survey), plain.Close())
	if err != nil {
		return fmt.Errorf("survey of %s: %w", videoID, err)
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	return nil
}
