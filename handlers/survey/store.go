package survey

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"slices"

	"vqa/domain/evidence"
	"vqa/domain/fault"
	"vqa/handlers/objects"
)

const (
	// maxBytes bounds a survey as it is kept: four hours of 100 things in every frame, most
	// of them with joints and colours.
	maxBytes = 1 << 30
	// form is raised when surveys of another form cannot be read, or must not be used, any
	// more. Form 5 has looked at pictures of quality 1 with deblocking.
	form = 5

	contentType = "application/octet-stream"
)

// Key is the object in which the survey of a video is kept.
func Key(videoID string) string { return objects.SurveyKey(videoID) }

// Store keeps surveys among the objects.
type Store struct{ Objects *objects.Store }

// kept is how a survey begins as it is written. The frames that are Seen and the Finer ones
// follow, as they are on a reel.
type kept struct {
	Form        int
	Survey      Survey
	Seen, Finer []extent
}

// Load returns the survey of a video, and false when there is none that can be read. An
// error says that the objects cannot be reached, or what is wrong with the one that cannot
// be read. What is returned must be closed.
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
	survey, found, err := read(bufio.NewReaderSize(plain, 1<<16))
	if err != nil {
		return Survey{}, false, fmt.Errorf("survey of %s: %w", videoID, err)
	}
	return survey, found, nil
}

// read returns false for a survey of another form.
func read(in *bufio.Reader) (Survey, bool, error) {
	var k kept
	if err := gob.NewDecoder(in).Decode(&k); err != nil || k.Form != form {
		return Survey{}, false, err
	}
	reel, err := newReel()
	if err != nil {
		return Survey{}, false, err
	}
	if _, err := in.WriteTo(reel); err != nil {
		return Survey{}, false, errors.Join(err, reel.file.Close())
	}
	s := k.Survey
	s.reel = reel
	from := int64(0)
	s.Evidence.Frames, from = reel.frames(k.Seen, from)
	s.Evidence.Fine, from = reel.frames(k.Finer, from)
	if from != reel.bytes {
		return Survey{}, false, errors.Join(errDamaged, s.Close())
	}
	return s, true, nil
}

// frames are those that follow each other on a reel, and where the last of them ends.
func (r *reel) frames(extents []extent, from int64) ([]evidence.Frame, int64) {
	var frames []evidence.Frame
	for _, e := range extents {
		frames = append(frames, evidence.Frame{At: e.At, Source: &shot{reel: r, from: from, extent: e}})
		from += e.bytes()
	}
	return frames, from
}

func write(out io.Writer, survey Survey) error {
	frames := slices.Concat(survey.Evidence.Frames, survey.Evidence.Fine)
	extents := make([]extent, len(frames))
	for i, f := range frames {
		extents[i] = f.Source.(*shot).extent
	}
	seen := len(survey.Evidence.Frames)
	survey.Evidence.Frames, survey.Evidence.Fine = nil, nil
	if err := gob.NewEncoder(out).Encode(kept{form, survey, extents[:seen], extents[seen:]}); err != nil {
		return err
	}
	var packed []byte
	for _, f := range frames {
		s := f.Source.(*shot)
		packed = slices.Grow(packed[:0], int(s.bytes()))[:s.bytes()]
		if _, err := s.reel.file.ReadAt(packed, s.from); err != nil {
			return err
		}
		if _, err := out.Write(packed); err != nil {
			return err
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
	err = errors.Join(write(plain, survey), plain.Close())
	if err != nil {
		return fmt.Errorf("survey of %s: %w", videoID, err)
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	return nil
}
