package survey

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"vqa/domain/fault"
	"vqa/handlers/media/objects"
)

const (
	// maxBytes bounds a survey as it is kept: about a day of video.
	maxBytes = 64 << 20
	// maxPlain bounds it as it is read.
	maxPlain = 512 << 20
	// form is raised when surveys of another form cannot be read any more.
	form = 2

	contentType = "application/octet-stream"
)

// Key is the object in which the survey of a video is kept.
func Key(videoID string) string { return "surveys/" + videoID }

// Store keeps surveys among the objects.
type Store struct{ Objects *objects.Store }

// kept is a survey as it is written.
type kept struct {
	Form   int
	Survey Survey
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
	var k kept
	if err := gob.NewDecoder(io.LimitReader(plain, maxPlain)).Decode(&k); err != nil {
		return Survey{}, false, fmt.Errorf("survey of %s: %w", videoID, err)
	}
	return k.Survey, k.Form == form, nil
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
	err = errors.Join(gob.NewEncoder(plain).Encode(kept{form, survey}), plain.Close())
	if err != nil {
		return fmt.Errorf("survey of %s: %w", videoID, err)
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	return nil
}
