package survey

import (
	"errors"
	"fmt"
	"os"

	"vqa/domain/evidence"
)

// maxReel bounds a reel, in bytes: four hours of 250 things in every frame, each with its
// joints and colours.
const maxReel = 4 << 30

// reel is a file without a name in which frames are kept while a survey is worked on: those
// of a crowd are more than belongs in memory. It is for one goroutine at a time.
type reel struct {
	file  *os.File
	bytes int64
	// err is the first failure to read.
	err error
}

// newReel makes an empty one. Nothing stays of it once it is closed, or the process ends.
func newReel() (*reel, error) {
	file, err := os.CreateTemp("", "vqa-survey-")
	if err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("survey: %w", err), file.Close())
	}
	return &reel{file: file}, nil
}

// Write appends to the reel.
func (r *reel) Write(p []byte) (int, error) {
	if r.bytes+int64(len(p)) > maxReel {
		return 0, fmt.Errorf("survey: more than %d bytes were seen", int64(maxReel))
	}
	n, err := r.file.WriteAt(p, r.bytes)
	r.bytes += int64(n)
	if err != nil {
		return n, fmt.Errorf("survey: %w", err)
	}
	return n, nil
}

// shot is one frame on a reel.
type shot struct {
	reel *reel
	from int64
	extent
}

// extent is how much of a reel a frame takes.
type extent struct {
	// At is that of the frame, in seconds.
	At float64
	// Boxes are the bytes of what Seen tells from afar, Closer those that follow.
	Boxes, Closer int
}

func (e extent) bytes() int64 { return int64(e.Boxes) + int64(e.Closer) }

// keep puts a frame on the reel, unless it is there.
func (r *reel) keep(f evidence.Frame) (evidence.Frame, error) {
	if s, ok := f.Source.(*shot); ok && s.reel == r {
		return f, nil
	}
	f = f.Load(true)
	s := &shot{reel: r, from: r.bytes, extent: extent{At: f.At}}
	packed := appendBoxes(nil, f.Detections)
	s.Boxes = len(packed)
	packed = appendCloser(packed, f)
	s.Closer = len(packed) - s.Boxes
	_, err := r.Write(packed)
	return evidence.Frame{At: f.At, Source: s}, err
}

// Load implements evidence.Source. When the reel cannot be read it is empty, and Survey.Err
// tells.
func (s *shot) Load(closely bool) ([]evidence.Detection, []byte) {
	size := int64(s.Boxes)
	if closely {
		size = s.bytes()
	}
	packed := make([]byte, size)
	if _, err := s.reel.file.ReadAt(packed, s.from); err != nil {
		s.reel.fail(err)
		return nil, nil
	}
	in := unpacker{rest: packed[:s.Boxes]}
	all, details := in.boxes()
	var shades []byte
	if closely {
		in.rest = packed[s.Boxes:]
		shades = in.closer(all, details)
	}
	if in.err != nil {
		s.reel.fail(in.err)
		return nil, nil
	}
	return all, shades
}

func (r *reel) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("survey: reading what was seen: %w", err)
	}
}

// glimpse is what a shot shows of some terms.
type glimpse struct {
	evidence.Source
	// places are the new places of the survey's terms, -1 of those that are left out.
	places []int
}

// Load implements evidence.Source.
func (g *glimpse) Load(closely bool) ([]evidence.Detection, []byte) {
	all, shades := g.Source.Load(closely)
	var kept []evidence.Detection
	for _, d := range all {
		if d.Term >= 0 && d.Term < len(g.places) && g.places[d.Term] >= 0 {
			d.Term = g.places[d.Term]
			kept = append(kept, d)
		}
	}
	return kept, shades
}
