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
	// makeTimeout bounds one rendering. maxOutputS of output take a few minutes on one core.
	makeTimeout = 10 * time.Minute
	// maxBytes bounds one file: twice the size of maxOutputS at the highest bit rate.
	maxBytes = 600 << 20
)

// The content types of the files.
const (
	VideoType = "video/mp4"
	SheetType = "image/png"
)

// Studio renders artifacts and stores them.
type Studio struct {
	Objects *objects.Store
	FFmpeg  *ffmpeg.Runner
}

// Name identifies the artifacts of one answer. It includes the attempt, so the artifacts of two
// attempts have different keys.
type Name struct {
	VideoID, AnalysisID string
	Attempt             int
}

func (n Name) key(file string) string {
	return objects.ArtifactKey(n.VideoID, fmt.Sprintf("%s.%d.%s", n.AnalysisID, n.Attempt, file))
}

// Plan returns the keys under which Make will store files, or nil when there is nothing to show.
func (s *Studio) Plan(name Name, in Input) *analysis.Artifacts {
	intervals := shownIntervals(in.Evidence.DurationS, in.Result.Shown())
	if len(intervals) == 0 {
		return nil
	}
	planned := &analysis.Artifacts{VideoKey: name.key("mp4")}
	for _, t := range tilesOf(in, pointsBySample(tracksOf(in))) {
		if slices.ContainsFunc(intervals, func(s interval) bool { return t.atS >= s.startS && t.atS < s.endS }) {
			planned.SheetKey = name.key("png")
		}
	}
	return planned
}

// Make renders and stores the planned files, or nothing. It returns the keys of the stored files:
// the sheet is left out when the video has no frame for it.
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

// Remove deletes the stored files. A missing file is not an error.
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
