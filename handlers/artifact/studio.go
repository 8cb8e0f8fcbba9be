package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"vqa/domain/analysis"
	"vqa/handlers/intake/ffmpeg"
	"vqa/handlers/intake/scratch"
	"vqa/handlers/objects"
)

const (
	// makeTimeout bounds one drawing: MaxOutputS of output take some minutes of one core.
	makeTimeout = 10 * time.Minute
	// maxBytes of one file: MaxOutputS at the highest rate of bits, twice.
	maxBytes = 600 << 20
)

// The content types of the files.
const (
	VideoType = "video/mp4"
	SheetType = "image/png"
)

// Studio draws, and keeps what it drew in the object store.
type Studio struct {
	Objects *objects.Store
	FFmpeg  *ffmpeg.Runner
}

// Name is what the objects of an answer are called after: the attempt that found it too, so
// that those of two answers can never be mistaken.
type Name struct {
	VideoID, AnalysisID string
	Attempt             int
}

func (n Name) key(file string) string {
	return objects.ArtifactKey(n.VideoID, fmt.Sprintf("%s.%d.%s", n.AnalysisID, n.Attempt, file))
}

// Plan says what Make will keep, and under which keys; nil when there is nothing to show.
func (s *Studio) Plan(name Name, in Input) *analysis.Artifacts {
	spans := spansOf(in.Evidence.DurationS, in.Result.Shown())
	if len(spans) == 0 {
		return nil
	}
	planned := &analysis.Artifacts{VideoKey: name.key("mp4")}
	for _, t := range tilesOf(in, sightsOf(tracksOf(in))) {
		if slices.ContainsFunc(spans, func(s span) bool { return t.atS >= s.startS && t.atS < s.endS }) {
			planned.SheetKey = name.key("png")
		}
	}
	return planned
}

// Make draws and keeps what was planned, or nothing. It returns what it kept: a sheet may
// turn out to have no picture.
func (s *Studio) Make(ctx context.Context, planned analysis.Artifacts, in Input) (made *analysis.Artifacts, err error) {
	ctx, cancel := context.WithTimeout(ctx, makeTimeout)
	defer cancel()
	folder, err := scratch.New()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	files, err := Render(ctx, s.FFmpeg, in, folder.Path)
	if err != nil {
		return nil, err
	}
	if files.Video == "" {
		return nil, errors.New("artifact: there is nothing to show")
	}
	kept := analysis.Artifacts{VideoKey: planned.VideoKey}
	if err := s.keep(ctx, files.Video, kept.VideoKey, VideoType); err != nil {
		return nil, err
	}
	if files.Sheet == "" || planned.SheetKey == "" {
		return &kept, nil
	}
	kept.SheetKey = planned.SheetKey
	if err := s.keep(ctx, files.Sheet, kept.SheetKey, SheetType); err != nil {
		return nil, errors.Join(err, s.Remove(context.WithoutCancel(ctx), kept))
	}
	return &kept, nil
}

// Remove deletes what Make kept; what is gone already is no error.
func (s *Studio) Remove(ctx context.Context, a analysis.Artifacts) error {
	err := s.Objects.Delete(ctx, a.VideoKey)
	if a.SheetKey != "" {
		err = errors.Join(err, s.Objects.Delete(ctx, a.SheetKey))
	}
	return err
}

// keep stores a file.
func (s *Studio) keep(ctx context.Context, path, key, contentType string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w, err := s.Objects.Writer(ctx, key, contentType, maxBytes)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, file); err != nil {
		return err
	}
	return w.Commit()
}
