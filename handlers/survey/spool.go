package survey

import (
	"errors"
	"fmt"
	"os"

	"vqa/domain/evidence"
)

// maxSpool bounds a spool, in bytes: four hours with 250 detections in every frame, each with
// keypoints and colors.
const maxSpool = 4 << 30

// spool is a temporary file without a name that holds the frames of a survey. It is for one
// goroutine at a time.
type spool struct {
	file  *os.File
	bytes int64
	// err is the first failed read.
	err error
}

// newSpool makes an empty spool. Its file is gone when it is closed or the process ends.
func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "vqa-survey-")
	if err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("survey: %w", err), file.Close())
	}
	return &spool{file: file}, nil
}

// Write appends to the spool.
func (s *spool) Write(p []byte) (int, error) {
	if s.bytes+int64(len(p)) > maxSpool {
		return 0, fmt.Errorf("survey: the detections of the video have more than %d bytes", int64(maxSpool))
	}
	n, err := s.file.WriteAt(p, s.bytes)
	s.bytes += int64(n)
	if err != nil {
		return n, fmt.Errorf("survey: %w", err)
	}
	return n, nil
}

// spooledFrame is one frame in a spool.
type spooledFrame struct {
	spool *spool
	from  int64
	extent
}

// extent is the size of one frame in a spool. The names of its fields are stored (gob).
type extent struct {
	// At is the time of the frame, in seconds.
	At float64
	// Boxes is the size of the part with the boxes, Closer the size of the part with the
	// details, which follows.
	Boxes, Closer int
}

func (e extent) bytes() int64 { return int64(e.Boxes) + int64(e.Closer) }

// add appends a frame to the spool, unless it is there.
func (s *spool) add(f evidence.Frame) (evidence.Frame, error) {
	if held, ok := f.Source.(*spooledFrame); ok && held.spool == s {
		return f, nil
	}
	f = f.Load(true)
	held := &spooledFrame{spool: s, from: s.bytes, extent: extent{At: f.At}}
	packed := appendBoxes(nil, f.Detections)
	held.Boxes = len(packed)
	packed = appendDetails(packed, f)
	held.Closer = len(packed) - held.Boxes
	_, err := s.Write(packed)
	return evidence.Frame{At: f.At, Source: held}, err
}

// Load implements evidence.Source. When the spool cannot be read, it returns nothing and
// Survey.Err returns the error.
func (f *spooledFrame) Load(details bool) ([]evidence.Detection, []byte) {
	size := int64(f.Boxes)
	if details {
		size = f.bytes()
	}
	packed := make([]byte, size)
	if _, err := f.spool.file.ReadAt(packed, f.from); err != nil {
		f.spool.fail(err)
		return nil, nil
	}
	in := unpacker{rest: packed[:f.Boxes]}
	all, has := in.boxes()
	var shades []byte
	if details {
		in.rest = packed[f.Boxes:]
		shades = in.details(all, has)
	}
	if in.err != nil {
		f.spool.fail(in.err)
		return nil, nil
	}
	return all, shades
}

func (s *spool) fail(err error) {
	if s.err == nil {
		s.err = fmt.Errorf("survey: reading detections: %w", err)
	}
}

// selection is a frame with the detections of some terms only.
type selection struct {
	evidence.Source
	// places are the new indexes of the survey's terms, -1 for a term that is left out.
	places []int
}

// Load implements evidence.Source.
func (s *selection) Load(details bool) ([]evidence.Detection, []byte) {
	all, shades := s.Source.Load(details)
	var kept []evidence.Detection
	for _, d := range all {
		if d.Term >= 0 && d.Term < len(s.places) && s.places[d.Term] >= 0 {
			d.Term = s.places[d.Term]
			kept = append(kept, d)
		}
	}
	return kept, shades
}
