package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"vqa/domain/analysis"
	"vqa/handlers/media/objects"
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
type Studio struct{ Objects *objects.Store }

// Name is what the objects of one attempt are called after. Each attempt has its own, so
// that one that comes too late cannot touch those of the one that was first.
type Name struct {
	VideoID, AnalysisID string
	Attempt             int
}

func (n Name) key(file string) string {
	return objects.ArtifactKey(n.VideoID, fmt.Sprintf("%s.%d.%s", n.AnalysisID, n.Attempt, file))
}

// Make draws and keeps both files, or none. It returns nil when there is nothing to show.
func (s *Studio) Make(ctx context.Context, name Name, in Input) (made *analysis.Artifacts, err error) {
	ctx, cancel := context.WithTimeout(ctx, makeTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "vqa-artifact-")
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files, err := Render(ctx, in, dir)
	if err != nil || files.Video == "" {
		return nil, err
	}
	kept := analysis.Artifacts{VideoKey: name.key("mp4")}
	if err := s.keep(ctx, files.Video, kept.VideoKey, VideoType); err != nil {
		return nil, err
	}
	if files.Sheet == "" {
		return &kept, nil
	}
	kept.SheetKey = name.key("png")
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
