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

	"vqa/domain/answer"
	"vqa/domain/evidence"
	"vqa/domain/fault"
	"vqa/handlers/objects"
)

const (
	// maxBytes bounds a stored survey: four hours with 100 detections in every frame, most of
	// them with keypoints and colors.
	maxBytes = 1 << 30
	// form is raised when surveys of an earlier form cannot be read or must not be used, as after
	// a change of how frames are decoded.
	form = 1

	contentType = "application/octet-stream"
)

// Key returns the object key for the survey of a video.
func Key(videoID string) string { return objects.SurveyKey(videoID) }

// Store stores surveys as objects.
type Store struct{ Objects *objects.Store }

// header is the start of a stored survey. The frames of Seen and Finer follow in this order,
// packed as in the spool. The names of the fields are stored (gob).
type header struct {
	Form   int
	Survey storedSurvey
	// Seen are the extents of Evidence.Frames, Finer those of Evidence.Fine.
	Seen, Finer []extent
}

// storedSurvey is a Survey without its frames. The names of the fields are stored (gob).
type storedSurvey struct {
	Engine     answer.Engine
	Vocabulary []string
	StepS      float64
	Whole      bool
	DecodedS   float64
	// Looked is Survey.Examined.
	Looked, Posed, Turned []float64
	Evidence              evidence.Evidence
}

// Load returns the survey of a video, or false when there is none that can be read. It returns
// an error when the object store cannot be reached or the object is damaged. The caller must
// close the survey.
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
	var h header
	if err := gob.NewDecoder(in).Decode(&h); err != nil || h.Form != form {
		return Survey{}, false, err
	}
	spool, err := newSpool()
	if err != nil {
		return Survey{}, false, err
	}
	if _, err := in.WriteTo(spool); err != nil {
		return Survey{}, false, errors.Join(err, spool.file.Close())
	}
	k := h.Survey
	s := Survey{
		Engine: k.Engine, Vocabulary: k.Vocabulary, StepS: k.StepS, Whole: k.Whole, DecodedS: k.DecodedS, Examined: k.Looked,
		Posed: k.Posed, Turned: k.Turned,
		Evidence: k.Evidence, spool: spool,
	}
	from := int64(0)
	s.Evidence.Frames, from = spool.frames(h.Seen, from)
	s.Evidence.Fine, from = spool.frames(h.Finer, from)
	if from != spool.bytes {
		return Survey{}, false, errors.Join(errDamaged, s.Close())
	}
	return s, true, nil
}

// frames returns consecutive frames of a spool, and the end of the last one.
func (s *spool) frames(extents []extent, from int64) ([]evidence.Frame, int64) {
	var frames []evidence.Frame
	for _, e := range extents {
		frames = append(frames, evidence.Frame{At: e.At, Source: &spooledFrame{spool: s, from: from, extent: e}})
		from += e.bytes()
	}
	return frames, from
}

func write(out io.Writer, s Survey) error {
	frames := slices.Concat(s.Evidence.Frames, s.Evidence.Fine)
	extents := make([]extent, len(frames))
	for i, f := range frames {
		extents[i] = f.Source.(*spooledFrame).extent
	}
	seen := len(s.Evidence.Frames)
	s.Evidence.Frames, s.Evidence.Fine = nil, nil
	k := storedSurvey{
		Engine: s.Engine, Vocabulary: s.Vocabulary, StepS: s.StepS, Whole: s.Whole, DecodedS: s.DecodedS, Looked: s.Examined,
		Posed: s.Posed, Turned: s.Turned, Evidence: s.Evidence,
	}
	if err := gob.NewEncoder(out).Encode(header{form, k, extents[:seen], extents[seen:]}); err != nil {
		return err
	}
	var packed []byte
	for _, f := range frames {
		held := f.Source.(*spooledFrame)
		packed = slices.Grow(packed[:0], int(held.bytes()))[:held.bytes()]
		if _, err := held.spool.file.ReadAt(packed, held.from); err != nil {
			return err
		}
		if _, err := out.Write(packed); err != nil {
			return err
		}
	}
	return nil
}

// Save stores the survey of a video and replaces an earlier one. It returns an error for a survey
// that is too large; the earlier one then stays.
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
